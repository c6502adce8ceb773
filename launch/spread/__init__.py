"""A folder with a manifest from the hosts that have it to all that shall have it, in about the time of one copy.

`spread.py` is read first. What runs on the hosts is `host/`; it needs nothing but their Python.
"""
