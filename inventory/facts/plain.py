"""Text of a file that a person made: saved by an editor, cut from an issue, redirected by a shell of Windows."""

from __future__ import annotations

from codecs import BOM_UTF16_BE, BOM_UTF16_LE


def plain_text(data: bytes) -> str:
    """As UTF-8 (what is not becomes U+FFFD), or as UTF-16 where it is marked so; each line ends with LF alone."""
    utf16 = data.startswith((BOM_UTF16_LE, BOM_UTF16_BE))
    text = data.decode("utf-16" if utf16 else "utf-8-sig", errors="replace")
    return text.replace("\r\n", "\n")
