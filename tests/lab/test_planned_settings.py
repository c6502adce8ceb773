"""Planned settings through a whole deploy on simulated trays: the key is sent by our proofs and shown nowhere."""

from __future__ import annotations

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
from tests.lab.conftest import on

pytestmark = [pytest.mark.lab, pytest.mark.xdist_group("lab-planned"), pytest.mark.timeout(300)]

KEY = "sk-lab-0123456789abcdef"
FOLDER = "/var/lib/bringup/deployments/deepseek-v4-pro/current"
URL = "http://127.0.0.1:8000/v1/models"
CODE = "curl -s --noproxy '*' -o /dev/null -w '%{http_code}'"


@pytest.fixture
def trays(machine_carries_labs: None, request: pytest.FixtureRequest) -> Iterator[Lab]:  # noqa: ARG001
    name = f"planned-{os.getpid()}"
    yield labs.up(2, "gb200", name=name)
    with suppress(BadInput):  # it never came up
        lifecycle.down(name)


def test_a_deploy_with_a_key_is_proven_with_it_and_tells_it_to_nobody(trays: Lab, tmp_path: Path) -> None:
    (tmp_path / "key").write_text(KEY)
    words: tuple[str, ...] = (
        "--model",
        "deepseek-v4-pro",
        "--hosts",
        "tray1,tray2",
        "--api-key",
        str(tmp_path / "key"),
    )
    words += ("--profile", "mixed", "--prefix-hash", "sha256_cbor")
    planned = invoke("deploy", *words, "--dry-run", "--json", inventory=trays.inventory)
    assert planned.code == 8, planned
    made = invoke("deploy", *words, inventory=trays.inventory)
    assert made.code == 0, made
    status = invoke("status", inventory=trays.inventory)
    assert status.code == 0, status
    for typed in (planned, made, status):
        assert KEY not in typed.said
        assert KEY not in typed.out
    assert planned.data["changes"]
    for host in ("tray1", "tray2"):
        private = on(trays, host, f"stat -L -c %a {FOLDER}/api-key").stdout.strip()
        assert private == "600"
        command = on(trays, host, f"cat {FOLDER}/command.sh").stdout
        assert KEY not in command
        assert "--scheduling-policy priority" in command
        assert "--prefix-caching-hash-algo sha256_cbor" in command
        assert KEY not in on(trays, host, "cat /proc/[0-9]*/cmdline | tr '\\0' ' '").stdout
        refused = on(trays, host, f"{CODE} {URL}").stdout
        welcome = on(trays, host, f"{CODE} -H 'Authorization: Bearer {KEY}' {URL}").stdout
        assert (refused, welcome) == ("401", "200")
    again = invoke("deploy", *words, "--dry-run", inventory=trays.inventory)
    assert again.code == 0, again
