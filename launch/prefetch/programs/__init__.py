"""What runs on the hosts, sent there as this package: standard library only, Python 3.9 and up.

`fetch.py` is read first. What it says on stdout: `WORD: THERE of TOTAL bytes, VERIFIED read` every few seconds, and as
the last line `outcome TAB ID WORDS` where it fails.
"""
