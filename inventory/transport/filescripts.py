"""The scripts by which transports write and read files, and what their answers mean. Pure.

Files travel inside framed scripts and not by SFTP: an rc file that prints breaks SFTP, and a subsystem can be
switched off. `put` sends base64 in the arguments of a shell builtin, `get` receives the bytes as they are.
"""

from __future__ import annotations

import errno
import os
from base64 import b64encode
from typing import TYPE_CHECKING

from inventory.errors import ChangeFailed, CheckFailed
from inventory.quoting import quote

if TYPE_CHECKING:
    from collections.abc import Iterator

    from inventory.transport.base import Completed

CHUNK_BYTES = 2 << 20
CHUNK_DEADLINE_S = 120.0

_ERRNOS = (errno.ENOENT, errno.ENOTDIR)


_BEGIN = """[ ! -d {path} ] || {{ echo "a directory has this name" >&2; exit 1; }}
temporary=$(mktemp {pattern}) || exit 1
"""
_APPEND = """printf %s {text} | base64 -d >>"$temporary" || {{ rm -f "$temporary"; exit 1; }}
"""
_FINISH = """written=$(wc -c <"$temporary") && [ "$written" -eq {size} ] &&
chmod {mode:o} "$temporary" && mv -f "$temporary" {path} && exit 0
echo "$written of {size} bytes were written" >&2
rm -f "$temporary"
exit 1
"""


def put_scripts(data: bytes, path: str, *, mode: int) -> Iterator[str]:
    """Scripts to run one after another; each prints the value of `$temporary` that the next one needs.

    One script for files of up to `CHUNK_BYTES`. The file that is written to is private until it has its name.
    """
    last = max(0, len(data) - 1) // CHUNK_BYTES
    for number in range(last + 1):
        chunk = data[number * CHUNK_BYTES :][:CHUNK_BYTES]
        yield "".join(
            (
                "export LC_ALL=C\numask 077\n",
                _BEGIN.format(path=quote(path), pattern=quote(f"{path}.XXXXXX")) if number == 0 else "",
                _APPEND.format(text=quote(b64encode(chunk).decode("ascii"))),
                _FINISH.format(path=quote(path), size=len(data), mode=mode) if number == last else "",
                'echo "$temporary"\n',
            )
        )


def get_script(path: str) -> str:
    return f"LC_ALL=C exec cat {quote(path)}\n"


def put_failed(host: str, path: str, completed: Completed) -> ChangeFailed:
    return ChangeFailed(
        f"{path} cannot be written",
        id="put-failed",
        observed=_last_words(completed),
        required="a folder that exists, may be written and has space",
        next_command=f"df -h {quote(os.path.dirname(path))}; ls -ld {quote(os.path.dirname(path))}",  # noqa: PTH120
        host=host,
    )


def get_failed(host: str, path: str, completed: Completed) -> Exception:
    """`FileNotFoundError` when that is what the host says, else `CheckFailed`: the content is unknown."""
    words = _last_words(completed)
    for number in _ERRNOS:
        if words.endswith(os.strerror(number)):
            return FileNotFoundError(errno.ENOENT, words, path)
    return CheckFailed(
        f"{path} cannot be read",
        id="get-failed",
        observed=words,
        required="a file that this user may read",
        next_command=f"ls -l {quote(path)}",
        host=host,
    )


def _last_words(completed: Completed) -> str:
    said = completed.stderr.decode("utf-8", errors="replace").strip().rpartition("\n")[2][-200:]
    return said or f"exit status {completed.exit_status}"
