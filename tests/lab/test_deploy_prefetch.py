"""A deploy onto hosts that have no weights, typed as an operator would: the same prefetch brings them, then it serves.

The hub is ours and the client on the hosts is the real `hf`; the stand-in engine reads the folder that came.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import suppress

import pytest

from inventory.errors import BadInput
from inventory.lab import lifecycle
from inventory.lab.addresses import MACHINE, address
from inventory.lab.state import Lab
from launch import lab as labs
from tests.hub import Hub, made_files, serving, sha256
from tests.hub_client import give
from tests.lab.cli import Typed, invoke
from tests.lab.conftest import on

pytestmark = [pytest.mark.lab, pytest.mark.xdist_group("lab-deploy-prefetch"), pytest.mark.timeout(400)]

REPO = "deepseek-ai/DeepSeek-V4-Pro-0813"
TRAYS = ("tray1", "tray2")
WEIGHTS = f"/var/lib/bringup/weights/{REPO.replace('/', '--')}"
SIZE = 12_000_000


@pytest.fixture
def lab(machine_carries_labs: None) -> Iterator[Lab]:  # noqa: ARG001  (asked first)
    name = f"fetch-{os.getpid()}"
    made = labs.up(2, "gb200", name=name)
    give(made)
    yield made
    with suppress(BadInput):
        lifecycle.down(name)


@pytest.fixture
def hub(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    with serving(address(lab.networks[0], MACHINE)) as one:
        monkeypatch.setenv("HF_ENDPOINT", one.url)
        yield one


def model() -> dict[str, bytes]:
    """Files that a checkpoint could have: a second deploy looks into them."""
    files = made_files(SIZE, 5) | {"config.json": labs.CONFIG.encode()}
    return {path: tensor(data) if path.endswith(".safetensors") else data for path, data in files.items()}


def tensor(data: bytes) -> bytes:
    """One tensor of bytes, in the form of safetensors: the length of the header, the header, the data."""
    header = json.dumps({"made": {"dtype": "U8", "shape": [len(data)], "data_offsets": [0, len(data)]}}).encode()
    return len(header).to_bytes(8, "little") + header + data


def deploy(lab: Lab, commit: str, *words: str) -> Typed:
    typed = ("deploy", "--model", "deepseek-v4-pro", "--hosts", ",".join(TRAYS), "--revision", commit)
    return invoke(*typed, *words, inventory=lab.inventory, timeout_s=360)


def sums(lab: Lab, host: str, commit: str) -> dict[str, str]:
    """What the host's sealed manifest lists, if sha256sum finds every file so."""
    text = on(lab, host, f"cat {WEIGHTS}/{commit}/.bringup-manifest.json").stdout
    listed = {one["path"]: one["sha256"] for one in json.loads(text)["files"]}
    read = on(lab, host, f"cd {WEIGHTS}/{commit} && find . -name .cache -prune -o -type f -print0 | xargs -0 sha256sum")
    found = {line[66:].removeprefix("./"): line[:64] for line in read.stdout.splitlines()}
    assert listed.items() <= found.items(), host
    return listed


def sent(hub: Hub) -> int:
    return sum(hub.sent.values())


def test_weights_that_are_missing_come_once_are_spread_and_served_and_come_no_second_time(lab: Lab, hub: Hub) -> None:
    files = model()
    commit = hub.add(REPO, files)
    total = sum(map(len, files.values()))
    planned = deploy(lab, commit, "--dry-run", "--json")
    assert planned.code == 8, planned
    weights = [one for one in planned.data["changes"] if one["id"] == f"weights {REPO}"]
    assert [(one["host"], one["phase"]) for one in weights] == [(host, "prefetch") for host in TRAYS]
    assert sent(hub) == 0, "a dry run asks what there is and fetches nothing"
    assert all(on(lab, host, f"ls {WEIGHTS}/{commit}").returncode for host in TRAYS)

    first = deploy(lab, commit)

    assert first.code == 0, first
    assert sent(hub) == total, "each byte came from the hub once, for both hosts"
    for host in TRAYS:
        assert sums(lab, host, commit) == {path: sha256(data) for path, data in files.items()}
        record = "/var/lib/bringup/deployments/deepseek-v4-pro/current/record"
        words = on(lab, host, f"tr '\\0' ' ' </proc/$(cut -d' ' -f1 {record})/cmdline").stdout
        assert f"serve {WEIGHTS}/{commit} " in words, "what is served is what came"
    healthy = invoke("status", "--json", inventory=lab.inventory)
    assert healthy.data["verdict"]["health"] == "healthy", healthy
    needed = invoke("weights.list", "--json", inventory=lab.inventory)
    users = {one["host"]: one["used_by"] for one in needed.data if one["commit"] == commit}
    assert set(users) == set(TRAYS)
    assert all(users.values()), needed

    assert invoke("stop", inventory=lab.inventory).code == 0
    hub.asked.clear()
    again = deploy(lab, commit)
    assert again.code == 0, again
    assert "Prefetch" not in again.said
    assert hub.asked == [], "nobody outside is asked for what every host has"
