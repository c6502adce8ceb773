"""Takes out of an answer what names a machine or opens a door: MACs, serials, GUIDs, UUIDs, tokens.

What stands in their place has the same form, so that facts read the same, and the same thing is replaced by the same
thing everywhere in one bundle. UUIDs are replaced by a hash, the same in every bundle, so that two can be compared
(a reboot, another GPU); the rest is numbered. Host names, user names and IP addresses stay: without them no route can
be read. Doing it twice changes nothing.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from inventory.facts.answers import Answers
from inventory.facts.raw import RawAnswer

Match = re.Match[bytes]
REDACTED_NODE = b"000000000000"
"""The end of a UUID that was replaced."""

HEX4 = rb"[0-9a-fA-F]{4}"
UUID = re.compile(rb"(?<![0-9A-Za-z])([0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3})-([0-9a-fA-F]{12})(?![0-9A-Za-z])")
MAC = re.compile(rb"(?<![0-9A-Za-z:])(?:[0-9a-fA-F]{2}:){5,}[0-9a-fA-F]{2}(?![0-9A-Za-z:])")
KEPT_MAC = re.compile(rb"(?:00:)+00|(?:ff:)+ff|(?:00:){5,}01|02:00:00:00:.*")
# The half of an IPv6 address that is made of a MAC.
EUI64 = re.compile(rb"(?<=:)(?:[0-9a-fA-F]{1,4}:)?[0-9a-fA-F]{0,2}ff:fe[0-9a-fA-F]{2}:[0-9a-fA-F]{1,4}(?![0-9A-Za-z:])")
KEPT_EUI64 = re.compile(rb"(?:0|0000):(?:00)?ff:fe00:.*")
GUID = re.compile(rb"(guid\W{0,3}\s*(?:0x)?)(" + HEX4 + rb"(?::" + HEX4 + rb"){3}|[0-9a-fA-F]{16})\b", re.IGNORECASE)
GID = re.compile(rb"(\bfe80(?::0000){3}:)(" + HEX4 + rb"(?::" + HEX4 + rb"){3})\b")
KEPT_GUID = re.compile(rb"(?:000000000000|000000fffe00)" + HEX4)
UNIQUE_ID = re.compile(rb"(\bunique_id (?:0x)?)([1-9][0-9]{6,19})\b")
SERIAL = re.compile(
    rb"(<[\w.-]*serial[\w.-]*>\s*|\"[\w /.-]*serial[\w /.-]*\"\s*:\s*\"?"
    rb"|^[\w \t/.-]*\bserial(?: number| no\.?)?\s*:[ \t]*)"
    rb"([^<\"\s,}]+)",
    re.IGNORECASE | re.MULTILINE,
)
NO_SERIAL = re.compile(rb"n/a|none|unknown|null|\[.*|0+|not|redacted-\d+", re.IGNORECASE)
SECRETS = (
    (re.compile(rb"(\"machine_id\":\s*\")[0-9a-f]{32}"), rb"\1***"),
    (re.compile(rb"(://)[^/\s@:]*:[^/\s@]+(?=@)"), rb"\1***"),
    (re.compile(rb"(--[a-z-]*(?:token|secret|passw(?:or)?d|api-?key)[ =])[^\s\"']+", re.IGNORECASE), rb"\1***"),
    (
        re.compile(
            rb"(\b\w*(?:token|secret|passw(?:or)?d|api_?key|credentials?)\w{0,3}[\"']?\s*[=:]\s*[\"']?)[^\s\"',;&}<]+",
            re.IGNORECASE,
        ),
        rb"\1***",
    ),
    (re.compile(rb"\b(?:hf|gh[opsur]|glpat|nvapi|sk|xox[abp])[_-][A-Za-z0-9_-]{16,}"), rb"***"),
    (re.compile(rb"\bAKIA[0-9A-Z]{16}\b|\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*"), rb"***"),
)


@dataclass(slots=True)
class Redactor:
    """One for all hosts of a bundle: it remembers what it has numbered."""

    _numbers: dict[tuple[str, bytes], int] = field(default_factory=dict)

    def answer(self, raw: RawAnswer) -> RawAnswer:
        return replace(raw, answers=self._answers(raw.answers), noise=self.text(raw.noise))

    def _answers(self, answers: Answers) -> Answers:
        files = {name: self.text(data) for name, data in answers.files.items()}
        return replace(answers, files=files, fault=self.text(answers.fault.encode()).decode())

    def text(self, data: bytes) -> bytes:
        data = UUID.sub(self._uuid, data)
        data = MAC.sub(self._mac, data)
        data = EUI64.sub(self._eui64, data)
        for pattern in (GUID, GID):
            data = pattern.sub(self._guid, data)
        data = UNIQUE_ID.sub(self._behind("unique", re.compile(rb"1000\d{3}"), b"1000%03d"), data)
        data = SERIAL.sub(self._behind("serial", NO_SERIAL, b"redacted-%d"), data)
        for pattern, shown in SECRETS:
            data = pattern.sub(shown, data)
        return data

    def _uuid(self, match: Match) -> bytes:
        if match[2] == REDACTED_NODE:
            return match[0]
        digest = hashlib.sha256(match[0].lower()).hexdigest()
        # Version 1 and its like are made of a clock and a serial: a hash of them could be guessed.
        if match[1][14:15] == b"1":
            digest = f"{self._number('uuid', match[0].lower()):020x}"
        groups = (digest[:8], digest[8:12], digest[12:16], digest[16:20])
        return "-".join(groups).encode() + b"-" + REDACTED_NODE

    def _mac(self, match: Match) -> bytes:
        if KEPT_MAC.fullmatch(match[0].lower()):
            return match[0]
        number = self._number("mac", match[0].lower())
        return b"02:00:00:00:%02x:%02x" % (number >> 8 & 0xFF, number & 0xFF)

    def _eui64(self, match: Match) -> bytes:
        """As wide as it was: the kernel writes GIDs with all their zeros."""
        wide = all(len(part) == 4 for part in match[0].split(b":"))
        return self._numbered("eui", match[0], KEPT_EUI64, b"0000:00ff:fe00:%04x" if wide else b"0:ff:fe00:%x")

    def _guid(self, match: Match) -> bytes:
        digits = match[2].lower().replace(b":", b"")
        if KEPT_GUID.fullmatch(digits):
            return match[0]
        number = b"%04x" % (self._number("guid", digits) & 0xFFFF)
        separator = b":" if b":" in match[2] else b""
        return match[1] + separator.join((b"0000", b"0000", b"0000", number))

    def _behind(self, kind: str, kept: re.Pattern[bytes], form: bytes) -> Callable[[Match], bytes]:
        """Replace the second group, keep the first."""
        return lambda match: match[1] + self._numbered(kind, match[2], kept, form)

    def _numbered(self, kind: str, said: bytes, kept: re.Pattern[bytes], form: bytes) -> bytes:
        return said if kept.fullmatch(said) else form % self._number(kind, said)

    def _number(self, kind: str, said: bytes) -> int:
        return self._numbers.setdefault((kind, said), len(self._numbers) + 1)
