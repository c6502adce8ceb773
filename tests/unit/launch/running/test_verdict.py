from __future__ import annotations

import json
from dataclasses import asdict, replace

import pytest

from inventory.errors import BadInput, BringupError, ExitCode, HostUnreachable, NotServing
from launch.building.generation import Generation, Member, read_generation
from launch.running.smoke import Answer, Endpoint
from launch.running.supervise import RankState, Told, read_told
from launch.running.survey import Deployment, Survey, the_one, united
from launch.running.verdict import Health, judge, states

GANG = Generation(
    name="trial",
    generation="g1",
    recipe="org/model",
    variant="default",
    strategy="multi_node_dep",
    vllm="0.33.0",
    served_name="trial",
    load_balancing="hybrid",
    prompt="Say hello.",
    max_tokens=4,
    ports=(8000, 13345),
    members=(
        Member("tray1", "http://10.0.0.1:8000", 0, 4, "/env/bin/python", "systemd"),
        Member("tray2", "http://10.0.0.2:8000", 4, 4, "/env/bin/python", "systemd"),
    ),
)
LOST = HostUnreachable("no answer", id="timeout", host="tray2")


def told(state: str, generation: str = "g1", gang: Generation | None = GANG) -> Told:
    return Told("trial", RankState(generation, state), 3, gang)


def deployment(unanswered: dict[str, BringupError] | None = None, **by_host: Told) -> Deployment:
    return Deployment(GANG, by_host, unanswered or {})


def answer(host: str, *, ok: bool = True) -> Answer:
    endpoint = Endpoint(host, f"http://{host}:8000", "trial", 4, "Say hello.", 4)
    return Answer(endpoint, ok=ok, text="hi", seconds=0.1 if ok else None, error="" if ok else "no answer in 15 s")


BOTH = (answer("tray1"), answer("tray2"))


def test_healthy_is_all_ranks_and_all_completions() -> None:
    verdict = judge(deployment(tray1=told("running"), tray2=told("running")), BOTH)
    assert (verdict.health, verdict.exit_code) == (Health.HEALTHY, ExitCode.DONE)


@pytest.mark.parametrize("state", ["partial", "dead", "stopped"])
def test_a_rank_that_is_gone_decides_before_any_completion(state: str) -> None:
    verdict = judge(deployment(tray1=told("running"), tray2=told(state)), BOTH)
    assert (verdict.health, verdict.exit_code) == (Health.DOWN, ExitCode.NOT_SERVING)
    assert f"tray2 {state}" in verdict.reason


def test_another_generation_on_one_host_is_down() -> None:
    seen = deployment(tray1=told("running"), tray2=told("running", "g0"))
    assert states(seen)["tray2"] == "other generation"
    assert judge(seen, BOTH).health is Health.DOWN


def test_no_completion_is_down_although_all_ranks_run() -> None:
    verdict = judge(deployment(tray1=told("running"), tray2=told("running")), (BOTH[0], answer("tray2", ok=False)))
    assert verdict.health is Health.DOWN
    assert "no answer in 15 s" in verdict.reason


def test_a_silent_host_is_unknown_not_down_and_not_healthy() -> None:
    verdict = judge(deployment({"tray2": LOST}, tray1=told("running")), BOTH[:1])
    assert (verdict.health, verdict.exit_code) == (Health.UNKNOWN, ExitCode.UNREACHABLE)


def test_a_silent_host_does_not_hide_a_dead_rank() -> None:
    assert judge(deployment({"tray2": LOST}, tray1=told("dead")), ()).health is Health.DOWN


def test_stopped_is_stopped_only_when_every_host_says_so() -> None:
    assert judge(deployment(tray1=told("stopped"), tray2=told("stopped")), ()).health is Health.STOPPED
    assert judge(deployment({"tray2": LOST}, tray1=told("stopped")), ()).health is Health.DOWN


def test_the_record_is_read_back_on_every_host() -> None:
    for host in GANG.hosts:
        assert read_generation(GANG.to_line(host), host) == GANG


@pytest.mark.parametrize("line", ["", "{}", "[]", "null", '{"format_version": 2}', GANG.to_line("tray1")[:-20]])
def test_a_record_that_is_not_ours_is_refused(line: str) -> None:
    with pytest.raises(BadInput, match="cannot be read"):
        read_generation(line, "tray1")


def test_what_hosts_tell_is_read() -> None:
    cache = "INFO GPU KV cache size: 65,536 tokens, Maximum concurrency for 512 tokens per request: 128.00x"
    text = f"trial\ng1 running\n12\n{GANG.to_line('tray1')}{cache}\tnoise\t\npid=7 exit=x\nother\nabsent\n-\n\n\n\n"
    one, other = read_told(text, "tray1")
    assert (one.pid, one.restarts, one.exit_status) == (7, None, None)
    assert (one.name, one.ranks, one.log_age_s, one.generation) == ("trial", RankState("g1", "running"), 12, GANG)
    assert [(seen.tokens, seen.context, seen.concurrency) for seen in one.caches] == [(65536, 512, 128.0)]
    assert (other.ranks.state, other.log_age_s, other.generation, other.caches) == ("absent", None, None, ())


def test_the_generation_that_runs_counts() -> None:
    older = replace(GANG, generation="g0")
    found = united({"tray1": (told("stopped", "g0", older),), "tray2": (told("running"),)}, {})
    assert found["trial"].gang.generation == "g1"
    assert found["trial"].missing == ()


def test_a_deployment_is_named_or_the_only_one() -> None:
    one = deployment(tray1=told("running"))
    assert the_one(Survey({"trial": one}, {}), None) is one
    with pytest.raises(BadInput, match="several"):
        the_one(Survey({"trial": one, "other": one}, {}), None)
    with pytest.raises(BadInput, match="no deployment is called x"):
        the_one(Survey({"trial": one}, {}), "x")
    with pytest.raises(NotServing, match="invoke deploy --model tiny-dense --hosts local"):
        the_one(Survey({}, {}, hosts=("local",)), None)
    with pytest.raises(NotServing, match=r"invoke deploy --model MODEL --hosts 'tray\[1-2\]'"):
        the_one(Survey({}, {}, hosts=("tray1", "tray2")), None)
    with pytest.raises(HostUnreachable):
        the_one(Survey({}, {"tray2": LOST}), None)


@pytest.mark.parametrize("state", ["running", "partial"])
def test_ranks_of_the_same_name_outside_the_group_are_no_health(state: str) -> None:
    """Left over from a layout with more hosts: they hold GPUs and ports, and only the name tells of them."""
    alone = replace(GANG, members=GANG.members[:1], generation="g2")
    told_by = {"tray1": (told("running", "g2", alone),), "tray2": (told(state, "g1"),)}
    found = united(told_by, {})["trial"]
    assert (found.gang.hosts, tuple(found.strays)) == (("tray1",), ("tray2",))
    verdict = judge(found, BOTH[:1])
    assert (verdict.health, verdict.exit_code) == (Health.DEGRADED, ExitCode.NOT_SERVING)
    assert "tray2" in verdict.reason


def test_a_stopped_record_outside_the_group_is_history() -> None:
    alone = replace(GANG, members=GANG.members[:1], generation="g2")
    told_by = {"tray1": (told("running", "g2", alone),), "tray2": (told("stopped", "g1"),)}
    assert not united(told_by, {})["trial"].strays


@pytest.mark.parametrize("other", [{}, {"tray2": told("running", "g0")}])
def test_a_restart_is_only_offered_where_it_would_start_one_generation(other: dict[str, Told]) -> None:
    verdict = judge(Deployment(GANG, {"tray1": told("running"), **other}, {}), BOTH[:1])
    assert verdict.next_command.startswith("invoke deploy --model org/model ")
    assert "--hosts tray1,tray2 --name trial" in verdict.next_command


def test_a_name_that_is_not_known_while_a_host_is_silent_is_unknown() -> None:
    found = Survey({"trial": deployment(tray1=told("running"))}, {"tray2": LOST})
    with pytest.raises(HostUnreachable):
        the_one(found, "another")


@pytest.mark.parametrize("name", [None, "trial"])
def test_ranks_without_a_record_are_not_called_no_deployment(name: str | None) -> None:
    with pytest.raises(BadInput) as caught:
        the_one(Survey({}, {}, {"trial": ("tray1",)}), name)
    assert caught.value.id == "generation-unreadable"
    assert "tray1" in caught.value.observed


@pytest.mark.parametrize(
    "edit",
    [
        {"ports": ["8000; reboot"]},
        {"ports": "8000"},
        {"max_tokens": "many"},
        {"members": [{**asdict(GANG.members[0]), "ranks": "four"}]},
        {"members": [{**asdict(GANG.members[0]), "python": ["/bin/sh"]}]},
        {"name": None},
        {"unheard_of": 1},
    ],
)
def test_a_record_that_was_edited_into_nonsense_is_refused_whole(edit: dict[str, object]) -> None:
    line = json.dumps({**json.loads(GANG.to_line("tray1")), **edit})
    with pytest.raises(BadInput) as caught:
        read_generation(line, "tray1")
    assert caught.value.id == "generation-unreadable"


def test_a_silent_host_is_named_before_what_the_others_do_not_complete() -> None:
    seen = deployment({"tray2": LOST}, tray1=told("running"))
    verdict = judge(seen, (answer("tray1", ok=False),))
    assert (verdict.health, verdict.exit_code) == (Health.DOWN, ExitCode.NOT_SERVING)
    assert verdict.reason.startswith("tray2 no answer, and no completion from")
    assert verdict.next_command == "invoke probe --hosts tray2"
