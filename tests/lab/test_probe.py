"""`invoke probe` as an operator types it, on lab hosts over SSH."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from inventory.lab import faults, lifecycle
from inventory.lab.lifecycle import Equipment
from inventory.lab.state import Lab
from tests.lab.cli import Typed, invoke
from tests.lab.conftest import MakeLab, on

pytestmark = pytest.mark.lab


def probe(lab: Lab, *words: str) -> Typed:
    return invoke("probe", *words, inventory=lab.inventory)


@pytest.fixture(scope="module")
def trays(make_lab: MakeLab) -> Lab:
    return make_lab(2, "gb200")


def test_one_line_a_host(trays: Lab) -> None:
    done = probe(trays)
    assert done.code == 0, done
    head, *rows = done.out.splitlines()
    assert head.split()[:3] == ["host", "gpus", "driver"]
    assert [row.split()[0] for row in rows] == ["tray1", "tray2"]
    for row in rows:
        for cell in ("4x GB200 185 GiB", "144/6", "957 GiB", "4x 400G IB", "simulated"):
            assert cell in row, row
        assert len(row) < 180


def test_the_tree_shows_what_lies_where(trays: Lab) -> None:
    done = probe(trays, "--hosts", "tray2", "--host-detail")
    assert done.code == 0, done
    nodes = done.out.split("NUMA node ")
    assert nodes[0].startswith("tray2 (simulated)\n")
    assert ["GPU" in node for node in nodes[1:3]] == [True, True]
    assert "NIC mlx5_3" in nodes[2]


@pytest.mark.parametrize(
    ("profile", "cells"),
    [
        ("gb300", ("4x GB300 278 GiB", "2+4", "144/6", "4x 800G IB")),
        ("l40s", ("4x L40S 45 GiB", " 4 ", "64/6", "1x 25G RoCE")),
        ("h200", ("8x H200 140 GiB", " 2 ", "112/10", "8x 400G IB")),
        ("mi355x", ("8x MI355X 288 GiB", " 2 ", "128/10", "8x 400G RoCE")),
        ("mi300x-cpx", ("64x MI300X 24 GiB", " 2 ", "192/66")),
        ("dgx-spark", ("1x GB10 ", " 1 ", "20/3", "2x 200G RoCE (NODE)")),
    ],
)
def test_other_hardware(make_lab: MakeLab, profile: str, cells: tuple[str, ...]) -> None:
    lab = make_lab(1, profile)
    row = probe(lab).out.splitlines()[1]
    assert [cell for cell in cells if cell not in row] == [], row
    lifecycle.down(lab.name)


def test_saved_replayed_and_compared(trays: Lab, tmp_path: Path) -> None:
    bundle = tmp_path / "before"
    shown = probe(trays, "--save", str(bundle))
    assert shown.code == 0, shown
    assert invoke("probe", "--replay", str(bundle)).out == shown.out
    assert probe(trays, "--diff", str(bundle)).out == ""
    checked = invoke("check", "--model", "deepseek-v4-pro", "--replay", str(bundle), "--json")
    assert checked.code == 0, checked
    faults.power_off("tray2", lab=trays.name)
    faults.power_on("tray2", lab=trays.name)
    on(trays, "tray2", "ip link set fab0 down")
    told = probe(trays, "--diff", str(bundle))
    assert told.code == 0, told
    lines = told.out.splitlines()
    assert lines[0] == "tray2: interface fab0 up -> down"
    assert "tray2: was rebooted (another boot id)" in lines
    assert not any(line.startswith("tray1") for line in lines)
    on(trays, "tray2", "ip link set fab0 up")


def test_nothing_that_names_the_machine_is_kept(trays: Lab, tmp_path: Path) -> None:
    probe(trays, "--hosts", "tray1", "--save", str(tmp_path / "b"))
    macs = on(trays, "tray1", "cat /sys/class/net/*/address").stdout.split()
    told = on(trays, "tray1", "nvidia-smi -q -x; cat /proc/sys/kernel/random/boot_id").stdout
    uuids = [part.partition("<")[0] for part in told.split("<uuid>")[1:]] + [told.splitlines()[-1]]
    serials = [part.partition("<")[0] for part in told.split("<serial>")[1:]]
    assert len(uuids) == 5
    assert len(serials) == 4
    text = "".join(path.read_text(errors="replace") for path in (tmp_path / "b").rglob("*") if path.is_file())
    secret = [one for one in (*macs, *uuids, *serials) if one != "00:00:00:00:00:00"]
    assert [one for one in secret if one in text] == []


def test_a_host_without_power_is_a_row_and_exits_3(make_lab: MakeLab, tmp_path: Path) -> None:
    lab = make_lab(2, "cpu")
    faults.power_off("tray1", lab=lab.name)
    done = probe(lab, "--save", str(tmp_path / "b"))
    assert done.code == 3, done
    assert [line.split()[0] for line in done.out.splitlines()] == ["host", "tray1", "tray2"]
    assert "no answer" in done.out.splitlines()[1]
    document = probe(lab, "--json")
    assert document.code == 3
    assert list(document.data["hosts"]) == ["tray2"]
    assert document.data["errors"]["tray1"]["id"] in {"timeout", "no-route", "refused"}
    again = invoke("probe", "--replay", str(tmp_path / "b"))
    assert (again.code, again.out) == (3, done.out)
    lifecycle.down(lab.name)


def test_the_environment_of_the_ranks_is_asked(make_lab: MakeLab, tmp_path: Path) -> None:
    """A bare Python stands in for the environment: where it is asked counts, not what it knows."""
    environment = tmp_path / "0123456789abcdef"
    (environment / "bin").mkdir(parents=True)
    python = shutil.which("python3", path="/usr/bin")
    assert python
    (environment / "bin/python").symlink_to(python)
    marker = {"format_version": 1, "digest": environment.name, "vllm": "0.32.0", "simulated": False}
    (environment / "bringup-env.json").write_text(json.dumps(marker))
    lab = make_lab(1, "cpu", equipment=Equipment(extra_environments={environment.name: environment}))
    second = probe(lab, "--json").data["hosts"]["tray1"]["second_opinion"]
    assert second["python"] == f"/var/lib/bringup/envs/{environment.name}/bin/python"
    lifecycle.down(lab.name)


def test_a_name_that_is_not_there() -> None:
    done = invoke("probe", "--replay", "tests/fixtures/hosts", "--hosts", "gb200-tray,tray99")
    assert (done.code, done.out) == (2, "")
    assert "tray99 is not in the bundle" in done.said
