"""The project's own cases: for most checks what it says of a few files of a host, in the forms that people save."""

from __future__ import annotations

from pathlib import Path

import pytest

from playbooks.checks import CHECKS
from tests.cases.__main__ import run
from tests.cases.case import read
from tests.cases.tried import TRIALS

FOLDER = Path(__file__).parents[1] / "fixtures" / "cases"
FOLDERS = sorted(path.parent for path in FOLDER.glob("*/case.yaml"))


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)
def test_case(folder: Path) -> None:
    case = read(folder)
    assert run(case) == ([], [])
    assert case.unread == ()


def test_most_checks_have_a_case() -> None:
    told = {str(one["check"]) for folder in FOLDERS for one in read(folder).expect if "check" in one}
    assert told <= {*CHECKS, *TRIALS}
    assert len(told) > 0.8 * len(CHECKS), sorted({*CHECKS} - told)
