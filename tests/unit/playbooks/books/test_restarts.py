"""Modules that change at the next start, and what an entry `reboot` takes for a reason. Looked at on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from tests.unit.playbooks.books.entries import planned, states, step

LOADED = next((path.name for path in sorted(Path("/sys/module").glob("*")) if not (path / "version").exists()), "")


def reboot(**fields: Any) -> str:  # noqa: ANN401
    one = step("reboot", **fields)
    return states(one)[one.id]


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"not_loaded": ["no_such_module"]}, ""),
        ({"loaded_as": {"no_such_module": "1"}}, ""),
        ({"modules": {"no_such_module": "1"}}, "no_such_module is loaded in version none"),
    ],
)
def test_a_module_that_is_not_there(fields: dict[str, Any], why: str) -> None:
    state = reboot(**fields)
    assert why in state if why else state == "not needed"


@pytest.mark.skipif(not LOADED, reason="this kernel tells of no module without a version")
def test_a_module_that_is_loaded() -> None:
    assert f"module {LOADED} is loaded" in reboot(not_loaded=[LOADED])
    assert f"{LOADED} is loaded in version none, not 1" in reboot(loaded_as={LOADED: "1"})


def test_a_reason_is_asked_for() -> None:
    with pytest.raises(ValidationError, match="loaded_as, not_loaded"):
        step("reboot")


@pytest.mark.skipif(not LOADED, reason="this kernel tells of no module without a version")
def test_a_module_that_goes_later_wants_its_files_alone() -> None:
    later = step("kernel_module", module=LOADED, loaded=False, later=True)
    assert states(later)[later.id] == "later, files not as wanted"
    assert planned(later)[0].after == "later, files as wanted"
    assert "from the next start on" in later.summary
    now = step("kernel_module", module=LOADED, loaded=False)
    assert states(now)[now.id].startswith("loaded")
