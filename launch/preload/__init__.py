"""Faster restarts: the weight cache daemon of vLLM as a deployment of its own, and why there is no snapshot."""
