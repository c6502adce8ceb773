"""Hosts on which nothing of the GPUs answers yet: what has to be installed before a model can be placed there."""
