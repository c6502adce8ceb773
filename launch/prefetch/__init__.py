"""Weights on every host before a launch: pinned, fetched once, spread, verified. `prefetch.py` is read first."""
