"""The size of a KV cache that was measured: read from the log, and used again where everything is the same."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from inventory.errors import BadInput
from inventory.facts.host import Caches, HostFacts, RunningDeployment
from launch.building.command import HostCommand
from launch.caches.kv_memory import (
    GIB,
    OPTION,
    Measured,
    gpu_names,
    is_line,
    is_measured,
    keep_script,
    key_of,
    measured,
    offered,
    without,
)
from launch.catalogue.find import Catalogue
from launch.choosing.decide import Decision
from launch.choosing.outline import outline
from launch.planned.wanted import Wanted
from launch.request import Request
from launch.vllm_args import check
from tests.unit.launch.gangs import facts, gpus, hosts
from tests.unit.playbooks.sh import sh

# gpu_worker.py of vLLM 0.33.0, with its two values: the first fits into what was asked for.
LINE = (
    "Free memory on device (178.35/179.05 GiB) on startup. Desired GPU memory utilization is (0.92, 164.73 GiB). "
    "Actual usage is 90.1 GiB for consumed memory (weights + non-torch), 4.2 GiB for peak activation, and 1.0 GiB for "
    "CUDAGraph memory. Replace gpu_memory_utilization config with `--kv-cache-memory={bytes}` (69.1 GiB) to fit into "
    "requested memory, or `--kv-cache-memory=88888888888` (82.7 GiB) to fully utilize gpu memory. Current kv cache "
    "memory in use is 69.43 GiB."
)
ARGV = ("/e/vllm", "serve", "/w/m", "--max-num-seqs", "8")
GB200 = "NVIDIA GB200"
ROOM = 178 * GIB


def command(host: str = "tray1", *words: str) -> HostCommand:
    return HostCommand(host, (("HOME", "/c"),), (*ARGV, *words))


def seen(
    host: str = "tray1", *, value: int = 1000, free: int = ROOM, gpu: str = GB200, known: bool = True
) -> HostFacts:
    one = facts(hosts(2), [4, 4])[host]
    told = gpus(4, GB200)
    told = replace(told, devices=tuple(replace(device, free_bytes=free) for device in told.devices))
    kept = ((key_of(command(host)), gpu, value, ROOM, 4),) if known else ()
    return replace(one, gpus=told, caches=Caches(empty=False, artefacts=(), stamp=None, kv_memory=kept))


def asked(*told: HostFacts, wanted: bool = True, words: Sequence[str] = ()) -> tuple[list[str], str, bool]:
    """The values that the commands have, the reason in words and whether it warns."""
    commands = [command(one.host, *words) for one in told]
    made, reasons = offered(commands, {one.host: one for one in told}, "m", wanted=wanted)
    values = [one.argv[one.argv.index(OPTION) + 1] for one in made if OPTION in one.argv]
    return values, str(reasons[0]) if reasons else "", any(one.warns for one in reasons)


def test_the_first_value_of_every_worker_and_the_least_of_them() -> None:
    lines = [LINE.format(bytes=1000), "Application startup complete.", LINE.format(bytes=900)]
    assert [is_line(line) for line in lines] == [True, False, True]
    assert measured(lines, "k", GB200) == Measured("k", GB200, 900, int(178.35 * GIB), 2)
    assert measured(["nothing"], "k", GB200) is None
    assert measured([LINE.format(bytes=0)], "k", GB200) is None, "no memory was left: nothing to use again"


def test_a_start_is_the_same_with_and_without_the_value_and_another_with_any_other_word() -> None:
    assert without([*ARGV, OPTION, "5", "--x"]) == [*ARGV, "--x"]
    assert key_of(command("tray1", OPTION, "5")) == key_of(command("tray1", f"{OPTION}=6")) == key_of(command())
    assert key_of(command("tray1", "--max-num-seqs", "9")) != key_of(command())
    assert key_of(replace(command(), env=(("HOME", "/d"),))) != key_of(command())


def test_an_identical_start_is_offered_and_used_when_it_is_wanted() -> None:
    values, why, warns = asked(seen(), wanted=False)
    assert (values, warns) == ([], False)
    assert why.endswith("an identical start printed a value: --kv-memory measured takes it (tray1 1000 B)")
    values, why, warns = asked(seen(value=1000), seen("tray2", value=900))
    assert values == ["900", "900"], "the least of all hosts, on all of them"
    assert "900 bytes of each GPU: an identical start printed it" in why
    assert not warns


@pytest.mark.parametrize(
    ("told", "why"),
    [
        ((seen(), seen("tray2", known=False)), "no identical start is known on tray2"),
        ((seen(gpu="NVIDIA H200"),), "tray1 has NVIDIA GB200 now, not NVIDIA H200"),
        ((seen(free=ROOM - GIB),), "GPU 0 of tray1 has 177 GiB free, and had 178 GiB then"),
        ((seen(known=False),), "no identical start is known on these hosts"),
    ],
)
def test_what_is_not_identical_is_measured_anew_and_says_so(told: tuple[HostFacts, ...], why: str) -> None:
    values, said, warns = asked(*told)
    assert values == []
    assert why in said
    assert warns
    assert asked(*told, wanted=False)[2] is False


def test_memory_that_its_own_ranks_hold_now_will_be_free() -> None:
    runs = RunningDeployment("m", "g", head=True, state="running", supervisor="systemd", pids=(7,))
    assert asked(replace(seen(free=0), deployments=(runs,)))[0] == ["1000"]
    other = replace(runs, name="another")
    assert asked(replace(seen(free=0), deployments=(other,)))[0] == []


def test_a_value_that_was_given_stays() -> None:
    assert asked(seen(), words=(OPTION, "7"))[0] == ["7"]


def test_it_is_kept_beside_the_caches_a_file_for_each_start(tmp_path: Path) -> None:
    one = Measured("k1", GB200, 900, ROOM, 4)
    for value in (one, replace(one, bytes=800), replace(one, key="k2")):
        assert sh(keep_script(value, state_dir=str(tmp_path))).returncode == 0
    folder = tmp_path / "caches/.kv-memory"
    assert sorted(path.name for path in folder.iterdir()) == ["k1.json", "k2.json"]
    assert json.loads((folder / "k1.json").read_text())["bytes"] == 800


def test_names_and_flags() -> None:
    assert gpu_names(seen()) == GB200
    assert gpu_names(facts(hosts(1), [0])["tray1"]) == ""
    assert (is_measured("measured"), is_measured("no"), is_measured("")) == (True, False, False)
    with pytest.raises(BadInput, match="kv-memory"):
        is_measured("yes please")


def test_the_whole_way_from_a_start_to_the_next_plan() -> None:
    """Two trays decide, log, remember, and decide again: one option more, which the pinned vLLM takes."""
    gang = hosts(2)
    told = {host: replace(one, gpus=seen().gpus) for host, one in facts(gang, [4, 4]).items()}
    first = decided(told, kv_memory=True)
    assert first.placement.reasons[-1].warns, "nothing is known yet"
    for command in first.commands:
        one = measured([LINE.format(bytes=5 << 30)] * 4, key_of(command), gpu_names(told[command.host]))
        assert one is not None
        kept = ((one.key, one.gpu, one.bytes, ROOM, one.workers),)
        caches = Caches(empty=False, artefacts=(), stamp=None, kv_memory=kept)
        told[command.host] = replace(told[command.host], caches=caches)
    assert decided(told, kv_memory=False).commands == first.commands, "offered, and not taken"
    second = decided(told, kv_memory=True)
    for before, after in zip(first.commands, second.commands, strict=True):
        assert after.argv == (*before.argv, OPTION, str(5 << 30))
        assert check(after.argv[1:], dict(after.env), "0.33.0") == ()


def decided(told: dict[str, HostFacts], *, kv_memory: bool) -> Decision:
    request = Request("deepseek-v4-pro", wanted=Wanted(kv_memory=kv_memory))
    return outline(Catalogue.of().find("deepseek-v4-pro"), request, hosts(2), told).decision
