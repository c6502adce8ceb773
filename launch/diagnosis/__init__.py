"""Why a deployment does not serve: the first cause, on which host, by which lines, and what to type.

`table.py` holds the known failures (`failures/*.yaml`), `lines.py` reads logs of all forms, `match.py` finds failures
in them, `judge.py` decides which came first and which are consequences. All of that is pure and works on a `Capture`:
`replay.py` reads one from a folder, `collect.py` makes such a folder from hosts. Read `judge.py` first.
"""
