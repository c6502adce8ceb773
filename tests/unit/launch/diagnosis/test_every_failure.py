"""Every known failure is recognised in what logs say of it, in every form of log; what only looks alike is not."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from launch.diagnosis.judge import Judgement, judge
from launch.diagnosis.replay import File, capture_of
from launch.diagnosis.table import Role, by_id, by_message, failures
from tests.unit.launch.diagnosis import said

Form = Callable[[str], str]


def engine(text: str) -> str:
    head = "(EngineCore_DP1 pid=4411) ERROR 11-29 12:34:56 [core.py:1510] "
    return "".join(f"{head}{line}\n" for line in text.split("\n"))


FORMS: dict[str, Form] = {
    "bare": lambda text: text + "\n",
    "engine": engine,
    "journal": lambda text: "".join(f"Nov 29 12:00:00 tray1 vllm[123]: {line}\n" for line in engine(text).splitlines()),
    "iso journal": lambda text: "".join(f"2026-11-29T12:00:00+0000 t vllm[1]: {one}\n" for one in text.split("\n")),
    "docker": lambda text: "".join(
        json.dumps({"log": f"{line}\n", "stream": "stderr", "time": "2026-11-29T12:34:56.123456789Z"}) + "\n"
        for line in engine(text).splitlines()
    ),
    "ray": lambda text: "".join(
        f"\x1b[36m(EngineCore_DP0 pid=9)\x1b[0m \x1b[36m(RayWorkerWrapper pid=77, ip=10.0.0.2)\x1b[0m {line}\n"
        for line in text.split("\n")
    ),
    "coloured": lambda text: "".join(f"\x1b[31m{line}\x1b[0m\r\n" for line in engine(text).splitlines()),
    "compose": lambda text: "".join(f"vllm-1  | {line}\n" for line in engine(text).splitlines()),
}


def judged(text: str, name: str = "tray1.log") -> Judgement:
    return judge(capture_of([File(name, "tray1", text, cut=False)]))


def ids(one: Judgement) -> set[str]:
    return {one.first.id, one.first.message} if one.first else {one.id}


@pytest.mark.parametrize(("name", "text"), said.ALL)
def test_what_a_log_says_is_recognised_in_every_form(name: str, text: str) -> None:
    for form in FORMS.values():
        found = judged(form(text))
        assert name in ids(found), (form(text), found.first)
        assert found.first is not None
        assert found.first.host == "tray1"
        assert found.first.evidence[0].line >= 1


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, texts in said.KERNEL.items() for text in texts])
@pytest.mark.parametrize(
    "form", ["{}", "[12345.678901] {}", "Nov 29 12:00:00 tray1 kernel: {}", "[Sun Nov 29 12:00:00 2026] {}"]
)
def test_what_the_kernel_says_is_recognised(name: str, text: str, form: str) -> None:
    found = judged(form.format(text) + "\n", "tray1/kernel.txt")
    assert (found.id, found.confidence) == (name, "high")


def test_every_failure_has_an_example() -> None:
    shown = {*said.FIELD, *said.KERNEL} | {one for name in said.ENGINE for one in by_message()[name]}
    assert {one.id for one in failures()} - shown == set()
    assert by_message().keys() - said.ENGINE.keys() == set()


def test_a_good_start_has_no_failure() -> None:
    found = judged("\n".join(said.HARMLESS))
    assert found.answer == "nothing", found.first


@pytest.mark.parametrize("text", said.HARMLESS[:4] + said.HARMLESS[5:])
def test_a_harmless_line_is_no_failure(text: str) -> None:
    assert judged(text + "\n").answer == "nothing"


@pytest.mark.parametrize("text", said.NOT_HARDWARE)
def test_other_words_of_the_kernel_are_no_failure(text: str) -> None:
    assert judged(f"[1.000000] {text}\n", "tray1/kernel.txt").answer == "nothing"


@pytest.mark.parametrize(("name", "text"), said.ALL)
def test_a_request_that_quotes_a_failure_is_none(name: str, text: str) -> None:
    """A user may well ask about an error: prompts are logged at level INFO."""
    quoted = text.replace("\n", " ")
    head = "(APIServer pid=7) INFO 11-29 19:33:17 [logger.py:40] Received request chatcmpl-1: prompt: "
    known = by_id().get(name) or by_id()[by_message()[name][0]]
    found = judged(f"{head}'{quoted}'\n")
    assert found.answer == "nothing" or known.quiet or (found.first and by_id()[found.first.id].quiet)


CAUSES = [one.id for one in failures() if one.role is Role.CAUSE]


@pytest.mark.parametrize("name", CAUSES)
def test_a_cause_beats_every_word_of_its_consequences(name: str) -> None:
    """On another host, with wrappers and victims around it."""
    wrappers = [
        said.FIELD[key][0] for key in ("F-CORE-INIT-OUTER", "F-PEER-GONE", "F-ENGINE-DEAD", "F-CLIENTS-MISSING")
    ]
    lines = (f"(EngineCore pid=60) ERROR 11-29 12:3{at}:00 [core.py:1] {own}\n" for at, own in enumerate(wrappers, 5))
    kernel, text = name in said.KERNEL, first_text(name)
    peer = f"Nov 29 12:34:56 tray1 kernel: {text}\n" if kernel else FORMS["engine"](text)
    files = [
        File("tray0.log", "tray0", "".join(lines), cut=False),
        File("tray1/kernel.txt" if kernel else "tray1.log", "tray1", peer, cut=False),
    ]
    for order in (files, files[::-1]):
        found = judge(capture_of(order))
        assert (found.id, found.first and found.first.host) == (name, "tray1")
        assert found.consequences


def first_text(name: str) -> str:
    known = said.FIELD.get(name) or said.KERNEL.get(name)
    return known[0] if known else next(own[0] for key, own in said.ENGINE.items() if name in by_message()[key])
