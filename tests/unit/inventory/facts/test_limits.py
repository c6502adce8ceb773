from __future__ import annotations

from pathlib import Path

import pytest

from inventory.facts.base import Unknown, Why
from inventory.facts.host import HugePagePool, HugePages, Limit, Limits
from inventory.facts.limits import parse_limits, read_huge_pages, read_limits
from tests.answered import Said, answers

LIMITS = """\
Limit                     Soft Limit           Hard Limit           Units     
Max cpu time              unlimited            unlimited            seconds   
Max core file size        0                    unlimited            bytes     
Max resident set          unlimited            unlimited            bytes     
Max processes             8255142              8255142              processes 
Max open files            1024                 1048576              files     
Max locked memory         8388608              8388608              bytes     
Max nice priority         0                    0                    
"""  # noqa: W291  (as the kernel prints them)
MEMORY = "MemTotal: 100 kB\nHugePages_Total:    1024\nHugePages_Free:      512\nHugepagesize:       2048 kB\n"


def test_limits() -> None:
    assert read_limits(answers({"system.limits": LIMITS})) == Limits(
        locked_memory=Limit(8388608, 8388608),
        open_files=Limit(1024, 1048576),
        processes=Limit(8255142, 8255142),
        core_file=Limit(0, None),
    )


def test_limits_of_this_process() -> None:
    """The kernel that runs the test is asked, not only a text from another."""
    resource = pytest.importorskip("resource")
    found = parse_limits(Path("/proc/self/limits").read_text())
    assert not isinstance(found, Unknown)
    assert (found.open_files.soft, found.open_files.hard) == resource.getrlimit(resource.RLIMIT_NOFILE)


def test_limits_that_are_cut_off() -> None:
    found = read_limits(answers({"system.limits": LIMITS[: LIMITS.index("Max open")]}))
    assert found == Unknown(Why.UNREADABLE, "/proc/self/limits without locked memory, open files")


def test_limits_that_are_not_told() -> None:
    refused = read_limits(answers({"system.limits": (1, "cat: /proc/self/limits: Permission denied")}))
    assert isinstance(refused, Unknown)
    assert refused.why is Why.REFUSED


def huge(memory: str, mode: Said) -> object:
    return read_huge_pages(answers({"processor.memory": memory, "processor.transparent-huge-pages": mode}))


POOLS = """\
/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages:1024
/sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages:16
/sys/kernel/mm/hugepages/hugepages-64kB/nr_hugepages:0
/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages:512
/sys/kernel/mm/hugepages/hugepages-1048576kB/free_hugepages:4
/sys/kernel/mm/hugepages/hugepages-64kB/free_hugepages:0
"""


def test_huge_pages_of_another_size_than_the_default() -> None:
    said: dict[str, Said] = {"processor.memory": MEMORY, "processor.huge-pages": POOLS}
    found = read_huge_pages(answers(said))
    assert isinstance(found, HugePages)
    assert found.others == (HugePagePool(1 << 30, 16, 4),)
    assert (found.total, found.size_bytes) == (1024, 2 << 20)


def test_huge_pages() -> None:
    assert huge(MEMORY, "always [madvise] never\n") == HugePages(1024, 512, 2 << 20, "madvise")


def test_a_kernel_without_huge_pages() -> None:
    absent = (1, "cat: /sys/kernel/mm/transparent_hugepage/enabled: No such file or directory")
    assert huge("MemTotal: 100 kB\n", absent) == HugePages(0, 0, 0, None)


def test_half_of_a_pool_is_no_pool() -> None:
    found = huge("HugePages_Total: 8\nHugepagesize: 2048 kB\n", "[always] madvise never\n")
    assert isinstance(found, Unknown)
    assert found.why is Why.UNREADABLE
