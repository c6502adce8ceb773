"""What changes inside files, for people to read before it is done: the content there now against the planned one."""

from __future__ import annotations

import base64
import binascii
import difflib
import hashlib
from collections.abc import Sequence

from inventory.quoting import quote
from playbooks.plan import Change, FileContent
from playbooks.probes import AS_ROOT

LARGEST = 256 * 1024


def contents_script(changes: Sequence[Change]) -> str:
    """Print a line for each change of a file that is there now: its place, a tab, the content as base64."""
    asked = "\n".join(
        f"show {index} {quote(change.content.path)}"
        for index, change in enumerate(changes)
        if change.content and not change.content.secret
    )
    body = f"""show() {{
[ -f "$2" ] || return 0
printf '%s\\t' "$1"; head -c {LARGEST + 1} -- "$2" | base64 | tr -d '\\n'; echo
}}
{asked}"""
    tag = "END_" + hashlib.sha256(body.encode()).hexdigest()[:16]
    return f"{AS_ROOT}\nas_root <<'{tag}'\n{body}\n{tag}\n"


def read_contents(answer: str) -> dict[int, bytes]:
    """Read the answer of `contents_script`: content by place of the change."""
    found: dict[int, bytes] = {}
    for line in answer.splitlines():
        index, tab, data = line.partition("\t")
        try:
            found |= {int(index): base64.b64decode(data, validate=True)} if tab else {}
        except (ValueError, binascii.Error):
            continue
    return found


def diff(wanted: FileContent, there: bytes | None) -> list[str]:
    """Unified, without its line ends; one line that says why where there is nothing to show."""
    if wanted.secret:
        return [f"{wanted.path}: its content is not shown"]
    if there is not None and (len(there) > LARGEST or b"\0" in there):
        return [f"{wanted.path}: what is there now is no text of at most {LARGEST >> 10} KiB"]
    before = (there or b"").decode(errors="replace")
    after = wanted.text or ""
    names = ("/dev/null" if there is None else wanted.path, "/dev/null" if wanted.text is None else wanted.path)
    lines = list(difflib.unified_diff(before.splitlines(), after.splitlines(), names[0], names[1], lineterm=""))
    ends_differ = before and after and before.endswith("\n") != after.endswith("\n")
    return [*lines, "\\ the line end at the end of the file differs"] if ends_differ else lines
