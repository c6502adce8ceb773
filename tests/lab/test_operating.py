"""A deployment on two simulated trays after it serves: asked, broken, stopped, guarded, taken back. One lab for all.

Everything that is typed and everything that lies on the hosts is searched for the secrets that were planted.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from inventory.errors import BadInput
from inventory.lab import faults, lifecycle
from inventory.lab.state import Lab
from launch import lab as labs
from tests.lab.cli import Typed, invoke
from tests.lab.conftest import on

pytestmark = [pytest.mark.lab, pytest.mark.xdist_group("lab-operating"), pytest.mark.timeout(400)]

DEPLOY = ("deploy", "--model", "deepseek-v4-pro", "--hosts", "tray1,tray2")
FOLDER = "/var/lib/bringup/deployments/deepseek-v4-pro"
PLANTED = "sk-planted-0123456789abcdef"
STATUS_S = 30.0
Typing = Callable[..., Typed]


@pytest.fixture(scope="module")
def lab(machine_carries_labs: None) -> Iterator[Lab]:  # noqa: ARG001  (asked first)
    name = f"operate-{os.getpid()}"
    yield labs.up(2, "gb200", name=name)
    with suppress(BadInput):
        lifecycle.down(name)


@pytest.fixture(scope="module")
def said() -> list[str]:
    """All that was printed by any verb here."""
    return []


@pytest.fixture
def typed(lab: Lab, said: list[str]) -> object:
    def run(*words: str) -> Typed:
        done = invoke(*words, inventory=lab.inventory)
        said.append(f"{done.out}\n{done.said}")
        return done

    return run


def status(typed: Typing) -> Typed:
    began = time.monotonic()
    done = typed("status", "--json")
    assert time.monotonic() - began < STATUS_S
    return done


def test_a_deploy_tells_each_step_as_data_and_leaves_a_guard(lab: Lab, typed: Typing, tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text(PLANTED)
    words = ("--api-key", str(key), "--supervise", "--alert", "tee -a /tmp/alerts", "--json")
    done = typed(*DEPLOY, *words)
    assert done.code == 0, done
    documents = [json.loads(line) for line in done.out.splitlines()]
    assert (documents[0]["kind"], documents[-1]["kind"]) == ("plan", "serving")
    ready = {one["data"]["host"] for one in documents if one["kind"] == "event" and one["data"]["what"] == "ready"}
    assert ready == {"tray1", "tray2"}
    assert "listening" in on(lab, "tray2", f"cat {FOLDER}/current/guard.log").stdout


def test_status_proves_every_rank_and_says_what_happened(typed: Typing) -> None:
    seen = status(typed)
    assert seen.code == 0, seen
    assert [one["endpoint"]["ranks"] for one in seen.data["answers"]] == [4, 4]
    assert seen.data["history"][-1]["outcome"] == "serving"
    assert seen.data["hardware"]["told"]["tray1"].startswith("4 x SIMULATED")
    assert len(seen.data["load"]["tray1"]) == 5, "four engines and all together"


def test_a_guard_restarts_the_whole_group_and_captures_first(lab: Lab, typed: Typing) -> None:
    on(lab, "tray2", f"kill -9 $(cut -d' ' -f1 {FOLDER}/current/record)")
    until = time.monotonic() + 90
    while "supervise" not in on(lab, "tray1", f"cat {FOLDER}/history").stdout:
        assert time.monotonic() < until, on(lab, "tray1", f"cat {FOLDER}/current/guard.log").stdout
        time.sleep(1)
    assert status(typed).code == 0
    assert "restarted as a group" in on(lab, "tray1", "cat /tmp/alerts").stdout
    for host in ("tray1", "tray2"):
        assert "log" in on(lab, host, f"ls {FOLDER}/captures/*").stdout.split()


def test_a_process_that_is_missing_is_seen_though_completions_come(lab: Lab, typed: Typing) -> None:
    assert typed("stop").code == 0  # ends the guard, too
    assert "guard.py" not in on(lab, "tray1", "cat /proc/[0-9]*/cmdline | tr '\\0' ' '").stdout
    again = typed(*DEPLOY, "--set", "max-model-len=200000")
    assert again.code == 0, again
    on(lab, "tray1", "pkill -9 -x VLLM::DPCoordin; sleep 0.3")
    down = status(typed)
    assert down.code == 6
    assert down.data["states"]["tray1"] in {"partial", "dead"}, "the others end by themselves, a moment later"
    assert down.data["next_step"]["command"].startswith("invoke restart")


def test_back_to_the_generation_that_served_before(typed: Typing) -> None:
    back = typed("rollback")
    assert back.code == 0, back
    told = typed("history", "--json")
    assert (told.data[0]["verb"], told.data[0]["outcome"]) == ("rollback", "serving")
    assert "+ --max-model-len 1048576" in told.data[0]["changed"]
    refused = typed("rollback", "--to", "0123456789ab")
    assert (refused.code, "generation-unknown" in refused.said) == (2, True)


def test_a_start_that_fails_goes_back_by_itself_when_asked(lab: Lab, typed: Typing) -> None:
    text = lab.inventory.read_text()
    lab.inventory.write_text(text.replace("defaults:\n", "defaults:\n  env: {BRINGUP_STANDIN_FAIL: oom-at-load@5}\n"))
    failed = typed(*DEPLOY, "--rollback-on-failure")
    lab.inventory.write_text(text)
    assert failed.code == 6, failed
    assert "last lines of tray1" in failed.said, "the others' lines are shown, too"
    assert "serves again, as generation" in failed.said
    assert status(typed).code == 0


def test_a_frozen_host_is_unknown_in_time_and_logs_of_the_other_come(lab: Lab, typed: Typing) -> None:
    faults.freeze("tray2", lab=lab.name)
    try:
        seen = status(typed)
        assert seen.code in {3, 6}, seen
        assert seen.data["states"]["tray2"] == "no answer"
        stopped = typed("logs", "--lines", "3")
        assert stopped.code == 3
        assert "tray1 " in stopped.out
    finally:
        faults.thaw("tray2", lab=lab.name)


def test_no_secret_is_left_and_stop_proves_that_nothing_runs(lab: Lab, typed: Typing, said: list[str]) -> None:
    found = on(lab, "tray1", f"grep -rlF -e {PLANTED} /var/lib/bringup /tmp /run /etc 2>/dev/null").stdout.split()
    assert {path.rpartition("/")[2] for path in found} == {"api-key"}
    assert all(on(lab, "tray1", f"stat -c %a {path}").stdout.strip() == "600" for path in found)
    key = on(lab, "tray1", f"for file in {FOLDER}/*/guard.key; do cat $file; echo; done").stdout.split()[0]
    holding = on(lab, "tray1", f"grep -rlF -e {key} /var/lib/bringup /tmp /run 2>/dev/null").stdout.split()
    assert {path.rpartition("/")[2] for path in holding} == {"guard.key"}
    words = on(lab, "tray1", "cat /proc/[0-9]*/cmdline | tr '\\0' ' '").stdout
    assert PLANTED not in words
    stopped = typed("stop")
    assert stopped.code == 0, stopped
    assert not [text for text in said if PLANTED in text or key in text]
