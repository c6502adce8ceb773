"""The page on checks names every one of them, as the code has them.

uv run python -m tests.contract.test_checks_reference   # writes it anew
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from launch.hosts.day_one import LAYERS, layer_of
from playbooks.checks import CHECKS
from playbooks.checks.active import ACTIVE
from playbooks.checks.base import Check

PAGE = Path(__file__).resolve().parents[2] / "docs/reference/checks.md"
BEGINS = "<!-- generated -->\n"


def row(check: Check, *, active: bool) -> str:
    layer = layer_of(check.ID)
    where = "active" if active else LAYERS[layer].title if layer is not None else "plan"
    return f"| [{check.ID}](../runbooks/{check.ID}.md) | {check.PRIORITY} | {where} | {check.WHY} |"


def generated() -> str:
    def lines() -> Iterator[str]:
        yield "| check | priority | layer | what goes wrong otherwise |"
        yield "|---|---|---|---|"
        for name in sorted({*CHECKS, *ACTIVE}):
            yield row(CHECKS.get(name) or ACTIVE[name], active=name not in CHECKS)

    return "\n".join(lines()) + "\n"


def test_the_page_is_true() -> None:
    _, mark, table = PAGE.read_text(encoding="utf-8").partition(BEGINS)
    assert mark
    assert table == generated()


if __name__ == "__main__":
    before = PAGE.read_text(encoding="utf-8").partition(BEGINS)[0]
    PAGE.write_text(before + BEGINS + generated(), encoding="utf-8")
