from __future__ import annotations

import pytest

from inventory.facts.base import Unknown
from inventory.facts.disks import parse_mount_table, read_mounts
from inventory.facts.host import Mount
from tests.answered import answers

INFO = """\
22 1 8:2 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p2 rw
23 22 0:21 / /proc rw,nosuid - proc proc rw
40 22 0:40 / /cache rw,relatime - nfs4 nas:/export/cache rw,vers=4.2,hard
41 22 0:41 / /my\\040data ro - lustre mds@tcp:/fs rw,flock
50 22 0:50 / /var/lib/docker/overlay2/abc/merged rw - overlay overlay rw
51 22 0:51 / /dev/shm rw - tmpfs tmpfs rw
52 22 0:52 / /dev rw - devtmpfs udev rw
53 22 0:53 / /sys/fs/cgroup/x rw - tmpfs tmpfs rw
cut line
"""


def test_what_data_can_lie_on() -> None:
    found = read_mounts(answers({"disks.mounts": INFO}))
    assert not isinstance(found, Unknown)
    assert [one.point for one in found] == ["/", "/cache", "/my data", "/dev/shm"]
    assert found[1] == Mount("/cache", "nfs4", "nas:/export/cache", ("rw", "relatime", "vers=4.2", "hard"))
    assert "flock" in found[2].options
    assert isinstance(read_mounts(answers({})), Unknown)


@pytest.mark.parametrize(
    "text",
    [
        "/ ext4 /dev/nvme0n1p2\n/cache nfs4 nas:/export/cache\n",
        "TARGET SOURCE FSTYPE OPTIONS\n/ /dev/nvme0n1p2 ext4 rw\n└─/cache nas:/export/cache nfs4 rw,hard\n",
        "/dev/nvme0n1p2 / ext4 rw 0 0\nnas:/export/cache /cache nfs4 rw,hard 0 0\n",
        "TARGET FSTYPE SOURCE\n/ ext4 /dev/nvme0n1p2\n`-/cache nfs4 nas:/export/cache\n",
    ],
)
def test_tables_of_mounts(text: str) -> None:
    found = {one.point: (one.type, one.source) for one in parse_mount_table(text) if one.point.startswith("/")}
    assert found == {"/": ("ext4", "/dev/nvme0n1p2"), "/cache": ("nfs4", "nas:/export/cache")}


def test_a_source_that_is_no_path() -> None:
    headed = "TARGET SOURCE FSTYPE OPTIONS\n/tmp tmpfs tmpfs rw\n"
    assert parse_mount_table(headed) == (Mount("/tmp", "tmpfs", "tmpfs", ("rw",)),)
    assert parse_mount_table("none /tmp tmpfs rw 0 0\n") == (Mount("/tmp", "tmpfs", "none", ("rw",)),)
    assert parse_mount_table("nothing here\n") == ()
