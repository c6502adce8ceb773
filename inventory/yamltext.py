"""The parts of reading YAML that need no YAML library: bytes to text, and what an unquoted scalar means."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from inventory.document import bad
from inventory.errors import BadInput
from inventory.quoting import quote

if TYPE_CHECKING:
    from pathlib import Path

MAX_BYTES: Final = 2 << 20

_BOOLEANS: Final = {"yes": True, "true": True, "on": True, "no": False, "false": False, "off": False}
_NULLS: Final = frozenset({"", "~", "null", "Null", "NULL"})
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,17})")
_HEXADECIMAL = re.compile(r"0x[0-9A-Fa-f]{1,15}")
_FLOAT = re.compile(r"[-+]?(?:[0-9]*\.[0-9]+|[0-9]+\.|[0-9]+(?=[eE]))(?:[eE][-+]?[0-9]+)?")
_SPECIAL_FLOAT = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")


def read_bytes(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:  # ValueError: a NUL byte in the name
        raise BadInput(
            f"{path} cannot be read",
            id="yaml-file",
            observed=getattr(error, "strerror", None) or str(error),
            required="a file that this user can read",
            next_command=f"ls -ld -- {quote(str(path).replace(chr(0), '?'))}",
        ) from None
    if len(data) > MAX_BYTES:
        raise bad(path, None, "the file is too large", f"over {MAX_BYTES} bytes", f"at most {MAX_BYTES} bytes")
    return data


def decode(data: bytes, name: str) -> str:
    """UTF-8, with or without a byte order mark."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        at = (data.count(b"\n", 0, error.start), error.start - (data.rfind(b"\n", 0, error.start) + 1))
        utf16 = data[:2] in {b"\xff\xfe", b"\xfe\xff"}
        observed = "UTF-16" if utf16 else f"the byte 0x{data[error.start]:02x}"
        raise bad(name, at, "the file is not UTF-8 text", observed, "UTF-8") from None


def plain_value(text: str) -> str | int | float | bool | None:
    """What an unquoted scalar means: YAML 1.1 for booleans and null, YAML 1.2 for numbers, else text."""
    if text in _NULLS:
        return None
    if text in {text.lower(), text.upper(), text.capitalize()} and text.lower() in _BOOLEANS:
        return _BOOLEANS[text.lower()]
    if _INTEGER.fullmatch(text):
        return int(text)
    if _HEXADECIMAL.fullmatch(text):
        return int(text, 16)
    if _FLOAT.fullmatch(text):
        return float(text)
    return float(text.replace(".", "", 1)) if _SPECIAL_FLOAT.fullmatch(text) else text
