"""Recipes: where they are found, what they say, and whether a vLLM takes what they become."""
