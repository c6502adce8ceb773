"""What runs on a host, with the real `hf` and a hub that slips: it ends verified or with a named reason."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from launch.prefetch.job import script_of
from tests.hub import Hub, Slip, made_files, serving
from tests.unit.launch.prefetch.hosted import REPO, carried_out, holds, job_of, manifest_of

pytestmark = pytest.mark.timeout(120)
FILES = made_files(600_000, 3)
RIGHT = "hf_right"
SHARD = "model-00002-of-00003.safetensors"


@pytest.fixture
def hub() -> Iterator[Hub]:
    with serving() as one:
        one.add(REPO, FILES)
        yield one


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "weights" / "commit"


def test_everything_comes_and_is_sealed(hub: Hub, folder: Path) -> None:
    manifest = manifest_of(FILES, hub.repos[REPO].main)
    done = carried_out(job_of(hub, folder, manifest))
    assert done.status == 0, done.said
    assert holds(folder, FILES)
    asked = len(hub.asked)
    assert carried_out(job_of(hub, folder, manifest)).status == 0
    assert len(hub.asked) == asked, "what is there and verified is neither asked for nor fetched again"


def test_a_share_is_fetched_alone_and_not_sealed(hub: Hub, folder: Path) -> None:
    manifest = manifest_of(FILES, hub.repos[REPO].main)
    done = carried_out(job_of(hub, folder, manifest, mine=(SHARD, "config.json")))
    assert done.status == 0, done.said
    assert not (folder / ".bringup-manifest.json").exists()
    assert sorted(one.name for one in folder.iterdir() if one.is_file()) == [
        ".bringup-verified.json",
        "config.json",
        SHARD,
    ]
    assert (folder / ".cache/bringup/done").read_text() == "run1"


@pytest.mark.parametrize(
    "harm", ["flip", "truncate", "append", "swap", "pointer", "remove"], ids=lambda harm: f"a file is harmed: {harm}"
)
def test_only_what_is_wrong_is_fetched_again(hub: Hub, folder: Path, harm: str) -> None:
    manifest = manifest_of(FILES, hub.repos[REPO].main)
    assert carried_out(job_of(hub, folder, manifest)).status == 0
    file, data = folder / SHARD, FILES[SHARD]
    made = {
        "flip": data[:5000] + bytes([data[5000] ^ 4]) + data[5001:],
        "truncate": data[:-1],
        "append": data + b"\0",
        "swap": FILES["model-00001-of-00003.safetensors"],
        "pointer": b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 200000\n",
    }
    file.unlink() if harm == "remove" else file.write_bytes(made[harm])
    hub.asked.clear()
    done = carried_out(job_of(hub, folder, manifest))
    assert done.status == 0, done.said
    assert holds(folder, FILES)
    fetched = [path for path in hub.asked_paths() if path.startswith("/lfs/")]
    assert len(fetched) == 1
    assert ("an LFS pointer" in done.said) == (harm == "pointer")


@pytest.mark.parametrize(
    "slip",
    [
        Slip("status", status=429, headers={"Retry-After": "1"}),
        Slip("truncate", at=70_000),
        Slip("corrupt", at=70_000),
    ],
    ids=lambda slip: slip.kind,
)
def test_what_passes_is_got_over(hub: Hub, folder: Path, slip: Slip) -> None:
    hub.slips["GET /lfs/"] = slip
    manifest = manifest_of(FILES, hub.repos[REPO].main)
    done = carried_out(job_of(hub, folder, manifest))
    assert done.status == 0, done.said
    assert holds(folder, FILES)


def test_a_stall_is_ended_and_started_again(hub: Hub, folder: Path) -> None:
    hub.slips["GET /lfs/"] = Slip("stall", at=70_000)
    done = carried_out(job_of(hub, folder, manifest_of(FILES, hub.repos[REPO].main), stall_s=10.0))
    assert done.status == 0, done.said
    assert "hub-stalled" in done.said
    assert holds(folder, FILES)


def test_a_hub_that_only_stalls_is_named(hub: Hub, folder: Path) -> None:
    hub.slips["GET /lfs/"] = Slip("stall", at=0, times=99)
    manifest = manifest_of(FILES, hub.repos[REPO].main)
    done = carried_out(job_of(hub, folder, manifest, stall_s=10.0, tries=1, mine=(SHARD,)))
    assert done.name == "hub-stalled"
    assert not (folder / ".bringup-manifest.json").exists()


@pytest.mark.parametrize(
    ("slip", "name"),
    [
        (Slip("status", status=503, times=99), "hub-unavailable"),
        (Slip("status", status=404, times=99), "hub-not-found"),
        (Slip("status", status=403, times=99), "hub-gated"),
        (Slip("corrupt", at=1000, times=99), "weights-changed"),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_what_stays_is_named(hub: Hub, folder: Path, slip: Slip, name: str) -> None:
    hub.slips["GET /lfs/"] = slip
    manifest = manifest_of(FILES, hub.repos[REPO].main)
    done = carried_out(job_of(hub, folder, manifest, tries=2, mine=(SHARD,)))
    assert done.name == name, done.said
    assert not (folder / ".bringup-manifest.json").exists()


def test_a_hub_that_does_not_answer_is_named(hub: Hub, folder: Path) -> None:
    manifest = manifest_of(FILES, hub.repos[REPO].main)
    done = carried_out(job_of(hub, folder, manifest, tries=1, endpoint="http://127.0.0.1:9", stall_s=12.0))
    assert done.name == "hub-unreachable", done.said


def test_a_commit_that_is_gone_is_named(hub: Hub, folder: Path) -> None:
    done = carried_out(job_of(hub, folder, manifest_of(FILES, "a" * 40), tries=1))
    assert done.name == "hub-revision-gone", done.said


@pytest.mark.parametrize(("token", "name"), [(RIGHT, ""), ("hf_wrong", "hub-unauthorized"), (None, "hub-unauthorized")])
def test_a_token_comes_by_a_file_and_is_gone_afterwards(
    hub: Hub, folder: Path, token: str | None, name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HF_HOME", str(tmp_path))  # whatever this machine has
    hub.repos[REPO].token = RIGHT
    work = folder / ".cache/bringup"
    work.mkdir(parents=True)
    if token:
        (work / "token").write_text(token)
    done = carried_out(job_of(hub, folder, manifest_of(FILES, hub.repos[REPO].main), tries=1))
    assert done.name == name, done.said
    assert not (work / "token").exists()
    assert not any("authorization" in headers for _, path, headers in hub.asked if path.startswith("/lfs/"))


def test_a_folder_of_the_host_is_copied(hub: Hub, folder: Path, tmp_path: Path) -> None:
    source = tmp_path / "nfs"
    for path, data in FILES.items():
        (source / path).parent.mkdir(parents=True, exist_ok=True)
        (source / path).write_bytes(data)
    urls = tuple((path, f"file://{source / path}") for path in FILES)
    done = carried_out(job_of(hub, folder, manifest_of(FILES, "c"), origin="pull", urls=urls))
    assert done.status == 0, done.said
    assert holds(folder, FILES)
    assert not hub.asked


def test_files_by_address_go_on_where_they_were_cut_off(hub: Hub, folder: Path) -> None:
    commit = hub.repos[REPO].main
    hub.slips["GET /made/up/resolve"] = Slip("status", status=429)
    hub.slips["GET /lfs/"] = Slip("truncate", at=70_000)
    urls = tuple((path, f"{hub.url}/{REPO}/resolve/{commit}/{quote(path)}") for path in FILES)
    done = carried_out(job_of(hub, folder, manifest_of(FILES, commit), origin="pull", urls=urls))
    assert done.status == 0, done.said
    assert holds(folder, FILES)
    assert {headers["range"] for _, _, headers in hub.asked if "range" in headers} == {"bytes=70000-"}


def test_parts_that_this_machine_sent_are_taken_when_they_are_right(hub: Hub, folder: Path) -> None:
    parts = folder / ".cache/bringup/parts"
    for path, data in FILES.items():
        (parts / path).parent.mkdir(parents=True, exist_ok=True)
        (parts / path).write_bytes(data[:-1] + b"?" if path == SHARD else data)
    manifest = manifest_of(FILES, "c")
    assert carried_out(job_of(hub, folder, manifest, origin="none")).name == "weights-incomplete"
    assert not (parts / SHARD).exists()
    (parts / SHARD).write_bytes(FILES[SHARD])
    assert carried_out(job_of(hub, folder, manifest, origin="none")).status == 0
    assert holds(folder, FILES)


def test_a_common_disk_is_linked_and_a_wrong_file_of_it_is_named(hub: Hub, folder: Path, tmp_path: Path) -> None:
    source = tmp_path / "nfs"
    for path, data in FILES.items():
        (source / path).parent.mkdir(parents=True, exist_ok=True)
        (source / path).write_bytes(data)
    manifest = manifest_of(FILES, "c", lfs_from=0)
    done = carried_out(job_of(hub, folder, manifest, origin="link", at=str(source)))
    assert done.status == 0, done.said
    assert (folder / SHARD).readlink() == source / SHARD
    assert holds(folder, FILES)
    (source / SHARD).write_bytes(FILES[SHARD][:-1] + b"?")
    done = carried_out(job_of(hub, folder, manifest, origin="link", at=str(source), run="run2"))
    assert done.name == "weights-incomplete"
    assert (source / SHARD).exists(), "what is not ours is not removed"


def test_what_came_by_others_is_verified_and_wrong_bytes_are_never_sealed(hub: Hub, folder: Path) -> None:
    for path, data in FILES.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
    (folder / "stray.safetensors").write_bytes(b"nobody listed it")
    (folder / SHARD).write_bytes(FILES[SHARD][::-1])
    manifest = manifest_of(FILES, "c", lfs_from=0)
    assert carried_out(job_of(hub, folder, manifest, origin="none")).name == "weights-incomplete"
    assert not (folder / SHARD).exists()
    (folder / SHARD).write_bytes(FILES[SHARD])
    assert carried_out(job_of(hub, folder, manifest, origin="none")).status == 0
    assert holds(folder, FILES)
    assert not (folder / "stray.safetensors").exists()
    assert (folder / ".cache/bringup/unlisted/stray.safetensors").exists()


def test_the_rate_is_kept(hub: Hub, folder: Path) -> None:
    files = made_files(4_000_000, 4)
    commit = hub.add(REPO, files)
    began = time.monotonic()
    done = carried_out(job_of(hub, folder, manifest_of(files, commit), rate=500_000, stall_s=60.0))
    assert done.status == 0, done.said
    assert time.monotonic() - began > 4.0
    assert holds(folder, files)


def started(script: str) -> subprocess.Popen[str]:
    return subprocess.Popen(["/bin/sh", "-eu", "-c", script], stdout=subprocess.PIPE, text=True, start_new_session=True)


def wait_until(true: object, seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while not true():  # type: ignore[operator]
        assert time.monotonic() < end
        time.sleep(0.05)


def test_two_at_once_are_refused_and_a_cancel_ends_the_first(hub: Hub, folder: Path) -> None:
    hub.rate = 20_000
    job = job_of(hub, folder, manifest_of(FILES, hub.repos[REPO].main))
    with started(script_of(job)) as first:
        wait_until(lambda: any(hub.sent))
        assert carried_out(job).name == "prefetch-running"
        (folder / ".cache/bringup/cancel").touch()
        out, _ = first.communicate(timeout=20)
    assert "outcome\tprefetch-cancelled" in out
    hub.rate = None
    assert carried_out(job).status == 0
    assert holds(folder, FILES)


def test_killed_it_leaves_no_client_behind_and_goes_on_where_it_was(hub: Hub, folder: Path) -> None:
    hub.rate = 100_000
    job = job_of(hub, folder, manifest_of(FILES, hub.repos[REPO].main))
    with started(script_of(job)) as first:
        wait_until(lambda: sum(hub.sent.values()) > 100_000)
        os.killpg(first.pid, signal.SIGKILL)
    time.sleep(1.5)  # the hub notices by its next writes
    sent = sum(hub.sent.values())
    time.sleep(1)
    assert sum(hub.sent.values()) == sent, "the client ended with what had started it"
    assert not (folder / ".bringup-manifest.json").exists()
    hub.rate = None
    assert carried_out(job).status == 0
    assert holds(folder, FILES)
    assert sum(hub.sent.values()) < 1.7 * sum(map(len, FILES.values()))


def test_a_full_disk_is_said_before_anything_is_fetched(hub: Hub, folder: Path) -> None:
    done = carried_out(job_of(hub, folder, manifest_of(FILES, hub.repos[REPO].main), keep_free=1 << 60))
    assert done.name == "disk-full"
    assert not hub.asked
