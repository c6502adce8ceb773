"""What is read back from a host's stored generation, against what the launch itself asked for; and checks by it."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import pytest

from inventory.facts.base import Unknown, Why, is_known
from inventory.facts.host import Gpu, GpuProcess, HostFacts, Listener, Process, RunningDeployment
from inventory.facts.redact import Redactor
from launch.building.assemble import Assembly, assemble
from launch.building.engine import engines_of
from launch.building.unit import UnitSettings, command_file
from launch.choosing.decide import choose, decide
from launch.diagnosis import stored
from launch.diagnosis.checked import DECISIVE, NOT_STORED, Checked, checked
from launch.diagnosis.collect import HostTold, _written
from launch.diagnosis.judge import judge
from launch.diagnosis.replay import File, capture_of, load
from launch.diagnosis.stored import Stored
from launch.request import Request
from playbooks.check import run_checks
from playbooks.checks import CHECKS
from playbooks.finding import Finding, Status
from playbooks.plan import Step
from tests.unit.launch.diagnosis.captures import begins, traceback
from tests.unit.launch.real_gangs import OURS, gang

NAME = "v4"
CLOSED = "RuntimeError: [pair.cc:547] Connection closed by peer [10.0.0.2]:3112"
NOT_KEPT = {
    *("memory_per_gpu_bytes", "space", "gpu_runtime", "restart", "starts_after_s", "memory_forecast", "env", "argv"),
    *("model", "build", "layout", "container", "hosts", "stop_timeout_s"),
}
"""Parts of requirements that are not stored, or are compared below."""
PROGRAM_AND_PATH = 1


@dataclass(frozen=True)
class Launched:
    """A deployment as it was planned, and what its hosts stored of it."""

    plan: Assembly
    facts: dict[str, HostFacts]
    stored: dict[str, Stored]


@cache
def launched(kind: str, count: int, model: str) -> Launched:
    members, seen = gang(kind, count)
    request = Request(model=model)
    choice = choose(OURS.find(model), request, members, seen)
    engines = engines_of(choice, members, seen, served_name=NAME)
    decision = decide(choice, request, seen, {host: one.program for host, one in engines.items()})
    plan = assemble(decision, NAME, members, seen, engines)
    files = {
        f"{host}/{kept}": written
        for host, steps in plan.steps.items()
        for kept in ("command.sh", "generation.json")
        if (written := next(content(one) for one in steps if one.id.endswith(f"/{kept}")))
    }
    with TemporaryDirectory() as folder_of_capture:
        return Launched(plan, seen, read_back(files, Path(folder_of_capture)))


def content(step: Step) -> str:
    """What a step writes to its file."""
    return base64.b64decode(step.script.partition("<<'END'\n")[2].partition("END\n")[0]).decode()


def read_back(files: Mapping[str, str], folder: Path) -> dict[str, Stored]:
    """As a capture keeps them: without what may be a secret."""
    redactor = Redactor()
    for host in {name.partition("/")[0] for name in files}:
        own = {name.partition("/")[2]: text.encode() for name, text in files.items() if name.startswith(f"{host}/")}
        dict(_written(folder / host, HostTold(own, 0.0, 0.0, None, None), redactor, set()))
    return stored.read(load(folder))


LAUNCHES = [
    (kind, count, model)
    for kind in ("gb200-tray", "h200-hgx", "mi355x-8x")
    for count in (1, 2)
    for model in ("deepseek-v4-pro", "tiny-dense")
]


@pytest.mark.parametrize(("kind", "count", "model"), LAUNCHES)
def test_what_is_stored_is_what_was_asked_for(kind: str, count: int, model: str) -> None:
    one = launched(kind, count, model)
    needs, asked = stored.requirements(one.stored, one.facts, at=None), one.plan.needs
    assert differing(asked, needs) <= {"mnnvl"}
    assert needs.mnnvl in {asked.mnnvl, None}
    for host in one.facts:
        assert differing(asked.of(host), needs.of(host)) == set()
        assert needs.of(host).argv[PROGRAM_AND_PATH:3] == asked.of(host).argv[PROGRAM_AND_PATH:3]
        env = dict(asked.of(host).env)
        assert dict(needs.of(host).env).items() <= env.items()
        assert env.keys() - dict(needs.of(host).env).keys() <= {"PATH"}


def differing(asked: Any, told: Any) -> set[str]:  # noqa: ANN401  (requirements of a host, or of all)
    return {
        one.name
        for one in fields(asked)
        if one.name not in NOT_KEPT and getattr(asked, one.name) != getattr(told, one.name)
    }


@pytest.mark.parametrize(("kind", "count", "model"), LAUNCHES)
def test_no_check_fails_that_does_not_with_the_plan_itself(kind: str, count: int, model: str) -> None:
    """And what cannot be judged without the plan's own words is told as not checked."""
    one = launched(kind, count, model)
    planned = status_of(run_checks(one.facts, one.plan.needs))
    told = status_of(run_checks(one.facts, stored.requirements(one.stored, one.facts, at=None)))
    left_out = {check for checks in NOT_STORED.values() for check in checks}
    for check, own in told.items():
        if check not in left_out:
            assert (Status.FAIL in own) <= (Status.FAIL in planned[check]), check
            judged = planned[check] - {Status.SKIP, Status.FAIL}
            assert not judged or own - {Status.SKIP}, f"{check} is left out without a word"


def status_of(findings: tuple[Finding, ...]) -> dict[str, set[Status]]:
    found: dict[str, set[Status]] = {}
    for one in findings:
        found.setdefault(one.check, set()).add(one.status)
    return found


def test_the_lists_name_checks_that_are_there() -> None:
    names = [check for checks in NOT_STORED.values() for check in checks]
    assert len(names) == len(set(names))
    assert {*names, *DECISIVE} <= CHECKS.keys()
    assert not DECISIVE & set(names)


# --- somebody else's processes, and the deployment's own


TRAYS = launched("gb200-tray", 2, "deepseek-v4-pro")
HEAD = TRAYS.facts["tray1"]
WORKER = Process(500, 400, "svc", "now", "VLLM::Worker_DP0")
SERVER = Process(400, 1, "svc", "now", "/e/bin/vllm serve /m")
OWN = RunningDeployment(NAME, TRAYS.plan.gang.generation, head=True, state="running", supervisor="systemd", pids=(400,))


def look(head: HostFacts, kept: Mapping[str, Stored] = TRAYS.stored) -> Checked:
    return checked({**TRAYS.facts, "tray1": head}, NAME, kept)


def failing(head: HostFacts, kept: Mapping[str, Stored] = TRAYS.stored) -> set[tuple[str, str]]:
    return {(one.check, one.host) for one in look(head, kept).findings if one.status is Status.FAIL}


def with_gpu(head: HostFacts, index: int, *pids: int) -> HostFacts:
    assert is_known(head.gpus)
    held = tuple(GpuProcess(pid, "python", 9 << 30) for pid in pids)

    def of(gpu: Gpu) -> Gpu:
        return replace(gpu, processes=held) if gpu.index == index else replace(gpu, processes=())

    return replace(head, gpus=replace(head.gpus, devices=tuple(map(of, head.gpus.devices))))


def listening(head: HostFacts, process: str | None) -> HostFacts:
    return replace(head, listeners=(Listener("0.0.0.0", 8000, process),))  # noqa: S104  (a fact)


@pytest.mark.parametrize("state", ["running", "stopped"])
def test_a_job_of_somebody_else_on_a_planned_gpu(state: Literal["running", "stopped"]) -> None:
    head = replace(with_gpu(HEAD, 2, 77), deployments=(replace(OWN, state=state),))
    assert ("gpu.owners", "tray1") in failing(head)
    text = begins("10:00:00") + traceback("10:05:00", CLOSED)
    capture = replace(
        capture_of([File("tray1.log", "tray1", text, cut=False)]), findings=look(head).findings, name=NAME
    )
    judged = judge(capture)
    assert (judged.answer, judged.id) == ("finding", "gpu.owners")


def test_own_processes_are_no_strangers_and_neither_is_what_they_started() -> None:
    head = replace(with_gpu(HEAD, 2, 500), deployments=(OWN,), processes=(SERVER, WORKER))
    assert failing(listening(head, 'users:(("vllm",pid=400,fd=3))')) == failing(HEAD)
    assert ("gpu.owners", "tray1") in failing(replace(head, deployments=(replace(OWN, state="stopped"),)))


def test_a_port_that_another_server_took() -> None:
    stopped = replace(HEAD, deployments=(replace(OWN, state="dead", pids=()),))
    assert ("net.ports_free", "tray1") in failing(listening(stopped, 'users:(("nginx",pid=9,fd=3))'))
    assert ("net.ports_free", "tray1") in failing(listening(stopped, None)), "nobody of ours runs"


def test_a_listener_that_this_user_cannot_see_may_be_our_own() -> None:
    head = listening(replace(HEAD, deployments=(OWN,)), None)
    assert ("net.ports_free", "tray1") not in failing(head)
    assert any("who listens there is not told" in one for one in look(head).not_checked)


def test_nobody_is_a_stranger_where_it_is_not_known_who_is_not() -> None:
    head = replace(with_gpu(HEAD, 2, 77), deployments=Unknown(Why.REFUSED, "no"))
    assert not {("gpu.owners", "tray1"), ("net.ports_free", "tray1")} & failing(head)
    assert any(one.startswith("gpu.owners, gpu.free_mem") for one in look(head).not_checked)


def test_a_gpu_that_is_gone_is_missed() -> None:
    assert is_known(HEAD.gpus)
    fewer = replace(HEAD, gpus=replace(HEAD.gpus, devices=HEAD.gpus.devices[:-1]))
    assert ("gpu.count", "tray1") in failing(fewer)


# --- hosts that tell less


def test_without_all_hosts_nothing_is_compared_between_them() -> None:
    """A rank of a host that did not answer is not missing from the plan."""
    alone = checked({"tray1": HEAD}, NAME, TRAYS.stored)
    assert {one.check for one in alone.findings if one.status is Status.FAIL} <= {one for one, _ in failing(HEAD)}
    assert "checks that compare all hosts: tray2 did not tell everything" in alone.not_checked


def test_a_host_with_another_generation_is_not_judged_by_this_one() -> None:
    other = TRAYS.stored["tray2"]
    odd = {**TRAYS.stored, "tray2": replace(other, gang=replace(other.gang, generation="0123456789ab"))}
    told = look(with_gpu(HEAD, 2, 77), odd)
    assert any(one.startswith("checks of tray") for one in told.not_checked)


def test_an_older_record_does_not_tell_which_gpus() -> None:
    """So a job on one of them may be where it belongs: a warning, no failure."""
    older = {host: replace(one, gang=replace(one.gang, hardware="")) for host, one in TRAYS.stored.items()}
    assert stored.gpus_of(older["tray1"]) is None
    head = replace(with_gpu(HEAD, 2, 77), deployments=())
    told = {(one.check, one.status) for one in look(head, older).findings if one.host == "tray1"}
    assert ("gpu.owners", Status.WARN) in told


def test_gpus_that_are_named_are_those() -> None:
    one = TRAYS.stored["tray1"]
    named = replace(one.command, env={**one.command.env, "CUDA_VISIBLE_DEVICES": "2,3"})
    assert stored.gpus_of(replace(one, command=named)) == (2, 3)
    docker = replace(one.command, arguments=("--gpus", '"device=1,3"'))
    assert stored.gpus_of(replace(one, command=docker)) == (1, 3)
    podman = replace(one.command, arguments=("--device", "nvidia.com/gpu=0", "--device", "nvidia.com/gpu=2"))
    assert stored.gpus_of(replace(one, command=podman)) == (0, 2)


@pytest.mark.parametrize("name", ["command.sh", "generation.json"])
def test_what_cannot_be_read_is_not_there(name: str, tmp_path: Path) -> None:
    files = {"tray1/command.sh": "exec sleep", "tray1/generation.json": TRAYS.plan.gang.to_line("tray1")}
    assert read_back({**files, f"tray1/{name}": "{"}, tmp_path) == {}


SECRETS = {"HF_TOKEN": "short", "DB_PASSWORD": "two words", "MY_AUTH_KEY": "it's\n'odd'"}


def test_no_secret_of_a_stored_command_is_kept(tmp_path: Path) -> None:
    """And the rest of it is read as before."""
    one = TRAYS.plan.decision.commands[0]
    command = replace(one, env=(*one.env, *SECRETS.items()))
    folder = f"/var/lib/bringup/deployments/{NAME}/{TRAYS.plan.gang.generation}"
    text = command_file(command, UnitSettings(NAME, TRAYS.plan.gang.generation, folder, "root"))
    files = {"tray1/command.sh": text, "tray1/generation.json": TRAYS.plan.gang.to_line("tray1")}
    kept = read_back(files, tmp_path)["tray1"].command
    written = (tmp_path / "tray1/command.sh").read_text()
    assert not [word for word in ("short", "two words", "odd") if word in written], written
    assert {kept.env[name] for name in SECRETS} == {"***"}
    assert kept.model == one.argv[2]
    assert "HF_TOKEN" not in dict(stored.of_host("tray1", read_back(files, tmp_path)["tray1"], HEAD).env)
