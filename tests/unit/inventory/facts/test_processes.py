from __future__ import annotations

from pathlib import Path
from subprocess import run

from inventory.facts.base import Unknown
from inventory.facts.gather import piece
from inventory.facts.host import Process
from inventory.facts.processes import parse_processes, read_processes
from tests.answered import answers

PS = """\
      1       0 root                             Fri Sep  5 09:00:00 2025 /sbin/init
  21913       1 svc                              Fri Sep  5 10:00:00 2025 bash
  21990   21913 svc                              Fri Sep  5 10:01:11 2025 VLLM::EngineCore
  22011   21990 svc                              Fri Sep  5 10:01:12 2025 VLLM::Worker_TP0
  30000       1 ops                              Fri Sep  5 10:02:00 2025 /envs/x/bin/vllm serve M
  40000       1 ops                              Fri Sep  5 10:02:00 2025 sleep 9
  40001   40000 ops                              Fri Sep  5 10:02:00 2025 train.py
"""


def test_lines_of_ps() -> None:
    found = parse_processes(PS)
    assert found[3] == Process(22011, 21990, "svc", "Fri Sep 5 10:01:12 2025", "VLLM::Worker_TP0")
    assert len(found) == 7


def test_a_start_time_of_one_word() -> None:
    text = "PID PPID USER LSTART CMD\n21990 21913 svc Fri_Sep_5_10:01:11 VLLM::EngineCore\n"
    assert parse_processes(text) == (Process(21990, 21913, "svc", "Fri_Sep_5_10:01:11", "VLLM::EngineCore"),)


def test_long_commands_are_cut() -> None:
    assert len(parse_processes(f"1 0 root x {'y' * 500}\n")[0].command) == 160


def test_silence() -> None:
    assert isinstance(read_processes(answers({})), Unknown)
    assert isinstance(read_processes(answers({"nvidia.owners": (1, "ps: unrecognized option: lstart")})), Unknown)
    assert read_processes(answers({"nvidia.owners": ""})) == ()


def test_the_script_keeps_owners_of_gpus_those_of_vllm_and_their_ancestors(tmp_path: Path) -> None:
    (tmp_path / "ps").write_text(f"#!/bin/sh\ncat <<'EOF'\n{PS}EOF\n")
    (tmp_path / "ps").chmod(0o755)
    (tmp_path / "pids").write_text("40001\n")
    script = f"{piece('gpu/driver')}\nPATH={tmp_path}:$PATH\ngpu_owners pids\n"
    done = run(["/bin/sh", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    found = {one.pid for one in parse_processes(done.stdout)}
    assert found == {21913, 21990, 22011, 30000, 40000, 40001}
