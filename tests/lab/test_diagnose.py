"""diagnose on simulated hosts with the stand-in engine, typed as an operator would: which rank failed first, and why.

What a deploy says before it stops the group, what `diagnose` says afterwards, and what a kept capture still says when
the hosts are gone.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from inventory.errors import BadInput
from inventory.lab import lifecycle
from inventory.lab.state import Lab
from launch import lab as labs
from tests.lab.cli import invoke

pytestmark = [pytest.mark.lab, pytest.mark.timeout(600)]

HOSTS = ("--hosts", "tray1,tray2")
DEPLOY = ("deploy", "--model", "deepseek-v4-pro", *HOSTS)
SECRET = "hf_abcdefghijklmnopqrstuvwxyz012345"  # noqa: S105  (planted: it must not come out)


@pytest.fixture(scope="module")
def lab(machine_carries_labs: None) -> Iterator[Lab]:  # noqa: ARG001
    name = f"diagnose-{os.getpid()}"
    yield labs.up(2, "gb200", name=name)
    with suppress(BadInput):
        lifecycle.down(name)


def inject(lab: Lab, failure: str) -> None:
    """Ranks get the failure."""
    lines = [line for line in lab.inventory.read_text().splitlines() if not line.startswith("  env: ")]
    at = lines.index("defaults:") + 1
    lines.insert(at, f"  env: {{BRINGUP_STANDIN_FAIL: '{failure}'}}")
    lab.inventory.write_text("\n".join(lines) + "\n")


def test_a_failed_deploy_names_the_rank_and_a_capture_still_does(lab: Lab, tmp_path: Path) -> None:
    inject(lab, "gloo-loopback@5")
    key = tmp_path / "key"
    key.write_text(SECRET)
    key.chmod(0o600)
    failed = invoke(*DEPLOY, "--api-key", str(key), inventory=lab.inventory)
    assert failed.code == 6, failed
    assert "first cause: ranks on tray2 advertise a loopback address" in failed.said, failed
    assert failed.said.index("F-GLOO-LOOPBACK") < failed.said.index("stopped:"), "the logs are read before the stop"

    told = invoke("diagnose", *HOSTS, "--json", inventory=lab.inventory)
    assert (told.code, told.data["id"], told.data["host"], told.data["ranks"]) == (6, "F-GLOO-LOOPBACK", "tray2", [5])
    assert not [one for one in told.data["not_checked"] if "need the plan" in one], "hosts store what was asked of them"
    strangers = {"gpu.owners", "net.ports_free", "plan.conflict"}
    assert not [one for one in told.data["findings"] if one["check"] in strangers], "nobody but our own ranks is there"

    folder = tmp_path / "capture"
    kept = invoke("diagnose", *HOSTS, "--capture", str(folder), inventory=lab.inventory)
    assert kept.code == 6, kept
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["kind"] == "capture"
    assert {"log", "ps.txt", "clock.txt", "command.sh"} <= manifest["hosts"]["tray1"]["files"].keys()
    assert abs(manifest["hosts"]["tray2"]["ahead_s"]) < 5
    assert not [path for path in folder.rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()]

    again = invoke("diagnose", "--replay", str(folder))
    assert again.code == 6
    assert again.out.splitlines()[0] == kept.out.splitlines()[0]
