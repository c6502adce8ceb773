"""Commands that are printed for typing next have the inventory that was typed: told once, added in one place.

`$BRINGUP_INVENTORY` and the usual place need no flag: they hold for the next command, too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from inventory.quoting import quote

_COMMAND = re.compile(r"\binvoke ([a-z]+(?:[._-][a-z]+)*)(?=[ \n;`)\"\\]|$)(?![^\n;`]*--inventory)")
WITHOUT = ("recipes", "lab", "demo")
"""What the names of verbs begin with that ask no inventory."""


class _Typed:
    inventory = ""


def remember(options: Mapping[str, Any]) -> None:
    """Keep what was typed as `--inventory`, as a word for a shell."""
    _Typed.inventory = quote(str(options["inventory"])) if options.get("inventory") else ""


def with_inventory(text: str, *, in_json: bool = False) -> str:
    """The text with `--inventory FILE` behind each `invoke VERB` that takes it and has none."""
    if not _Typed.inventory or "invoke " not in text:
        return text
    from launch.verbs import MODULES

    verbs = {name for names in MODULES.values() for name in names}
    word = json.dumps(_Typed.inventory, ensure_ascii=False)[1:-1] if in_json else _Typed.inventory

    def added(found: re.Match[str]) -> str:
        known = re.sub(r"[.-]", "_", found[1]) in verbs and not found[1].startswith(WITHOUT)
        return f"{found[0]} --inventory {word}" if known else found[0]

    return _COMMAND.sub(added, text)
