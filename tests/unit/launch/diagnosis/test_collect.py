"""What hosts send is not trusted: archives are read within bounds, clocks are compared, secrets do not come out."""

from __future__ import annotations

import io
import subprocess
import tarfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inventory.errors import BadInput
from inventory.fleet import Fleet
from inventory.schema import Host
from launch.building.generation import Generation, Member
from launch.diagnosis import collect
from launch.diagnosis.collect import collect_script, unpacked
from launch.diagnosis.environs import differences


def archive(*members: tuple[str, bytes, bytes]) -> bytes:
    """Of names, types of tar, and contents."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for name, kind, data in members:
            entry = tarfile.TarInfo(name)
            entry.type, entry.size = kind, len(data)
            entry.linkname = "/etc/passwd" if kind in {tarfile.SYMTYPE, tarfile.LNKTYPE} else ""
            tar.addfile(entry, io.BytesIO(data))
    return packed.getvalue()


def test_only_plain_files_with_plain_names_are_taken() -> None:
    data = archive(
        ("./log", tarfile.REGTYPE, b"x"),
        ("../../etc/cron.d/evil", tarfile.REGTYPE, b"x"),
        ("/root/.bashrc", tarfile.REGTYPE, b"x"),
        ("link", tarfile.SYMTYPE, b""),
        ("hard", tarfile.LNKTYPE, b""),
        (".hidden", tarfile.REGTYPE, b"x"),
        ("a/b", tarfile.REGTYPE, b"x"),
    )
    assert dict(unpacked(data)) == {"log": b"x"}


@given(st.binary(max_size=400))
def test_any_bytes_are_an_answer(data: bytes) -> None:
    assert isinstance(dict(unpacked(data)), dict)


def test_an_archive_that_is_cut_gives_what_came(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = archive(*((f"f{at}", tarfile.REGTYPE, bytes(range(256)) * 40) for at in range(20)))
    assert 0 < len(dict(unpacked(whole[: len(whole) // 2]))) < 20
    monkeypatch.setattr(collect, "MOST_FILES", 4)
    assert len(dict(unpacked(whole))) == 5


def test_the_environment_tells_what_differs() -> None:
    told = {"a": {"X": "1", "Y": "2", "VLLM_HOST_IP": "10.0.0.1"}, "b": {"X": "1", "VLLM_HOST_IP": "10.0.0.2"}}
    assert list(differences(told)) == [
        "VLLM_HOST_IP (each its own): a=10.0.0.1, b=10.0.0.2",
        "Y: a=2, b has none",
    ]


def test_the_script_collects_and_hides_the_key(tmp_path: Path) -> None:
    """Run as on a host, on a deployment that is not there any more but for its folder."""
    key = "sesame-opens-0123456789"
    folder = tmp_path / "deployments/demo/1"
    folder.mkdir(parents=True)
    (folder.parent / "current").symlink_to("1")
    (folder / "log").write_text(f"(APIServer pid=1) INFO 11-29 12:00:00 [a.py:1] key {key} and {key}\nlast line\n")
    (folder / "api-key").write_text(key)
    (folder / "generation.json").write_text("{}")
    script = collect_script("demo", state_dir=str(tmp_path), python="/usr/bin/python3", ports=["1"], deep=False)
    done = subprocess.run(["/bin/sh", "-c", script], capture_output=True, check=True, timeout=60)
    files = dict(unpacked(done.stdout))
    assert files["log"].decode().splitlines() == [
        "(APIServer pid=1) INFO 11-29 12:00:00 [a.py:1] key *** and ***",
        "last line",
    ]
    assert files["state.txt"] == b"1 stopped\n"
    assert b"refused" in files["probe.txt"]
    assert {"clock.txt", "ps.txt", "load.txt"} <= files.keys()
    assert not [name for name, data in files.items() if key.encode() in data]


@pytest.mark.parametrize("name", ["$(touch /tmp/x)", "a; reboot", "a'b", 'a"b'])
def test_no_name_is_run(name: str, tmp_path: Path) -> None:
    script = collect_script(name, state_dir=str(tmp_path), python=name, ports=[name], deep=False)
    assert subprocess.run(["/bin/sh", "-n", "-c", script], capture_output=True, check=False).returncode == 0


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    """The answer of a host has no place where its name is taken: as on a full disk, the write fails."""
    host = Host(name="environment.txt", transport="local", state_dir=f"{tmp_path}/state")
    member = Member(host.name, "", 0, 1, "/usr/bin/python3", "process group")
    gang = Generation("demo", "0123456789ab", "r", "v", "s", "0.33.0", "demo", "none", "Hi.", 4, (), (member,))
    with Fleet([host]) as fleet, pytest.raises(BadInput) as caught:
        collect.capture(fleet, gang, tmp_path / "kept", depth=collect.Depth.LOGS, unanswered={})
    assert caught.value.id == "bundle"
    assert caught.value.observed
