"""From entries and facts to steps: predicates, values, settings; unknown decides nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from inventory.errors import BadInput, BringupError, CheckFailed, Several
from inventory.facts.base import Maybe, Unknown, Why
from playbooks.plan import Phase
from playbooks.schema import Playbook, Setting
from playbooks.situation import NOT_PLANNED, Situation
from playbooks.wanted import early_steps, settings_of, wanted_on
from playbooks.when import When
from tests.unit.playbooks.books.entries import entry
from tests.unit.playbooks.checks.gang import change, gang_needs, tray

HUNG = Unknown(Why.TIMED_OUT, "no answer")
PLANNED = Situation(tray(), "gb200", gang_needs())
BARE = Situation(tray(), "gb200")
BLIND = Situation(replace(tray(), gpus=HUNG, system=HUNG, rdma=HUNG, software=HUNG, fabric=HUNG), HUNG)


def when(**fields: Any) -> When:  # noqa: ANN401  (its predicates)
    return When.model_validate(fields)


@pytest.mark.parametrize(
    ("predicates", "at", "answer"),
    [
        ({}, BLIND, True),
        ({"gpu": "nvidia"}, BARE, True),
        ({"gpu": ["amd", "none"]}, BARE, False),
        ({"gpu": "nvidia"}, BLIND, HUNG),
        ({"hardware": ["gb200", "gb300"]}, BARE, True),
        ({"hardware": "b200"}, BARE, False),
        ({"hardware": "b200"}, BLIND, HUNG),
        ({"os": "debian"}, BLIND, HUNG),
        ({"has": ["several-gpus"]}, BARE, True),
        ({"has": ["several-gpus"]}, BLIND, HUNG),
        ({"plan": "several-hosts"}, PLANNED, True),
        ({"plan": "container"}, PLANNED, False),
        ({"plan": "several-hosts"}, BARE, NOT_PLANNED),
        ({"given": "size"}, BARE, False),
        ({"given": "size"}, replace(BARE, settings={"size": "1"}), True),
        ({"gpu": "amd", "os": "debian"}, replace(BARE, facts=replace(tray(), system=HUNG)), False),
        ({"gpu": "nvidia", "os": "debian"}, replace(BARE, facts=replace(tray(), system=HUNG)), HUNG),
        ({"plan": "rdma", "gpu": "nvidia"}, replace(BLIND, needs=None), HUNG),
    ],
)
def test_false_wins_over_unknown_and_unknown_over_true(
    predicates: dict[str, Any], at: Situation, answer: Maybe[bool]
) -> None:
    assert when(**predicates).holds(at) == answer


@pytest.mark.parametrize("name", [name for name in When.model_fields if name not in {"release", "given"}])
def test_words_that_a_predicate_does_not_know_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="Input should be"):
        when(**{name: "nonsense"})


def book(*entries: dict[str, Any], **settings: Setting) -> Playbook:
    return Playbook("book", "x", settings, tuple(entry(**one) for one in entries))


def sysctl(name: str = "a", **fields: Any) -> dict[str, Any]:  # noqa: ANN401
    return {"id": name, "kind": "sysctl", "values": {"a.b": "1"}, **fields}


def test_an_unknown_fact_refuses_and_is_never_false() -> None:
    with pytest.raises(CheckFailed) as caught:
        wanted_on([book(sysctl(when={"gpu": "nvidia"}))], {"book": BLIND})
    assert (caught.value.id, caught.value.host) == ("when-unknown", "tray1")
    assert "no answer" in caught.value.observed


def test_what_only_a_plan_tells_is_left_out_aloud() -> None:
    wanted = wanted_on([book(sysctl(when={"plan": "several-hosts"}), sysctl("b"))], {"book": BARE})
    assert [one.id for one in wanted.steps] == ["book/b"]
    assert wanted.left_out[0].step == "book/a"
    assert "--model" in wanted.left_out[0].reason


def test_values_are_filled_in_and_an_unknown_one_refuses() -> None:
    one = book({"id": "a", "kind": "file", "path": "/{{kernel}}", "content": "{{debian_arch}} {{.Server}} {{ x }}\n"})
    (step,) = wanted_on([one], {"book": BARE}).steps
    assert step.content
    assert step.content.path.startswith("/6.")
    assert step.content.text == "arm64 {{.Server}} {{ x }}\n"
    with pytest.raises(CheckFailed, match="its value"):
        wanted_on([one], {"book": BLIND})
    assert early_steps([one], {"book": {}}, "/s") == (), "its probe depends on a fact"


def test_a_value_that_does_not_fit_is_refused_not_used() -> None:
    one = book({"id": "a", "kind": "sysctl", "values": {"a.b": "{{host_addresses}}"}})
    assert "\n" in "\n".join(str(each.address) for each in gang_needs().hosts)
    with pytest.raises(BringupError) as caught:
        wanted_on([one], {"book": PLANNED})
    assert "one line" in caught.value.observed


def test_reserved_ports_keep_what_others_have_reserved() -> None:
    facts = change(tray(), "network", reserved_ports=((5000, 5001), (8000, 8000)))
    at = replace(PLANNED, facts=facts)
    one = book({"id": "a", "kind": "sysctl", "values": {"net.ipv4.ip_local_reserved_ports": "{{reserved_ports}}"}})
    (step,) = wanted_on([one], {"book": at}).steps
    ports = step.wanted.partition("=")[2].split()[0].split(",")
    assert ports[0] == "5000-5001"
    assert "8000" in ports
    assert len(ports) > 2


def test_settings_have_defaults_and_are_checked() -> None:
    one = book(sysctl(), size=Setting(about="x", default="1"), way=Setting(about="y", values=("a", "b")))
    assert settings_of([one], {}) == {"book": {"size": "1"}}
    assert settings_of([one], {"way": "a", "size": "2"}) == {"book": {"size": "2", "way": "a"}}
    for typed in ({"sise": "1"}, {"way": "c"}, {"size": "a\nb"}):
        with pytest.raises((BadInput, Several)) as caught:
            settings_of([one], typed)
        assert caught.value.id == "setting-unknown"


def test_early_steps_are_those_that_are_wanted_later() -> None:
    """The same text is run to plan and to apply, so what was asked early must be the very step."""
    one = book(
        sysctl(), {"id": "f", "kind": "file", "path": "/x", "content": "{{size}}"}, size=Setting(about="x", default="1")
    )
    settings = settings_of([one], {"size": "7"})
    at = replace(BARE, settings=settings["book"], state_dir="/s")
    assert set(early_steps([one], settings, "/s")) == set(wanted_on([one], {"book": at}).steps)


def test_steps_come_in_the_order_of_phases_and_else_as_written() -> None:
    one = book(
        sysctl("late"), {"id": "u", "kind": "group", "name": "g"}, sysctl("more"), sysctl("soon", phase="prepare")
    )
    steps = wanted_on([one], {"book": BARE}).steps
    assert [step.id.partition("/")[2] for step in steps] == ["u", "soon", "late", "more"]
    assert [step.phase for step in steps] == [Phase.PREPARE] * 2 + [Phase.CONFIGURE] * 2
