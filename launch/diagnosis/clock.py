"""When a line was written: seconds since 1970 by the clock of its host, from all the forms that logs have. Pure.

Most lines tell no year and no zone: `Clock` says which moment is near, and how far the host is from UTC.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

MONTHS = {
    name: at
    for at, name in enumerate(["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"], 1)
}
TIME = r"(?P<h>\d\d):(?P<m>\d\d):(?P<s>\d\d)(?:[.,](?P<f>\d{1,9}))?"
ZONE = r"(?P<zone>Z|[+-]\d\d:?\d\d)?"
ISO = re.compile(rf"(?P<y>\d{{4}})[-/](?P<mo>\d\d)[-/](?P<d>\d\d)[T ]{TIME} ?{ZONE}(?!\d)")
SYSLOG = re.compile(
    rf"(?:[A-Z][a-z]{{2}},? )?(?P<mon>[A-Z][a-z]{{2}}) +(?P<d>\d{{1,2}}) {TIME}(?: (?P<y>\d{{4}}))?(?!\d)"
)
SHORT = re.compile(rf"(?P<mo>\d\d)-(?P<d>\d\d) {TIME}(?!\d)")
GLOG = re.compile(rf"[IWEFV](?P<mo>\d\d)(?P<d>\d\d) {TIME}")
UNIX = re.compile(r"(?P<unix>\d{10}\.\d{3,9})(?!\d)")
BOOT = re.compile(r"\[ *(?P<boot>\d{1,10}\.\d{6})\]")
RELATIVE = re.compile(r"t=(?P<t>\d+(?:\.\d+)?)\b")
LEAP = 2000  # a year that has every day, where nothing tells which it was


@dataclass(frozen=True, slots=True)
class Clock:
    """Of one host. `near`: a moment close to all lines; `ahead_s`: of the control machine; `booted_at`: since 1970.

    None: not known. Lines without a zone are of the host's own, `utc_offset_s`.
    """

    near: float | None = None
    ahead_s: float | None = None
    utc_offset_s: float = 0.0
    booted_at: float | None = None

    def moment(self, match: re.Match[str]) -> float | None:
        """Corrected seconds since 1970; None for a time that no calendar has, or since a boot of unknown time."""
        told = match.groupdict()
        at = self._told(told)
        return None if at is None else at - (self.ahead_s or 0.0)

    def _told(self, told: dict[str, str | None]) -> float | None:
        if told.get("unix"):
            return float(told["unix"] or 0)
        if told.get("t"):
            return float(told["t"] or 0)
        if told.get("boot"):
            return None if self.booted_at is None else self.booted_at + float(told["boot"] or 0)
        return self._calendar(told)

    def _calendar(self, told: dict[str, str | None]) -> float | None:
        month = MONTHS.get(told["mon"] or "") if told.get("mon") else int(told["mo"] or 0)
        zone = told.get("zone")
        offset = self.utc_offset_s if not zone else seconds_of(zone)
        parts = (month or 0, int(told["d"] or 0), int(told["h"] or 0), int(told["m"] or 0), int(told["s"] or 0))
        fraction = float(f"0.{told.get('f') or 0}")
        if told.get("y"):
            at = _seconds(int(told["y"] or 0), parts)
            return None if at is None else at + fraction - offset
        here = datetime.fromtimestamp(self.near, UTC).year if self.near is not None else LEAP
        years = (here,) if self.near is None else (here - 1, here, here + 1)
        found = [at + fraction - offset for year in years if (at := _seconds(year, parts)) is not None]
        return min(found, key=lambda at: abs(at - (self.near or at)), default=None)


def find(text: str) -> tuple[re.Match[str], int] | None:
    """The time that `text` begins with, in whichever form, and where the rest begins."""
    bracket = 1 if text[:1] == "[" else 0
    for form in (ISO, SYSLOG, SHORT, UNIX, GLOG, RELATIVE) if not bracket else (BOOT, ISO, SYSLOG, GLOG):
        match = form.match(text, 0 if form is BOOT else bracket)
        if match:
            end = match.end()
            return match, end + (1 if bracket and form is not BOOT and text[end : end + 1] == "]" else 0)
    return None


def search(text: str) -> re.Match[str] | None:
    """A time of the calendar anywhere in `text`."""
    return ISO.search(text) or SYSLOG.search(text) or SHORT.search(text)


def _seconds(year: int, parts: tuple[int, int, int, int, int]) -> float | None:
    month, day, hour, minute, second = parts
    try:
        return (datetime(year, month, day, hour, minute, tzinfo=UTC) + timedelta(seconds=second)).timestamp()
    except (ValueError, OverflowError):
        return None


def seconds_of(text: str) -> float:
    """East of UTC, of `Z`, `+0200` or `+02:00`."""
    if text == "Z":
        return 0.0
    digits = text[1:].replace(":", "")
    return (-1 if text[0] == "-" else 1) * (int(digits[:2]) * 3600 + int(digits[2:]) * 60)
