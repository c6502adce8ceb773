from __future__ import annotations

from inventory.facts.cpu import Position, count_cores, parse_cpuinfo
from inventory.facts.lscpu import parse_lscpu_table

CPUINFO = "\n\n".join(
    f"processor\t: {cpu}\nmodel name\t: X\nphysical id\t: {cpu // 4}\ncore id\t\t: {cpu % 2}\nflags\t: a b"
    for cpu in range(8)
)


def test_positions_of_cpuinfo() -> None:
    found = parse_cpuinfo(CPUINFO + "\n\n")
    assert found[5] == Position(package="1", core="1")
    assert count_cores(found, range(8)) == 4
    assert count_cores(found, (0, 2)) == 1, "two threads of one core"


def test_arm_tells_no_cores() -> None:
    found = parse_cpuinfo("processor\t: 0\nCPU part\t: 0xd4f\n\nprocessor\t: 1\nCPU part\t: 0xd4f\n")
    assert count_cores(found, found) == 2, "each is one"
    assert parse_cpuinfo("garbage\n\n") == {}


def test_the_table_of_lscpu() -> None:
    head = "# The following is the parsable format, which can be fed to other\n# CPU,Core,Socket,Node,,L1d,L1i,L2,L3\n"
    assert parse_lscpu_table(f"{head}0,0,0,0,,0,0,0,0\n4,0,0,0,,0,0,0,0\n5,3,1,1,,1,1,1,1\n") == {
        0: (0, 0),
        4: (0, 0),
        5: (1, 3),
    }
    assert parse_lscpu_table("# CPU,Socket,Core\n7,1,9\n") == {7: (1, 9)}
    assert parse_lscpu_table("no table\n") == {}
