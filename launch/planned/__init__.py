"""Settings that are planned: typed choices with safe defaults over a recipe's command. Pure.

What wins, from the weakest: vLLM's and the family's defaults, the recipe, `--profile`, a flag of ours, `--set`. What a
recipe says for this very hardware, variant or strategy, and its constraints, are limits: a profile keeps to them.
"""
