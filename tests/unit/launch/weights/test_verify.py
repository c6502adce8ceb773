"""Folders against their manifests: any single byte, by the very program that hosts run."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from inventory.errors import BringupError, ChangeFailed
from inventory.fleet import Fleet
from inventory.schema import Host
from launch.weights.hosts import Compared, compare_script, compared, held_by, read_compared, removed
from tests.unit.playbooks.sh import sh

FILES = {"config.json": b"{}", "model-1.safetensors": b"abc" * 1000, "sub/model-2.safetensors": b""}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "weights/org--m" / ("0" * 40)
    for name, data in FILES.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(data)
    files = [{"path": n, "size": len(d), "sha256": hashlib.sha256(d).hexdigest()} for n, d in FILES.items()]
    (path / ".bringup-manifest.json").write_text(json.dumps({"format_version": 1, "files": files}))
    (path / ".cache").mkdir()
    (path / ".cache/left").write_text("of a download tool")
    return path


def looked(folder: Path, *, digests: bool = True) -> Compared:
    done = sh(compare_script([str(folder)], digests=digests, state_dir=str(folder.parents[2])))
    assert done.returncode == 0, done.stderr
    return read_compared("h", done.stdout)[0]


def test_what_is_right_is_right_and_that_it_was_read_is_kept(folder: Path) -> None:
    assert looked(folder, digests=False) == Compared("h", str(folder), 3, 3002, 0, ())
    assert not (folder / ".bringup-digests").exists()
    assert looked(folder).wrong == ()
    assert (folder / ".bringup-digests").read_text().strip().isdecimal()


@pytest.mark.parametrize(
    ("name", "data", "by_size", "what"),
    [
        ("model-1.safetensors", b"abd" + b"abc" * 999, False, "sha256"),
        ("model-1.safetensors", b"abc" * 999, True, "2997 bytes, not 3000"),
        ("sub/model-2.safetensors", b"x", True, "1 bytes, not 0"),
        ("config.json", None, True, "cannot be read: No such file or directory"),
        ("model-3.safetensors", b"", True, "is in no manifest"),
    ],
)
def test_any_single_fault_is_found(folder: Path, name: str, data: bytes | None, *, by_size: bool, what: str) -> None:
    (folder / name).unlink(missing_ok=True)
    if data is not None:
        (folder / name).write_bytes(data)
    found = looked(folder)
    assert [path for path, _ in found.wrong] == [name]
    assert what in found.wrong[0][1]
    assert not (folder / ".bringup-digests").exists()
    assert bool(looked(folder, digests=False).wrong) == by_size


def test_a_manifest_that_cannot_be_read_is_wrong(folder: Path) -> None:
    (folder / ".bringup-manifest.json").write_text("{")
    assert looked(folder).wrong[0][0] == ".bringup-manifest.json"


def test_what_tells_nothing_is_no_answer() -> None:
    with pytest.raises(ChangeFailed, match="does not tell"):
        read_compared("h", "some noise\n{}\n")


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[Fleet]:
    with Fleet([Host(name="h", transport="local", state_dir=str(tmp_path))]) as fleet:
        yield fleet


def test_every_byte_is_read_by_a_job_that_this_run_only_follows(fleet: Fleet, folder: Path) -> None:
    said: list[str] = []
    found = compared(fleet, {"h": [str(folder)]}, digests=True, run="r1", says=said.append)
    assert found["h"] == (Compared("h", str(folder), 3, 3002, 0, ()),)
    assert "job verify-weights-r1 reads everything, also without this run" in said[0]
    held = held_by(fleet, ["h"])["h"]
    assert not isinstance(held, BringupError)
    assert held.holdings[0].digests_at is not None


def test_what_has_come_into_use_since_it_was_shown_stays(fleet: Fleet, folder: Path) -> None:
    held = held_by(fleet, ["h"])["h"]
    assert not isinstance(held, BringupError)
    generation = folder.parents[2] / "deployments/d/g"
    generation.mkdir(parents=True)
    (generation / "command.sh").write_text(f"vllm serve {folder}\n")
    assert removed(fleet, {"h": held.holdings}) == {"h": ()}
    assert folder.exists()
    (generation / "command.sh").unlink()
    assert removed(fleet, {"h": held.holdings}) == {"h": (str(folder),)}
    assert not folder.exists()
