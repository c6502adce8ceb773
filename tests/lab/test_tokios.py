"""Tokios' connector beside the ranks of a systemd host; a program that does what is documented of it stands in."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from inventory.errors import BadInput, BringupError
from inventory.lab import lifecycle, prerequisites
from inventory.lab.state import Lab
from launch import lab as labs
from tests.lab.cli import invoke
from tests.lab.conftest import on

pytestmark = [pytest.mark.lab, pytest.mark.timeout(300)]

TOKEN = "tt_lab-0123456789.abc"  # noqa: S105  (it opens nothing)
DEPLOY = ("deploy", "--model", "deepseek-v4-pro", "--hosts", "tray1,tray2")
UNIT = "bringup-deepseek-v4-pro-tokios"
CONFIG = f"/run/{UNIT}/tokios.json"
CONNECTOR = "/opt/tokios-connector"
SIMULATED = """#!/bin/sh
[ "$1" = --config ] && [ -r "$2" ] || exit 2
echo 'SIMULATED connector: Tunnel established'
trap 'kill "$!"; exit 3' TERM
sleep 100000 &
wait
"""


@pytest.fixture(scope="module")
def trays(machine_carries_labs: None) -> Iterator[Lab]:  # noqa: ARG001
    try:
        prerequisites.check(systemd=True)
    except BringupError as error:
        pytest.skip(f"no systemd hosts on this machine: {error}")
    name = f"tokios-{os.getpid()}"
    lab = labs.up(2, "gb200", name=name, systemd=True)
    made = invoke(*DEPLOY, inventory=lab.inventory)
    assert made.code == 0, made
    yield lab
    with suppress(BadInput):
        lifecycle.down(name)


def test_the_connector_goes_with_the_ranks_and_their_endpoint(trays: Lab, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text(f"{TOKEN}\n")
    words = ("tokios.connect", "--token-file", str(token), "--connector", CONNECTOR)
    missing = invoke(*words, inventory=trays.inventory)
    assert missing.code == 4, missing
    assert "tokios-missing" in missing.said

    on(trays, "tray1", f"cat >{CONNECTOR} <<'EOF'\n{SIMULATED}EOF\nchmod 755 {CONNECTOR}")
    made = invoke(*words, inventory=trays.inventory)
    assert made.code == 0, made
    assert TOKEN not in made.out + made.said
    told = json.loads(on(trays, "tray1", f"cat {CONFIG}").stdout)
    assert told["tunnel_token"] == TOKEN
    assert told["upstream"] in made.said
    assert on(trays, "tray1", f"stat -L -c %a {CONFIG}").stdout.strip() == "600"
    assert "root" not in on(trays, "tray1", "ps -o user= -C sleep").stdout.split(), "it needs no rights"
    for shown in ("cat /proc/[0-9]*/cmdline", "cat /proc/[0-9]*/environ", f"systemctl cat {UNIT}"):
        assert TOKEN not in on(trays, "tray1", shown).stdout
    assert on(trays, "tray1", f"systemd-analyze verify /etc/systemd/system/{UNIT}.service").stderr == ""
    assert invoke(*words, inventory=trays.inventory).code == 0, "and again"

    assert invoke("stop", inventory=trays.inventory).code == 0
    assert on(trays, "tray1", f"systemctl is-active {UNIT}").stdout.strip() == "inactive", "it ended with an error"
    moved = invoke(*DEPLOY, "--port", "8123", inventory=trays.inventory)
    assert moved.code == 0, moved
    assert json.loads(on(trays, "tray1", f"cat {CONFIG}").stdout)["upstream"].endswith(":8123"), "the new endpoint"

    gone = invoke("tokios.disconnect", inventory=trays.inventory)
    assert gone.code == 0, gone
    assert on(trays, "tray1", f"ls /etc/systemd/system/{UNIT}.service /run/{UNIT}").stdout == ""
    assert on(trays, "tray1", "ls /var/lib/bringup/deployments/deepseek-v4-pro").stdout.count("token") == 0
    assert invoke("tokios.disconnect", inventory=trays.inventory).code == 0, "nothing to remove is no error"


def test_a_connector_that_does_not_stay_up_is_a_failure(trays: Lab, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text(TOKEN)
    on(trays, "tray1", "printf '#!/bin/sh\\necho no gateway; exit 1\\n' >/opt/failing; chmod 755 /opt/failing")
    failed = invoke(
        "tokios.connect", "--token-file", str(token), "--connector", "/opt/failing", inventory=trays.inventory
    )
    assert failed.code == 5, failed
    assert "no gateway" in failed.said
    assert invoke("tokios.disconnect", inventory=trays.inventory).code == 0
