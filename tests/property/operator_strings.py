"""Texts that an operator, a file or a host may hand over: half of them plain, half of them made to break out."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import strategies as st

from inventory.errors import BadInput

PWNED = "/tmp/bringup-was-broken-out-of"
BREAKS = (
    *("'", '"', "`", "\\", "\n", "\r", "\t", " ", ";", "&", "|", ">", "*", "?", "~", "!", "#", "%", "$", "{", "}", ":"),
    *(f"$(touch {PWNED})", f"`touch {PWNED}`", f"; touch {PWNED} #", f"'; touch {PWNED}; '", f"\ntouch {PWNED}\n"),
    *(f"\nExecStartPre=/bin/touch {PWNED}\n", "%h", "%%", "$HOME", "${HOME}", "{{ 1 }}", "${datasource}", "$HEAD_IP"),
    *("EOF", "END_OF_PROGRAM", "END_OF_RECORD", "--", "-", "-oProxyCommand=x", "../", "..", "/", "=", ",", "@"),
    *("- x: y\n", "key: value", "!!python/object:x", "&a *a", "yes", "null", "\u2028", "\x1b[31m", "\x85", "é", "🙂"),
)
WORDS = ("a", "b1", "gpt-oss", "10.0.0.1", "tray1", "/data/x", "model", "0")
HOSTILE = st.lists(st.sampled_from(BREAKS + WORDS), min_size=1, max_size=6).map("".join)
ANY = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30)
TEXT = HOSTILE | ANY
PRINTABLE = TEXT.filter(str.isprintable)


def let_in(check: Callable[[str], object], text: str, otherwise: str) -> str:
    """`text` where the frontier lets it in; what it refuses reaches nobody, and `otherwise` stands for it."""
    try:
        check(text)
    except (BadInput, ValueError):
        return otherwise
    return text
