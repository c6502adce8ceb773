from __future__ import annotations

import pytest

from inventory.facts.base import Unknown, Why
from inventory.facts.disks import mount_types, parse_mount_table, read_file_systems
from inventory.facts.host import FileSystem
from tests.answered import Said, answers, facts

MOUNTS = (
    "22 1 0:20 / / rw - ext4 /dev/vda rw\n"
    "30 22 0:30 / /data\\040one rw master:1 - nfs4 srv:/x rw\n"
    "31 22 0:31 / / rw - overlay overlay rw\n"
)
DF = "Filesystem 1024-blocks Used Available Capacity Mounted on\n"


def page(asked: str, *, writable: str = "yes", row: str, inodes: str | None = None) -> str:
    table = f"{DF}{row}\n" + (f"Filesystem Inodes IUsed IFree IUse% Mounted on\n{inodes}\n" if inodes else "")
    return f"{asked}\n/existing\n{writable}\n{table}"


def test_file_systems() -> None:
    items: dict[str, Said] = {
        "disks.mounts": MOUNTS,
        "disks.path.1": page("/srv/a", row="/dev/vda 1000 400 600 40% /", inodes="/dev/vda 50 10 40 20% /"),
        "disks.path.2": page(
            "/data one/w", writable="no", row="srv:/x 2000 0 2000 0% /data one", inodes="srv:/x 0 0 0 - /data one"
        ),
    }
    assert read_file_systems(answers(items)) == (
        FileSystem("/srv/a", "/", "overlay", 1000 * 1024, 600 * 1024, 40, writable=True),
        FileSystem("/data one/w", "/data one", "nfs4", 2000 * 1024, 2000 * 1024, None, writable=False),
    )


def test_a_device_name_with_blanks_and_no_inode_table() -> None:
    items: dict[str, Said] = {"disks.path.1": page("/mnt", row="//nas/my share 10 5 5 50% /mnt")}
    found = read_file_systems(answers(items))
    assert found == (FileSystem("/mnt", "/mnt", "", 10 * 1024, 5 * 1024, None, writable=True),)


def test_a_path_on_a_dead_server_is_unknown_alone() -> None:
    items: dict[str, Said] = {
        "disks.asked": "/dead\n/tmp\n",
        "disks.path.2": page("/tmp", row="/dev/vda 1000 400 600 40% /"),
    }
    host = facts(items, ends={"disks": 124})
    assert host.file_system("/dead") == Unknown(Why.TIMED_OUT, "no answer about /dead")
    assert isinstance(host.file_system("/tmp"), FileSystem)


def test_no_path_answered() -> None:
    hung = read_file_systems(answers({"disks.asked": "/dead\n"}, ends={"disks": 137}))
    assert isinstance(hung, Unknown)
    assert hung.why is Why.TIMED_OUT
    assert facts({}).file_system("/tmp") == Unknown(Why.NOT_ASKED, "disks: not asked")


def test_df_that_fails_is_named() -> None:
    found = read_file_systems(answers({"disks.path.1": "/x\n/x\nyes\n"}))
    assert isinstance(found, Unknown)
    assert found.why is Why.UNREADABLE


def test_mount_points_are_unescaped_and_the_last_one_wins() -> None:
    assert mount_types(MOUNTS) == {"/": "overlay", "/data one": "nfs4"}


@pytest.mark.parametrize(
    "text",
    [
        "/tmp tmpfs rw,nosuid,noexec",
        "tmpfs on /tmp type tmpfs (rw,nosuid,noexec)",
        "tmpfs /tmp tmpfs rw,nosuid,noexec 0 0",
        "TARGET SOURCE FSTYPE OPTIONS\n/tmp tmpfs tmpfs rw,nosuid,noexec",
    ],
)
def test_options_of_mounts_in_any_listing(text: str) -> None:
    (mount,) = parse_mount_table(text)[-1:]
    assert (mount.point, mount.type, mount.options) == ("/tmp", "tmpfs", ("rw", "nosuid", "noexec"))
