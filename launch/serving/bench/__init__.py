"""Benchmarks of a deployment, by the tools of the field, in its own environment; their results stay with its plan."""
