"""deepseek-v4-pro on two simulated GB200 trays with the stand-in engine, typed as an operator would.

Every way to fail ends in its documented exit code, says observed, required and next, and leaves the hosts as they were.
"""

from __future__ import annotations

import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from inventory.errors import BadInput
from inventory.lab import faults, lifecycle
from inventory.lab.state import Lab
from launch import lab as labs
from tests.lab.cli import Typed, invoke, typing, wait_for_line
from tests.lab.conftest import on

pytestmark = [pytest.mark.lab, pytest.mark.xdist_group("lab-deploy"), pytest.mark.timeout(300)]

DEPLOY = ("deploy", "--model", "deepseek-v4-pro", "--hosts", "tray1,tray2")
RECORD = "/var/lib/bringup/deployments/deepseek-v4-pro/current/record"
MakeTrays = Callable[..., Lab]


@pytest.fixture
def make_trays(machine_carries_labs: None, request: pytest.FixtureRequest) -> Iterator[MakeTrays]:  # noqa: ARG001
    made: list[str] = []

    def make(profile: str = "gb200", **options: Any) -> Lab:  # noqa: ANN401  (those of `up`)
        name = f"deploy-{abs(hash(request.node.name)) % 10**8}-{len(made)}"
        made.append(name)
        return labs.up(2, profile, name=name, **options)

    yield make
    for name in made:
        with suppress(BadInput):  # it never came up
            lifecycle.down(name)


def deploy(lab: Lab, *words: str) -> Typed:
    return invoke(*DEPLOY, *words, inventory=lab.inventory)


def untouched(lab: Lab) -> bool:
    """No host has a deployment, a job or a lock."""
    listed = [on(lab, host.name, "ls /var/lib/bringup").stdout.split() for host in lab.hosts]
    return not any({"deployments", "jobs", "lock"} & set(names) for names in listed)


def is_refusal(typed: Typed, code: int, *words: str) -> None:
    assert typed.code == code, typed
    for word in ("observed:", "required:", "next:", *words):
        assert word in typed.said, typed


def set_variable(lab: Lab, name: str, value: str) -> None:
    """Give every host's ranks one more environment variable, by the inventory."""
    text = lab.inventory.read_text().replace("defaults:\n", f"defaults:\n  env: {{{name}: {value}}}\n")
    lab.inventory.write_text(text)


def test_two_trays_from_nothing_to_served_and_back(make_trays: MakeTrays) -> None:
    lab = make_trays()
    pending = deploy(lab, "--dry-run")
    assert pending.code == 8, pending
    assert untouched(lab), "a dry run writes nothing"

    first = deploy(lab)
    assert first.code == 0, first
    assert "SIMULATED" in first.said
    starts = [
        on(lab, host, "tr '\\0' ' ' </proc/$(cut -d' ' -f1 " + RECORD + ")/cmdline").stdout
        for host in ("tray1", "tray2")
    ]
    for words, rank in zip(starts, ("0", "4"), strict=True):
        assert "--data-parallel-size 8 --data-parallel-size-local 4" in words
        assert f"--data-parallel-start-rank {rank} " in words

    again = deploy(lab, "--dry-run", "--json")
    assert again.code == 0, again
    assert again.data["changes"] == []

    healthy = invoke("status", "--json", inventory=lab.inventory)
    assert healthy.code == 0, healthy
    assert healthy.data["verdict"]["health"] == "healthy"

    on(lab, "tray2", f"kill -9 $(cut -d' ' -f1 {RECORD})")
    down = invoke("status", inventory=lab.inventory)
    assert down.code == 6, down
    assert "tray2 partial" in down.said

    stopped = invoke("stop", inventory=lab.inventory)
    assert stopped.code == 0, stopped
    for host in ("tray1", "tray2"):
        assert "standin" not in on(lab, host, "cat /proc/[0-9]*/cmdline | tr '\\0' ' '").stdout
    assert deploy(lab).code == 0, "and again"
    logs = invoke("logs", "--lines", "3", inventory=lab.inventory)
    assert {line.split()[0] for line in logs.out.splitlines()} == {"tray1", "tray2"}


def test_systemd_hosts_run_units_and_a_reboot_is_seen(make_trays: MakeTrays) -> None:
    if not Path("/lib/systemd/systemd").exists():
        pytest.skip("no systemd is installed on this machine")
    lab = make_trays(systemd=True)
    first = deploy(lab)
    assert first.code == 0, first
    unit = on(lab, "tray2", "systemctl show bringup-deepseek-v4-pro -p ActiveState,LimitMEMLOCK,Restart").stdout
    assert set(unit.split()) == {"ActiveState=active", "LimitMEMLOCK=infinity", "Restart=no"}
    verified = on(lab, "tray2", "systemd-analyze verify /etc/systemd/system/bringup-deepseek-v4-pro.service")
    assert verified.stderr == "", "it exits 0 on keys that it does not know"

    faults.power_off("tray2", lab=lab.name)
    faults.power_on("tray2", lab=lab.name)
    down = invoke("status", "--json", inventory=lab.inventory)
    assert down.code == 6, down
    assert down.data["states"] == {"tray1": "running", "tray2": "dead"}
    assert deploy(lab).code == 0, "the group is started again as a whole"
    stopped = invoke("stop", inventory=lab.inventory)
    assert stopped.code == 0, stopped
    assert "inactive" in on(lab, "tray1", "systemctl is-active bringup-deepseek-v4-pro").stdout


def test_a_deploy_that_is_interrupted_says_what_goes_on_and_can_be_typed_again(make_trays: MakeTrays) -> None:
    lab = make_trays()
    set_variable(lab, "BRINGUP_STANDIN_FAIL", "never-joins@4")
    with typing(*DEPLOY, inventory=lab.inventory) as process:
        wait_for_line(process, "start the ranks of deepseek-v4-pro: done")
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=120)
    assert process.returncode == 130, said
    assert "type the same command again" in said
    assert invoke("stop", inventory=lab.inventory).code == 0, "the lock was given back"


def test_ctrl_c_while_the_hosts_change_leaves_no_lock(make_trays: MakeTrays) -> None:
    lab = make_trays()
    with typing(*DEPLOY, inventory=lab.inventory) as process:
        wait_for_line(process, "==> Apply")
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=120)
    assert process.returncode == 130
    for host in ("tray1", "tray2"):
        assert "lock" not in on(lab, host, "ls /var/lib/bringup").stdout.split()
    assert deploy(lab).code == 0


def test_fewer_hosts_need_a_stop_and_leave_nothing_behind(make_trays: MakeTrays) -> None:
    lab = make_trays()
    alone = (
        "deploy",
        "--model",
        "deepseek-v4-pro",
        "--hosts",
        "tray1",
        "--override",
        "plan.vram_fit",
        "--because",
        "x",
    )
    assert deploy(lab).code == 0
    is_refusal(invoke(*alone, inventory=lab.inventory), 4, "hosts-left-behind", "tray2")
    assert invoke("stop", inventory=lab.inventory).code == 0
    assert invoke(*alone, inventory=lab.inventory).code == 0
    assert (
        "overriding plan.vram_fit because 'x': done" in on(lab, "tray1", "tail -n 1 /var/lib/bringup/audit.log").stdout
    )
    assert on(lab, "tray2", "nvidia-smi --query-compute-apps=pid --format=csv,noheader").stdout == ""


def test_ranks_that_were_started_from_an_edited_command_are_started_again(make_trays: MakeTrays) -> None:
    lab = make_trays()
    assert deploy(lab).code == 0
    command = RECORD.replace("record", "command.sh")
    on(lab, "tray2", f"sed -i 's/--max-model-len 1048576/--max-model-len 4096/' {command}")
    assert invoke("restart", inventory=lab.inventory).code == 0
    planned = deploy(lab, "--dry-run", "--json")
    assert planned.code == 8, planned
    assert {(one["host"], one["action"]) for one in planned.data["changes"]} >= {("tray1", "stop"), ("tray2", "stop")}
    assert deploy(lab).code == 0
    words = on(lab, "tray2", "tr '\\0' ' ' </proc/$(cut -d' ' -f1 " + RECORD + ")/cmdline").stdout
    assert "--max-model-len 1048576 " in words
    assert deploy(lab, "--dry-run").code == 0


def test_ranks_that_cannot_be_started_on_one_host_are_stopped_on_the_others(make_trays: MakeTrays) -> None:
    lab = make_trays()
    on(lab, "tray2", "mkdir -p /var/lib/bringup/deployments/deepseek-v4-pro/current/in-the-way")
    failed = deploy(lab)
    is_refusal(failed, 5, "tray2")
    assert "tray1: stopped" in failed.said
    assert on(lab, "tray1", "nvidia-smi --query-compute-apps=pid --format=csv,noheader").stdout == ""


def test_a_host_that_loses_its_power_is_named_and_the_others_are_stopped(make_trays: MakeTrays) -> None:
    lab = make_trays()
    set_variable(lab, "BRINGUP_STANDIN_SPEED", "'0.02'")
    with typing(*DEPLOY, inventory=lab.inventory) as process:
        wait_for_line(process, "==> Watch")
        faults.power_off("tray2", lab=lab.name)
        _, said = process.communicate(timeout=120)
    assert process.returncode == 3, said
    for words in ("tray1: stopped", "invoke stop --hosts tray2 --name"):
        assert words in said, said
    # It depends on the moment whether a login was open, the next one found nobody, or the neighbours had noticed.
    moments = ("the connection was lost", "no answer to the login", "there is no way to the address")
    assert any(f"tray2: {one}" in said for one in moments), said


def test_a_follower_that_never_joins_stops_the_group_and_is_named(make_trays: MakeTrays) -> None:
    lab = make_trays()
    set_variable(lab, "BRINGUP_STANDIN_FAIL", "never-joins@4")
    late = deploy(lab, "--timeout", "8")
    is_refusal(late, 6, "tray2")
    assert invoke("status", "--json", inventory=lab.inventory).data["states"] == {
        "tray1": "stopped",
        "tray2": "stopped",
    }


def test_a_rank_that_fails_stops_the_group_and_shows_its_own_words(make_trays: MakeTrays) -> None:
    lab = make_trays()
    set_variable(lab, "BRINGUP_STANDIN_FAIL", "oom-at-load@5")
    failed = deploy(lab)
    is_refusal(failed, 6, "tray2", "out of memory")
    assert "tray1: stopped" in failed.said


def test_a_flag_that_the_pinned_version_refuses_never_reaches_a_host(make_trays: MakeTrays, tmp_path: Path) -> None:
    lab = make_trays()
    ours = Path(labs.__file__).parent / "recipes"
    shutil.copytree(ours, tmp_path / "recipes")
    recipe = tmp_path / "recipes/models/deepseek-ai/DeepSeek-V4-Pro.yaml"
    recipe.write_text(recipe.read_text().replace("- deep_gemm_mega_moe", "- deep_gemm_megamoe"))
    refused = deploy(lab, "--recipes", str(tmp_path / "recipes"))
    is_refusal(refused, 4, "plan.flags_parse", "deep_gemm_mega_moe")
    assert untouched(lab)


def test_a_full_disk_is_refused(make_trays: MakeTrays) -> None:
    lab = make_trays(disk="64M")
    is_refusal(deploy(lab), 4, "sto.space")
    assert untouched(lab)


def test_a_wrong_host_key_is_refused(make_trays: MakeTrays) -> None:
    lab = make_trays()
    records = lab.folder / "known_hosts"
    lines = records.read_text().splitlines()
    keys = [line.split(" ", 1)[1] for line in lines]
    names = [line.split(" ", 1)[0] for line in lines]
    records.write_text("".join(f"{name} {key}\n" for name, key in zip(names, reversed(keys), strict=True)))
    is_refusal(deploy(lab), 3, "host-key-changed", "SHA256:", "invoke hosts.trust")


def test_an_unreachable_host_is_named_and_the_other_left_alone(make_trays: MakeTrays) -> None:
    lab = make_trays()
    faults.power_off("tray2", lab=lab.name)
    is_refusal(deploy(lab), 3, "tray2")
    listed = on(lab, "tray1", "ls /var/lib/bringup").stdout.split()
    assert not {"deployments", "jobs", "lock"} & set(listed)


def test_three_cores_for_four_gpus_are_refused(make_trays: MakeTrays) -> None:
    lab = make_trays("few-cores")
    is_refusal(deploy(lab), 4, "cpu.physical_cores", "3")
    assert untouched(lab)


def test_what_cannot_be_meant_is_refused_before_any_login(tmp_path: Path) -> None:
    wrong = tmp_path / "hosts.yaml"
    wrong.write_text("hosts:\n  tray1: {adress: 192.0.2.1}\n")
    for words, code, said in (
        ((*DEPLOY[:3], "--hosts", ""), 2, "--hosts is missing"),
        ((*DEPLOY, "--port", "abc"), 2, "--port cannot be used"),
        (("deploy", "--model", "deepsek-v4-pro", "--hosts", "tray1"), 2, "deepseek-v4-pro"),
        ((*DEPLOY[:3], "--hosts", "-oProxyCommand=x"), 2, "required:"),
        ((*DEPLOY[:3], "--hosts", "tray1", "--inventory", str(wrong)), 2, f"{wrong}:2:11"),
        (("deploy", "--modle", "x"), 1, "--modle"),
    ):
        typed = invoke(*words)
        assert typed.code == code, typed
        assert said in typed.said, typed
