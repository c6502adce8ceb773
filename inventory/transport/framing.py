"""The text that a transport sends to `/bin/sh -s`, and the reading of what comes back. Pure: no I/O.

The answer lies between two lines that hold a random marker, on stdout and on stderr alike; whatever else the
host says (motd, rc files, locale warnings) is noise and kept apart. The exit status travels in the last line.
"""

from __future__ import annotations

import math
import re
import secrets
from typing import TYPE_CHECKING

from inventory.quoting import quote, quote_all

if TYPE_CHECKING:
    from collections.abc import Callable

    from inventory.transport.base import Completed

KILL_AFTER = 5
"""Seconds between TERM and KILL on the host."""

NOISE_LIMIT = 65536
"""Bytes of noise that are kept: an rc file that never stops must not fill our memory."""

# Runs the script on its stdin; nothing of it runs before all of it has come, and it sees a closed stdin.
_BOOT = """eval "exec </dev/null 3>&- 4>&-
$(cat)\""""

# $1 is the keeper of the deadline, $2 the seconds, $3 _BOOT. timeout(1) makes a process group and sends TERM
# to all of it, but KILL only when the shell itself has not ended, so the rest of the group is killed here.
# BusyBox's timeout ends one process, not the group: there, and where none is, this shell keeps watch. Without
# setsid it reaches only the children that /proc lists at that moment, and them before their parent: when that has
# gone, so does the watch.
_GUARD = f"""exec 3>&1
if [ "$1" = timeout ]; then
  group=$(timeout -k {KILL_AFTER} "$2" /bin/sh -c 'echo $PPID >&4; '"$3" 4>&1 1>&3 3>&-)
  status=$?
  case $status in 124|137) kill -KILL -"$group" 2>/dev/null ;; esac
  exit $status
fi
exec 4<&0
leader=''
command -v setsid >/dev/null 2>&1 && leader=setsid
reach() {{
  if [ "$leader" ]; then echo "-$1"; return; fi
  for child in $(cat "/proc/$1/task/$1/children" 2>/dev/null); do reach "$child"; done
  echo "$1"
}}
$leader /bin/sh -c "$3" <&4 &
script=$!
(
  exec </dev/null >/dev/null 2>&1 3>&- 4>&-
  left=$2
  while [ "$left" -gt 0 ]; do
    kill -0 "$script" || exit 0
    sleep 1
    left=$((left - 1))
  done
  kill -TERM $(reach "$script")
  sleep {KILL_AFTER}
  kill -KILL $(reach "$script")
) &
wait "$script"
status=$?
kill "$!" 2>/dev/null
case $status in
143) status=124 ;;
137) ;;
*) exit $status ;;
esac
kill -KILL $(reach "$script") 2>/dev/null
exit $status
"""

# One group, so that a text which was cut off on its way is a syntax error and nothing of it runs. The script
# is the arguments of a builtin: no limit on their length, and no here-document, which would need a free /tmp.
# One argument a line, because bash is quadratic in the number of quotes in one word.
_FRAME = r"""{{
case $(timeout --version 2>/dev/null) in *coreutils*) set -- timeout ;; *) set -- watchdog ;; esac
printf '\n%s begin %s\n' {marker} "$1"
printf '\n%s begin\n' {marker} >&2
{gate}printf '%s\n' {lines} | {command} "$1" {seconds} {boot}
set -- "$?"
printf '\n%s end\n' {marker} >&2
printf '\n%s end %s\n' {marker} "$1"
}}
"""


_REFUSED = "bringup: sudo -n was refused"
_GATE = f"{{ sudo -n /bin/sh -c : </dev/null || {{ echo '{_REFUSED}' >&2; false; }}; }} &&\n"


def new_marker() -> str:
    """A word that no script and no host can guess."""
    return f"bringup-{secrets.token_hex(16)}"


def frame(script: str, *, marker: str, timeout: float, sudo: bool = False) -> bytes:
    """The text that runs `script` for at most `timeout` seconds when /bin/sh reads it from stdin.

    `script` may hold any bytes (as surrogate escapes where they are not UTF-8) except NUL: `ValueError`.
    """
    sh = ["/bin/sh", "-c", _GUARD, "bringup"]
    text = _FRAME.format(
        marker=quote(marker),
        lines=quote_all(script.split("\n")),
        gate=_GATE if sudo else "",
        command=quote_all(["sudo", "-n", *sh] if sudo else sh),
        seconds=max(1, math.ceil(timeout)),
        boot=quote(_BOOT),
    )
    return text.encode("utf-8", errors="surrogateescape")


def sudo_refused(completed: Completed) -> bool:
    """Whether `sudo -n` refused or is missing: nothing of the script ran, and stderr has sudo's reason."""
    return completed.exit_status == 1 and completed.stderr.rstrip().endswith(_REFUSED.encode())


class _LineFinder:
    """Looks for one line in a stream and holds back only bytes that may be its beginning."""

    def __init__(self, token: bytes, tail: bytes) -> None:
        self._token = token
        self._line = re.compile(re.escape(token) + tail + b"\n")
        self._tail = re.compile(tail)
        self._held = b""

    def feed(self, chunk: bytes) -> tuple[bytes, re.Match[bytes] | None]:
        """Bytes that surely come before the line, and the line's match once it is complete."""
        data = self._held + chunk
        if found := self._line.search(data):
            return data[: found.start()], found
        newline = data.rfind(b"\n")
        keep = newline if newline >= 0 and self._may_begin(data[newline:]) else len(data)
        self._held = data[keep:]
        return data[:keep], None

    def _may_begin(self, data: bytes) -> bool:
        rest = data[len(self._token) :]
        return self._token.startswith(data) or (
            data.startswith(self._token) and len(rest) < 16 and bool(self._tail.fullmatch(rest) or not rest)
        )


class Unframer:
    """Splits one stream of the host into noise, body and exit status, in chunks of any size.

    `on_body` is called with pieces of the body as they arrive; they never hold a part of a marker. `keeper`
    is what ends the script on the host (`timeout` or `watchdog`). `status` is None while the end marker has
    not been seen: at the end of the stream this means that the answer was cut off. On stderr it is always 0.
    """

    def __init__(self, marker: str, on_body: Callable[[bytes], None] | None = None) -> None:
        self._begin = _LineFinder(f"\n{marker} begin".encode(), rb"(?: ([a-z]*))?")
        self._end = _LineFinder(f"\n{marker} end".encode(), rb"(?: ([0-9]{0,3}))?")
        self._on_body = on_body
        self._body: list[bytes] = []
        self._noise = bytearray()
        self.begun = False
        self.keeper = ""
        self.status: int | None = None

    @property
    def body(self) -> bytes:
        return b"".join(self._body)

    @property
    def noise(self) -> bytes:
        return bytes(self._noise)

    def feed(self, chunk: bytes) -> None:
        if not self.begun:
            chunk = self._before(chunk)
        if self.begun and self.status is None:
            chunk = self._within(chunk)
        if self.status is not None:
            self._add_noise(chunk)

    def _before(self, chunk: bytes) -> bytes:
        noise, line = self._begin.feed(chunk)
        self._add_noise(noise)
        if not line:
            return b""
        self.begun = True
        self.keeper = (line[1] or b"").decode()
        return line.string[line.end() :]

    def _within(self, chunk: bytes) -> bytes:
        body, line = self._end.feed(chunk)
        if body:
            self._body.append(body)
            if self._on_body:
                self._on_body(body)
        if not line:
            return b""
        self.status = int(line[1] or 0)
        return line.string[line.end() :]

    def _add_noise(self, chunk: bytes) -> None:
        self._noise += chunk[: NOISE_LIMIT - len(self._noise)]
