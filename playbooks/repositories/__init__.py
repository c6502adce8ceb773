"""Repositories of the operating system's packages: their addresses and the one key that may sign each of them."""
