from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from inventory.errors import CheckFailed, Several
from inventory.lab import prerequisites


def test_without_root_it_says_how_to_be_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(prerequisites, "PACKAGES", {"sh": "dash"})
    with pytest.raises(CheckFailed, match="takes root") as refused:
        prerequisites.check()
    assert refused.value.observed == "user id 1000"
    assert refused.value.next_command.startswith("sudo ")


def test_missing_programs_are_one_command_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(prerequisites, "PACKAGES", {"sh": "dash", "no-such-a": "one", "no-such-b": "two"})
    with pytest.raises(CheckFailed, match="programs") as refused:
        prerequisites.check()
    assert refused.value.observed == "not found: no-such-a, no-such-b"
    assert refused.value.next_command == "apt-get install -y one two"


def test_everything_that_is_missing_is_said_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(prerequisites, "PACKAGES", {"no-such-a": "one"})
    with pytest.raises(Several) as refused:
        prerequisites.check()
    assert len(refused.value.errors) == 2


def unshare_that(monkeypatch: pytest.MonkeyPatch, folder: Path, script: str) -> None:
    (folder / "unshare").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "unshare").chmod(0o755)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(prerequisites, "PACKAGES", {})
    monkeypatch.setattr(prerequisites, "CLEAN_ENVIRONMENT", {"PATH": f"{folder}:/usr/bin:/bin"})


def test_a_kernel_that_refuses_is_quoted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    unshare_that(monkeypatch, tmp_path, "echo 'unshare: unshare failed: Operation not permitted' >&2; exit 1")
    with pytest.raises(CheckFailed, match="does not let a lab be made") as refused:
        prerequisites.check()
    assert refused.value.observed == "unshare: unshare failed: Operation not permitted"
    assert "privileged" in refused.value.required


def test_a_kernel_that_refuses_without_words(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    unshare_that(monkeypatch, tmp_path, "exit 7")
    with pytest.raises(CheckFailed) as refused:
        prerequisites.check()
    assert refused.value.observed == "the trial ended with 7"


@pytest.mark.parametrize(
    ("version", "options"),
    [
        ("OpenSSH_9.2p1 Debian-2+deb12u3", ""),
        ("OpenSSH_8.9p1", ""),
        ("OpenSSH_9.8p1", "PerSourcePenalties no\n"),
        ("OpenSSH_10.0p2 Debian-7", "PerSourcePenalties no\n"),
        ("something else", ""),
    ],
)
def test_sshd_is_told_only_what_it_knows(monkeypatch: pytest.MonkeyPatch, version: str, options: str) -> None:
    said = subprocess.CompletedProcess([], 1, stdout="", stderr=f"unknown option -- V\n{version}, OpenSSL 3.0\n")
    monkeypatch.setattr(subprocess, "run", lambda *_args, **_options: said)
    assert prerequisites.sshd_options() == options
