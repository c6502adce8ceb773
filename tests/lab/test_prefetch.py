"""Weights onto three lab hosts, typed as an operator would: a hub of ours here, the real `hf` on the hosts.

The weights are made by the test and could not be loaded; every byte of them is compared.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from inventory.lab import faults
from inventory.lab.addresses import MACHINE, address
from inventory.lab.state import Lab
from launch import lab as labs
from tests.hub import Hub, made_files, serving, sha256
from tests.hub_client import give
from tests.lab.cli import Typed, invoke, typing, wait_for_line
from tests.lab.conftest import MakeLab, on

pytestmark = [pytest.mark.lab, pytest.mark.timeout(400)]

REPO = "bringup/tiny-dense"
TRAYS = ("tray1", "tray2", "tray3")
WEIGHTS = f"/var/lib/bringup/weights/{REPO.replace('/', '--')}"
SIZE = 12_000_000
RIGHT = "hf_of_a_test"


@pytest.fixture(scope="module")
def lab(make_lab: MakeLab) -> Lab:
    made = make_lab(3, "cpu")
    give(made)
    return made


@pytest.fixture(scope="module")
def recipes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The catalogue with a tiny model whose weights a hub has, instead of being made on the hosts."""
    folder = tmp_path_factory.mktemp("catalogue") / "recipes"
    shutil.copytree(Path(labs.__file__).parent / "recipes", folder)
    recipe = folder / "models/bringup/tiny-dense.yaml"
    made = "  weights: random\n  random: {kind: dense, seed: 0}\n"
    text = recipe.read_text()
    assert made in text
    recipe.write_text(text.replace(made, "  weights: hub\n"))
    return folder


@pytest.fixture
def hub(lab: Lab, recipes: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    with serving(address(lab.networks[0], MACHINE)) as one:
        monkeypatch.setenv("HF_ENDPOINT", one.url)
        monkeypatch.setenv("HF_TOKEN", RIGHT)
        monkeypatch.setenv("RECIPES_OF_TEST", str(recipes))
        yield one


def asked(commit: str) -> tuple[str, ...]:
    words = ("prefetch", "--model", "tiny-dense", "--hosts", ",".join(TRAYS), "--revision", commit)
    return (*words, "--recipes", os.environ["RECIPES_OF_TEST"])


def prefetch(lab: Lab, commit: str, *words: str) -> Typed:
    return invoke(*asked(commit), *words, inventory=lab.inventory, timeout_s=360)


def sums(lab: Lab, host: str, commit: str) -> dict[str, str]:
    """What sha256sum says of every file on the host, if its manifest is there."""
    at = f"{WEIGHTS}/{commit}"
    listed = "find . -path ./.cache -prune -o -type f ! -name '.bringup-*' -print0 | xargs -0 sha256sum"
    script = f"cd {at} && cat .bringup-manifest.json >/dev/null && {listed}"
    lines = on(lab, host, script).stdout.splitlines()
    return {line[66:].removeprefix("./"): line[:64] for line in lines}


def right(files: dict[str, bytes]) -> dict[str, str]:
    return {path: sha256(data) for path, data in files.items()}


def sent_of(hub: Hub) -> int:
    return sum(hub.sent.values())


def test_each_byte_comes_once_and_is_verified_on_every_host_with_a_token_that_nobody_sees(lab: Lab, hub: Hub) -> None:
    files = made_files(SIZE, 5, seed=1)
    commit = hub.add(REPO, files, token=RIGHT)
    planned = prefetch(lab, commit, "--dry-run", "--json")
    assert planned.code == 8, planned
    (plan,) = planned.data["checkpoints"]
    assert plan["manifest"]["commit"] == commit
    assert sum(one["to_come"] for one in plan["hosts"]) == 3 * sum(map(len, files.values()))
    assert all(one["free"] - one["after"] == one["to_come"] for one in plan["hosts"])
    assert RIGHT not in planned.out + planned.said

    done = prefetch(lab, commit)

    assert done.code == 0, done
    assert RIGHT not in done.out + done.said
    for host in TRAYS:
        assert sums(lab, host, commit) == right(files), host
        environs = f"cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n' | grep {RIGHT}"
        found = on(lab, host, f"grep -rl {RIGHT} {WEIGHTS}/{commit} /var/lib/bringup/jobs /tmp; {environs}")
        assert found.stdout == "", "the token is nowhere"
    assert sent_of(hub) == sum(map(len, files.values())), "each byte came from the hub once"
    assert not any("authorization" in headers for _, path, headers in hub.asked if path.startswith("/lfs/"))
    assert prefetch(lab, commit, "--dry-run").code == 0
    told = invoke("prefetch", "--status", "--json", inventory=lab.inventory)
    states = {(one["host"], one["state"]) for one in told.data if one["weights"].endswith(commit)}
    assert states == {(host, "complete") for host in TRAYS}


def test_what_was_harmed_on_one_host_comes_from_another_and_not_from_the_hub(lab: Lab, hub: Hub) -> None:
    files = made_files(SIZE, 5, seed=2)
    commit = hub.add(REPO, files)
    assert prefetch(lab, commit).code == 0
    shard = "model-00003-of-00005.safetensors"
    at = f"{WEIGHTS}/{commit}/{shard}"
    on(lab, "tray2", f"printf x | dd of={at} bs=1 seek=5000 conv=notrunc 2>/dev/null")
    on(lab, "tray3", f"printf 'version https://git-lfs.github.com/spec/v1\\noid sha256:0\\nsize 9\\n' >{at}")
    before = sent_of(hub)
    assert prefetch(lab, commit, "--dry-run").code == 8

    done = prefetch(lab, commit)

    assert done.code == 0, done
    assert sent_of(hub) == before
    for host in TRAYS:
        assert sums(lab, host, commit) == right(files), host


def test_killed_interrupted_and_cancelled_it_goes_on_where_it_was(lab: Lab, hub: Hub) -> None:
    files = made_files(SIZE, 5, seed=3)
    commit = hub.add(REPO, files)
    hub.rate = 150_000  # a minute and more, however fast this machine is
    with typing(*asked(commit), inventory=lab.inventory) as process:
        wait_for_line(process, "begun")
        process.send_signal(signal.SIGKILL)
        process.wait()
    again = invoke(*asked(commit), "--dry-run", inventory=lab.inventory)
    assert again.code == 8, again
    told = invoke("prefetch", "--status", "--json", inventory=lab.inventory)
    states = {one["state"] for one in told.data if one["weights"].endswith(commit)}
    assert states & {"fetching", "verifying"}, told
    # The hub's client writes 10 MB at a time: of what it is in the middle of, nothing is on the disk yet.
    until = time.monotonic() + 120
    while not any(on(lab, host, f"ls {WEIGHTS}/{commit}/*.safetensors").stdout for host in TRAYS):
        assert time.monotonic() < until
        time.sleep(0.2)
    ended = invoke("prefetch", "--cancel", "--hosts", ",".join(TRAYS), inventory=lab.inventory)
    assert ended.code == 0, ended
    assert "ended" in ended.said
    running = invoke("jobs", "--running", "--json", inventory=lab.inventory)
    assert running.data == [], running
    hub.rate = None
    before = sent_of(hub)

    done = prefetch(lab, commit)

    assert done.code == 0, done
    for host in TRAYS:
        assert sums(lab, host, commit) == right(files), host
    assert sent_of(hub) - before < sum(map(len, files.values())), "what had come was not fetched again"


def test_a_host_that_dies_in_the_middle_is_made_up_for_by_the_others(lab: Lab, hub: Hub) -> None:
    files = made_files(SIZE, 5, seed=4)
    commit = hub.add(REPO, files)
    hub.rate = 700_000
    with typing(*asked(commit), inventory=lab.inventory) as process:
        wait_for_line(process, "begun")
        time.sleep(2)
        faults.power_off("tray2", lab=lab.name)
        hub.rate = None
        out, said = process.communicate(timeout=300)
    try:
        assert process.returncode == 3, out + said
        assert "tray2" in said
        for host in ("tray1", "tray3"):
            assert sums(lab, host, commit) == right(files), host
    finally:
        faults.power_on("tray2", lab=lab.name)
    invoke("unlock", "--hosts", "tray2", inventory=lab.inventory)
    before = sent_of(hub)
    done = prefetch(lab, commit)
    assert done.code == 0, done
    assert sums(lab, "tray2", commit) == right(files)
    assert sent_of(hub) == before, "it is served by its peers"


def test_pushed_from_here_to_hosts_that_reach_no_hub(lab: Lab, hub: Hub, tmp_path: Path) -> None:
    files = made_files(SIZE // 4, 3, seed=5)
    folder = tmp_path / "model"
    for path, data in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
    commit = "5" * 40
    done = prefetch(lab, commit, "--fetch", "push", "--from", str(folder), "--json")
    assert done.code == 0, done
    assert not hub.asked
    lines = [json.loads(line) for line in done.out.splitlines()]
    assert lines[0]["kind"] == "prefetch"
    assert {one["kind"] for one in lines[1:]} <= {"prefetch-event"}
    for host in TRAYS:
        assert sums(lab, host, commit) == right(files), host
