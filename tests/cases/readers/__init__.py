"""Readers of a case's files by subject: of the host itself, of GPUs and fabric, of network, storage and runtime."""
