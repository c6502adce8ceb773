"""What is decided here without a host: manifests, the ring, what hosts are told and what they say."""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import subprocess
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from inventory.errors import BadInput, HostUnreachable
from launch.spread import scripts
from launch.spread.outcome import REASONS, outcome_of, refusal, unanswered
from launch.spread.parcel import Parcel, parcel_of
from launch.spread.program import program
from launch.spread.ring import ring_of
from launch.spread.scripts import Post
from launch.spread.told import BadPiece, Told, read_told

GOOD = {"path": "a/b.bin", "size": 3, "sha256": "0" * 64}
POST = Post("tray1", "/var/lib/it's bringup", "/srv/the model", "10.0.0.1", "0123456789abcdef" * 4)
ROOT = Path(__file__).parents[4]


def manifest(*files: Any, **more: Any) -> str:  # noqa: ANN401  (whatever a file may hold)
    return json.dumps({"files": list(files), **more})


def test_a_manifest_is_read() -> None:
    parcel = parcel_of(manifest(GOOD, {**GOOD, "path": "c"}, repo="org/model"))
    assert [one.path for one in parcel.files] == ["a/b.bin", "c"]
    assert parcel.size == 6
    assert parcel.manifest_name == ".bringup-manifest.json"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        manifest(),
        manifest("a"),
        manifest({"path": "a", "size": 1}),
        *(manifest({**GOOD, "path": path}) for path in ("", ".", "..", "/a", "../a", "a/../b")),
        *(manifest({**GOOD, "path": path}) for path in ("a//b", "./a", "a\n", "a/")),
        manifest({**GOOD, "path": ".bringup-manifest.json"}),
        manifest(GOOD, GOOD),
        *(manifest({**GOOD, "size": size}) for size in (-1, None, "3", 1.5, True)),
        *(manifest({**GOOD, "sha256": text}) for text in (None, "", "0" * 63, "G" * 64, "A" * 64)),
    ],
)
def test_a_manifest_that_cannot_be_used_is_refused(text: str) -> None:
    with pytest.raises(BadInput) as told:
        parcel_of(text)
    assert told.value.id == "spread-manifest"


def test_a_parcel_is_named_by_all_that_is_in_it() -> None:
    one = parcel_of(manifest(GOOD))
    others = [
        parcel_of(manifest({**GOOD, "size": 4})),
        parcel_of(manifest(GOOD, more=1)),
        replace(one, manifest_name="other.json"),
    ]
    assert len({one.digest, *(each.digest for each in others)}) == 4
    assert Parcel(one.files[::-1], one.manifest).digest == one.digest


def test_the_program_is_the_same_each_time_and_holds_nothing_else() -> None:
    names = zipfile.ZipFile(io.BytesIO(program())).namelist()
    assert "__main__.py" in names
    assert "launch/spread/host/main.py" in names
    assert not [name for name in names if not name.startswith(("__main__", "launch/__init__", "launch/spread/"))]
    assert hashlib.sha256(program.__wrapped__()).digest() == hashlib.sha256(program()).digest()


def test_the_program_needs_nothing_but_pythons_own() -> None:
    for path in (ROOT / "launch/spread/host").glob("*.py"):
        for line in path.read_text().splitlines():
            words = line.split()
            if words[:1] in (["import"], ["from"]):
                assert words[1].startswith("launch.spread.host") or words[1].split(".")[0] in _STANDARD, line


_STANDARD = {
    *("__future__", "collections", "contextlib", "hashlib", "hmac", "json", "os", "pathlib", "queue", "signal"),
    *("socket", "stat", "struct", "sys", "threading", "time", "typing"),
}


@pytest.mark.parametrize(
    ("sources", "targets", "ring"),
    [
        ("a", "bcd", "abcd"),
        ("ab", "cdef", "acdbef"),
        ("ab", "cde", "acdbe"),
        ("ab", "abc", "acb"),
        ("abc", "d", "adbc"),
        ("ab", "", "ab"),
    ],
)
def test_targets_stand_behind_the_sources_in_equal_shares(sources: str, targets: str, ring: str) -> None:
    assert "".join(ring_of(tuple(sources), tuple(targets))) == ring


SCRIPTS = {
    "begin": scripts.begin_script(POST, {"me": "it's"}, "secret", "spread-1", '{"phase": "spread"}'),
    "ring": scripts.ring_script(POST, [("it's", "10.0.0.1", 1)]),
    "look": scripts.look_script(POST),
    "end": scripts.end_script(POST, forget=True),
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_shellcheck_finds_nothing(name: str) -> None:
    program_ = shutil.which("shellcheck")
    if not program_:
        pytest.skip("shellcheck is not installed")
    argv = [program_, "--shell=sh", "--exclude=SC2016,SC2034,SC2317,SC2329", "-"]
    done = subprocess.run(argv, input=SCRIPTS[name], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("name", SCRIPTS)
def test_every_script_is_one_that_a_shell_reads(name: str) -> None:
    done = subprocess.run(["sh", "-n"], input=SCRIPTS[name], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


TOLD = {
    "port": 40001,
    "bytes": 7,
    "files": 1,
    "sealed": False,
    "received": {"b": 7},
    "sent": {},
    "bad": [{"peer": "b", "path": "f", "piece": 3}],
    "trouble": {},
    "kept": 0,
    "cpu_s": 0.5,
    "bad_here": ["g"],
    "failed": None,
}


def test_what_a_host_says_is_read() -> None:
    told = read_told(json.dumps(TOLD) + "\n")
    assert told.alive
    assert (told.port, told.verified, told.received, told.bad) == (40001, 7, {"b": 7}, (BadPiece("b", "f", 3),))
    gone = read_told(json.dumps({**TOLD, "failed": {"id": "spread-space", "observed": "full"}}) + "\ngone\n")
    assert not gone.alive
    assert gone.failed == ("spread-space", "full")


@pytest.mark.parametrize("answer", ["", "motd\n", "{", "{}", json.dumps({**TOLD, "received": 3}), "[1]"])
def test_what_is_no_answer_says_nothing(answer: str) -> None:
    assert read_told(answer) == Told()


def test_reasons_have_names_whatever_a_host_says() -> None:
    assert {refusal(name, "", "a", "/f").id for name in REASONS} == REASONS.keys()
    assert refusal("rm -rf", "", "a", "/f").id == "spread-program"
    assert "'/f x'" in refusal("spread-space", "", "a", "/f x").next_command


@pytest.mark.parametrize("name", [*REASONS, "spread-unreachable", "spread-manifest"])
def test_every_reason_has_a_runbook(name: str) -> None:
    assert (ROOT / f"docs/runbooks/{name}.md").exists()


def test_only_a_sealed_folder_without_an_error_is_verified() -> None:
    sealed = Told(sealed=True)
    error = unanswered("a", HostUnreachable("gone", id="connection-lost", observed="no answer"), sealed)
    assert outcome_of("a", sealed, 1.0).verified
    assert not outcome_of("a", sealed, 1.0, error).verified
    assert not outcome_of("a", Told(), 1.0).verified
    assert "no answer" in error.observed
