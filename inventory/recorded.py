"""Processes on record: pid, start time and boot id name one for ever; a pid alone is given again. Text for a shell."""

from __future__ import annotations

from pathlib import Path

PROCESS_FUNCTIONS = (Path(__file__).parent / "facts" / "sh" / "process.sh").read_text(encoding="utf-8")
"""`recorded_alive FILE`, `identity PID` and what they are made of."""

# For scripts that stand alone, without the functions.
_RECORD = r"""printf '%s %s %s\n' "$$" "$(sed 's/.*) //' "/proc/$$/stat" | cut -d ' ' -f 20)" \
  "$(cat /proc/sys/kernel/random/boot_id)" >"PATH.new" && mv "PATH.new" "PATH"
"""


def on_record(path: str) -> str:
    """The lines of a shell script that write who it is to `path`, text between double quotes: all of it or nothing."""
    return _RECORD.replace("PATH", path)
