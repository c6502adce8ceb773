"""What runs on the hosts, sent there as this package: standard library only, Python 3.9 and up.

`fetch.py` is read first. What it says on stdout: `progress THERE TOTAL VERIFIED WORD` every few seconds (bytes), and as
the last line `outcome TAB ID WORDS` where it fails.
"""
