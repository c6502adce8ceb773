"""What stands around a text that a person saved or pasted changes nothing of what it says."""

from __future__ import annotations

import pytest

from inventory.facts.base import Unknown
from inventory.facts.blocks import parse_lsblk
from inventory.facts.gpu.nvidia_csv import parse_csv, parse_table_of
from inventory.facts.gpu.nvidia_gpu import NvidiaAnswer
from inventory.facts.gpu.nvidia_xml import parse_xml
from inventory.facts.plain import plain_text
from tests.answered import HOSTS

AROUND = (
    ("", ""),
    ("user@host:~$ the-command\nbash: warning: setlocale: LC_ALL: cannot change locale (en_US.UTF-8)\n", ""),
    ("Here it is:\n```\n", "\n```\nThanks, any idea?\n"),
    ("\n\n", "\n\x1b[0m\n"),
)
CSV = """\
index, name, memory.total [MiB], pci.bus_id, driver_version
0, NVIDIA L40S, 46068 MiB, 00000000:01:00.0, 570.172.08
1, NVIDIA L40S, 46068 MiB, 00000000:41:00.0, 570.172.08
"""
LSBLK = '{"blockdevices": [{"name":"nvme0n1","type":"disk","size":1000,"rota":false,"fstype":null}]}'


@pytest.mark.parametrize(
    "data",
    [
        b"a\nb\n",
        b"a\r\nb\r\n",
        b"\xef\xbb\xbfa\nb\n",
        "a\r\nb\r\n".encode("utf-16"),
        "\ufeffa\nb\n".encode("utf-16-be"),
    ],
)
def test_line_ends_and_encodings(data: bytes) -> None:
    assert plain_text(data) == "a\nb\n"


def test_what_is_no_text_of_any_encoding() -> None:
    assert plain_text(b"a\xff\0\n") == "a\ufffd\0\n"
    assert plain_text(b"\xff\xfea") == "\ufffd"


def known(answer: NvidiaAnswer | Unknown) -> NvidiaAnswer:
    assert not isinstance(answer, Unknown)
    return answer


@pytest.mark.parametrize(("before", "after"), AROUND)
def test_noise_around_the_answers_of_tools(before: str, after: str) -> None:
    xml = (HOSTS / "l40s-4x" / "nvidia.xml").read_text()
    assert known(parse_xml(before + xml + after)) == known(parse_xml(xml))
    assert known(parse_csv(before + CSV + after)) == known(parse_csv(CSV))
    assert parse_lsblk(before + LSBLK + after) == parse_lsblk(LSBLK) != ()


@pytest.mark.parametrize(("before", "after"), AROUND)
def test_a_table_without_its_header(before: str, after: str) -> None:
    rows = parse_table_of(before + CSV.partition("\n")[2] + after)
    assert [row["pci.bus_id"] for row in rows] == ["00000000:01:00.0", "00000000:41:00.0"]


def test_an_xml_that_is_cut_off_is_not_believed() -> None:
    xml = (HOSTS / "l40s-4x" / "nvidia.xml").read_text()
    assert isinstance(parse_xml(xml[: len(xml) // 2]), Unknown)
