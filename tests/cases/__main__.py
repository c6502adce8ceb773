"""Puts cases of the field through the product.

    uv run python -m tests.cases --cases DIR

Every folder of DIR with a case.yaml is one case. Prints each expectation that is not met, every input that nobody
reads, and closes with `N of M cases right, S skipped`. A case is skipped when all that it expects is of a kind that the
product does not do yet; parts of that kind in other cases are left out. Exit status 0 when no case is wrong.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tests.cases.case import Case, read
from tests.cases.expect import Skipped, judge


def run(case: Case) -> tuple[list[str], list[str]]:
    """What is wrong with a case, and what of it was skipped."""
    wrong: list[str] = []
    skipped: list[str] = []
    for expected in case.expect:
        try:
            said = judge(case, expected)
        except Exception as error:  # noqa: BLE001  (the other cases must still be run)
            said = [f"the product broke: {type(error).__name__}: {error}"]
        if isinstance(said, Skipped):
            skipped.append(said.why)
        else:
            wrong += said
    return wrong, skipped


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=Path, required=True)
    parser.add_argument("--only", default="", help="folders whose name begins so")
    asked = parser.parse_args(words)
    right = left_out = 0
    folders = sorted(path.parent for path in asked.cases.glob(f"{asked.only}*/case.yaml"))
    for folder in folders:
        case = read(folder)
        wrong, skipped = run(case)
        for line in (*wrong, *(f"nobody reads {name}" for name in case.unread)):
            sys.stdout.write(f"{folder.name}: {line}\n")
        if not wrong and len(skipped) == len(case.expect):
            left_out += 1
        else:
            right += not wrong
    sys.stdout.write(f"{right} of {len(folders)} cases right, {left_out} skipped\n")
    return 0 if right + left_out == len(folders) and folders else 1


if __name__ == "__main__":
    sys.exit(main())
