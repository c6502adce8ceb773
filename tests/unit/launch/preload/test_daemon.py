"""The daemon that holds weights: the engine's options without the server's, and the deployment that it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from inventory.errors import BadInput, CheckFailed
from inventory.facts.host import RunningDeployment
from launch.building.assemble import Assembly, assemble
from launch.building.command import HostCommand
from launch.building.requirements import own_pids
from launch.catalogue.find import Catalogue
from launch.choosing.choice import choose
from launch.choosing.outline import launched
from launch.planned.wanted import Wanted
from launch.preload.daemon import daemon_command, from_daemon, is_daemon, refuse_unsupported, socket_dir, weights_name
from launch.preload.shape import holding_weights
from launch.request import Request
from launch.vllm_args import check
from tests.unit.launch.gangs import facts, hosts

OURS = Catalogue.of()
MODEL = "deepseek-v4-pro"


def assembled(count: int = 2, name: str = "NVIDIA GB200", **wanted: object) -> tuple[Assembly, Mapping[str, object]]:
    gang = hosts(count)
    seen = facts(gang, [4 if "GB200" in name else 8] * count, name)
    asked = Request(MODEL, wanted=Wanted(**wanted))  # type: ignore[arg-type]
    one = launched(OURS.find(MODEL), asked, gang, seen)
    return assemble(one.decision, one.name, one.choice.hosts, seen, one.engines), seen


def held(count: int = 2) -> tuple[Assembly, Assembly]:
    engine, seen = assembled(count)
    state_dirs = dict.fromkeys(engine.gang.hosts, "/var/lib/bringup")
    return engine, holding_weights(engine, seen, state_dirs)  # type: ignore[arg-type]


def served(command: HostCommand) -> list[str]:
    """The same options behind `serve`, for the schema of the pinned version."""
    words = list(command.argv[4:])
    for own in ("--weight-cache-socket-dir", "--weight-cache-master-port"):
        at = words.index(own)
        del words[at : at + 2]
    return ["serve", command.argv[3], *words]


def test_the_daemon_has_the_engines_options_and_none_of_the_servers() -> None:
    engine, weights = held()
    for command, daemon in zip(engine.decision.commands, weights.decision.commands, strict=True):
        assert daemon.argv[1:4] == ("preload", "--model", command.argv[2])
        assert check(served(daemon), dict(daemon.env), "0.33.0") == ()
        for word in ("--host", "--port", "--api-server-count", "--tool-call-parser", "--enable-auto-tool-choice"):
            assert word not in daemon.argv
        for word in ("--tensor-parallel-size", "--data-parallel-size", "--data-parallel-start-rank", "--max-model-len"):
            if word in command.argv:
                assert daemon.argv[daemon.argv.index(word) + 1] == command.argv[command.argv.index(word) + 1]
        assert daemon.env == command.env, "one user, one environment: the daemon's key has it"
        assert daemon.argv[-4:] == (
            "--weight-cache-socket-dir",
            "/var/lib/bringup/ipc",
            "--weight-cache-master-port",
            "13346",
        )


def test_it_is_a_deployment_of_its_own_that_a_stop_of_the_engine_leaves_alone() -> None:
    engine, weights = held()
    assert (weights.gang.name, weights.needs.name) == (f"{MODEL}-weights", f"{MODEL}-weights")
    assert weights.gang.generation != engine.gang.generation
    assert all(not member.url and member.ranks for member in weights.gang.members)
    assert weights.gang.ports == (13346, 13347)
    assert [one.ports for one in weights.needs.hosts] == [(13346, 13347), ()]
    for host in weights.gang.hosts:
        written = [step.id for step in weights.steps[host] if step.id.startswith("file ")]
        assert all(f"/{MODEL}-weights/" in one for one in written if "/deployments/" in one)
        assert {step.id for step in engine.steps[host] if "/deployments/" not in step.id} >= {
            step.id for step in weights.steps[host] if "/deployments/" not in step.id
        }


def test_memory_that_the_daemon_holds_is_the_engines_own() -> None:
    one = RunningDeployment(weights_name("m"), "g", head=True, state="running", supervisor="systemd", pids=(7,))
    seen = replace(facts(hosts(1), [4])["tray1"], deployments=(one, replace(one, name="other", pids=(8,))))
    assert own_pids(seen, "m") == (7,)


def test_an_engine_takes_weights_from_there_or_fails() -> None:
    engine, _ = assembled(weights_daemon=True)
    for command in engine.decision.commands:
        assert command.argv[command.argv.index("--load-format") + 1] == "ipc_cache"
        assert '{"socket_dir": "/var/lib/bringup/ipc", "fallback": false}' in command.argv
        assert check(command.argv[1:], dict(command.env), "0.33.0") == ()
    words = ("vllm", "serve", "/m", "--load-format", "fastsafetensors", "--x")
    assert from_daemon(words, "/s").count("--load-format") == 1
    assert len(f"{socket_dir('/var/lib/bringup/caches')}/vllm_weight_cache_GPU-{'0' * 36}_draft.sock") < 108


@pytest.mark.parametrize(
    ("change", "image", "words", "why"),
    [
        ({"vllm": "0.32.0"}, False, (), "vLLM 0.32.0 has no"),
        ({"hardware": "cpu"}, False, (), "no GPU"),
        ({}, True, (), "container"),
        ({}, False, ("--enable-sleep-mode",), "sleep mode"),
    ],
)
def test_what_no_daemon_can_hold(change: dict[str, str], *, image: bool, words: tuple[str, ...], why: str) -> None:
    gang = hosts(1)
    choice = choose(OURS.find(MODEL), Request(MODEL), gang, facts(gang, [8], "NVIDIA H200"))
    command = HostCommand("tray1", (), ("vllm", "serve", "/m", *words))
    refuse_unsupported(choice, [HostCommand("tray1", (), ("vllm", "serve", "/m"))], image=False)
    with pytest.raises(CheckFailed) as caught:
        refuse_unsupported(replace(choice, **change), [command], image=image)  # type: ignore[arg-type]
    assert caught.value.id == "preload-unsupported"
    assert why in str(caught.value.observed)


def test_a_draft_of_another_folder_keeps_its_options() -> None:
    command = HostCommand(
        "h", (), ("/e/vllm", "serve", "/m", "--headless", "--load-format", "auto", "--port", "1", "-O3")
    )
    daemon = daemon_command(command, "0.33.0", sockets="/s/ipc", master_port=5)
    assert daemon.argv[:5] == ("/e/vllm", "preload", "--model", "/m", "-O3")


def test_the_flag() -> None:
    assert (is_daemon(""), is_daemon("disk"), is_daemon("daemon")) == (False, False, True)
    with pytest.raises(BadInput, match="weights-from"):
        is_daemon("elsewhere")
