"""The page on failures and the runbook of each are what the table says.

uv run python -m tests.contract.test_failures_reference   # writes them anew
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from launch.diagnosis.table import Failure, Role, failures
from playbooks.check import KNOWN
from tests.unit.launch.diagnosis import said

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = DOCS / "reference/failures.md"
BEGINS = "<!-- generated -->\n"
ROLES = {
    Role.CAUSE: "",
    Role.SYMPTOM: "It tells that something is stuck or ended, not why: a cause on any host goes first.",
    Role.CONSEQUENCE: "It follows from the end of another rank, and is the answer only where nothing else is known.",
    Role.WRAPPER: "It only repeats that another process ended, and is the answer only where nothing else is known.",
    Role.WAITING: "Before the engine was ready it is no failure; afterwards it is a sign of a hang.",
    Role.NOTICE: "It stops nothing: the start or the traffic is slower.",
}
AGAIN = "`invoke rollback --hosts HOSTS --name NAME` returns to the generation that served before."
REPAIRED = "`invoke check --model MODEL --hosts HOST` proves a repaired host."
UNDO = {
    **dict.fromkeys(("hw", "cuda-init", "device"), REPAIRED),
    **dict.fromkeys(("control", "install", "download"), "None: nothing of the deployment was changed."),
}


def sentence(one: Failure) -> str:
    names = {name for _, pattern in one.searches for name in pattern.groupindex}
    return one.sentence("HOST", {name: name.upper() for name in names})


def example(one: Failure) -> str:
    known = said.FIELD.get(one.id) or said.KERNEL.get(one.id) or [said.ENGINE[name][0] for name in one.engine]
    fitting = (text for text in known if any(pattern.search(text) for _, pattern in one.searches))
    return next(fitting)


def is_command(text: str) -> bool:
    return text.startswith(("ssh ", "invoke ", "ssh-", "tar ", "docker "))


def runbook(one: Failure) -> str:
    def lines() -> Iterator[str]:
        yield f"# {one.id}\n\n## Symptom"
        yield f"`diagnose` says: {sentence(one)}. A log says:"
        yield f"```text\n{example(one)}\n```\n"
        yield f"## Meaning\n{one.cause} {ROLES[one.role]}".rstrip()
        if one.checks:
            yield "Checks that see it beforehand: " + ", ".join(f"[{name}]({name}.md)" for name in one.checks) + "."
        yield "\n## Look (changes nothing)\n```sh\n" + "\n".join(one.look) + "\n```\n"
        yield "## Fix"
        yield from (f"```sh\n{text}\n```" if is_command(text) else text for text in one.fix)
        if one.retry:
            yield "The same start once more may be enough; a second time it is not."
        yield f"\n## Undo\n{UNDO.get(one.phase, AGAIN)}"

    return "\n".join(lines()) + "\n"


def row(one: Failure) -> str:
    messages = ", ".join(f"`{name}`" for name in one.engine)
    return f"| [{one.id}](../runbooks/{one.id}.md) | {one.title} | {one.phase} | {one.role} | {messages} |"


def generated() -> str:
    head = "| failure | what it is | phase | role | vLLM's message |\n|---|---|---|---|---|\n"
    return head + "".join(f"{row(one)}\n" for one in sorted(failures(), key=lambda one: one.id))


def test_the_page_is_true() -> None:
    _, mark, table = PAGE.read_text(encoding="utf-8").partition(BEGINS)
    assert mark
    assert table == generated()


@pytest.mark.parametrize("one", failures(), ids=lambda one: one.id)
def test_the_runbook_is_true(one: Failure) -> None:
    assert (DOCS / f"runbooks/{one.id}.md").read_text(encoding="utf-8") == runbook(one)


def test_every_runbook_of_a_failure_has_one() -> None:
    pages = {path.stem for path in (DOCS / "runbooks").glob("[FE]-*.md")}
    assert pages == {one.id for one in failures()}


@pytest.mark.parametrize("one", failures(), ids=lambda one: one.id)
def test_the_checks_of_a_failure_exist(one: Failure) -> None:
    assert [name for name in one.checks if name not in KNOWN] == []


if __name__ == "__main__":
    before = PAGE.read_text(encoding="utf-8").partition(BEGINS)[0]
    PAGE.write_text(before + BEGINS + generated(), encoding="utf-8")
    for each in failures():
        (DOCS / f"runbooks/{each.id}.md").write_text(runbook(each), encoding="utf-8")
