"""What is taken out of answers, and that facts read the same without it."""

from __future__ import annotations

import dataclasses

import pytest

from inventory.facts.host import NO_HEALTH, Gpus, HostFacts, System
from inventory.facts.raw import RawAnswer
from inventory.facts.redact import Redactor
from tests.answered import HOSTS, answers, fixture

FIXTURES = sorted(folder.name for folder in HOSTS.iterdir() if folder.is_dir())


def raw(host: str, noise: bytes = b"") -> RawAnswer:
    return RawAnswer(host, answers(fixture(host)), noise, 1.0, 1800000000.0, 1800000001.0)


def redacted(text: str) -> str:
    return Redactor().text(text.encode()).decode()


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("2: eth0: <UP> link/ether 3c:ec:ef:12:34:56 brd ff:ff:ff:ff:ff:ff", "3c:ec:ef:12:34:56"),
        ("link/infiniband 00:00:10:29:fe:80:00:00:00:00:00:00:b8:ce:f6:03:00:a1:b2:c3 brd", "b8:ce:f6"),
        ("inet6 fe80::3eec:efff:fe12:3456/64 scope link", "12:3456"),
        ("inet6 2001:db8:1:2:3eec:efff:fe12:3456/64", "12:3456"),
        ("<serial>1653023012345</serial>", "1653023012345"),
        ("    Serial Number                         : 1653023012345\n", "1653023012345"),
        ('"asic_serial": "0x1A2B3C4D5E6F7081"', "1A2B3C4D5E6F7081"),
        ('"product_serial": 692251001124', "692251001124"),
        ("/nodes/4/properties:unique_id 11140123456789012345", "11140123456789012345"),
        ("<uuid>GPU-11aa22bb-33cc-44dd-55ee-66ff77008899</uuid>", "66ff77008899"),
        ("6F0C2B1E-4D5A-4C1B-9E57-2F1D8F6A7B01", "2F1D8F6A7B01"),
        ("/infiniband/mlx5_0/sys_image_guid:b8ce:f603:00a1:b2c3", "b8ce:f603"),
        ("/ports/1/gids/0:fe80:0000:0000:0000:b8ce:f603:00a1:b2c3", "b8ce:f603"),
        ("<gpu_fabric_guid>0x47f2a31b29d0c1aa</gpu_fabric_guid>", "47f2a31b29d0c1aa"),
        ("HF_TOKEN=hf_aBcDeFgHiJkLmNoPqRsTuVwXyZ", "aBcDeFgHiJ"),
        ("an hf_aBcDeFgHiJkLmNoPqRsTuVwXyZ somewhere", "aBcDeFgHiJ"),
        ('{"env": {"API_KEY": "very-secret"}}', "very-secret"),
        ("python -m serve --api-key very-secret --port 1", "very-secret"),
        ("//nas/share /mnt cifs rw,username=a,password=very-secret,vers=3", "very-secret"),
        ("index https://ops:very-secret@mirror.example/simple", "very-secret"),
    ],
)
def test_what_must_not_be_seen(text: str, secret: str) -> None:
    assert secret in text
    once = redacted(text)
    assert secret.lower() not in once.lower()
    assert redacted(once) == once
    assert len(once.splitlines()) == len(text.splitlines())


@pytest.mark.parametrize(
    "text",
    [
        "00000008:01:00.0 0x030200 0x10de 0x2941 0",
        "link/loopback 00:00:00:00:00:00 brd 00:00:00:00:00:00",
        "inet 192.0.2.17/24 scope global eth0, inet6 2001:db8::17/64",
        "<serial>N/A</serial><chassis_serial_number>N/A</chassis_serial_number>",
        "00:1f.0 Serial bus controller: Intel",
        "board_id:MT_0000000838",
        "GID 0000:0000:0000:0000:0000:ffff:c000:0211",
        "tokenizer_mode deepseek_v4",
    ],
)
def test_what_stays(text: str) -> None:
    assert redacted(text) == text


def test_the_same_stays_the_same_within_a_bundle_and_uuids_in_all() -> None:
    one, other = Redactor(), Redactor()
    uuid = b"11aa22bb-33cc-44dd-55ee-66ff77008899"
    assert one.text(b"3c:ec:ef:12:34:56") == one.text(b"3C:EC:EF:12:34:56") != one.text(b"3c:ec:ef:12:34:57")
    assert one.text(uuid) == other.text(uuid) != other.text(uuid.replace(b"11aa", b"22aa"))


def test_a_uuid_made_of_a_serial_is_numbered() -> None:
    """Its hash could be found by trying all serials."""
    assert redacted("46ff74b5-0000-1000-80ae-62bd34b2c1d0").startswith("00000000-0000-0000-0001-")


@pytest.mark.parametrize("host", FIXTURES)
def test_facts_are_the_same_but_for_ids(host: str) -> None:
    before, after = raw(host).facts(), Redactor().answer(raw(host)).facts()
    assert without_ids(after) == without_ids(before)


def without_ids(facts: HostFacts) -> HostFacts:
    """Without boot id, UUIDs and addresses of the link, which are what redaction replaces."""
    system, gpus = facts.system, facts.gpus
    if isinstance(system, System):
        system = dataclasses.replace(system, boot_id="")
    if isinstance(gpus, Gpus):
        gpus = dataclasses.replace(
            gpus, devices=tuple(dataclasses.replace(one, uuid="", health=NO_HEALTH) for one in gpus.devices)
        )
    return dataclasses.replace(facts, system=system, gpus=gpus)


def test_gids_keep_their_width_and_are_read_again() -> None:
    """A GID of RoCE is made of the adapter's MAC; in a redacted bundle its index and type must still be there."""
    told = redacted("/sys/class/infiniband/mlx5_0/ports/1/gids/3:fe80:0000:0000:0000:0e42:a1ff:fe12:3456")
    assert told.startswith("/sys/class/infiniband/mlx5_0/ports/1/gids/3:fe80:0000:0000:0000:0000:00ff:fe00:")
    assert len(told.rpartition("gids/3:")[2].split(":")) == 8
    assert "a1ff" not in told
    assert redacted(told) == told


def test_the_noise_too() -> None:
    assert b"very-secret" not in Redactor().answer(raw("cpu-only", b"welcome, password: very-secret\n")).noise


def test_a_long_line_takes_no_time() -> None:
    """A host may print 16 MiB of blanks: no pattern may be quadratic."""
    for filler in (b" ", b"a", b'"', b"0:", b"serial "):
        Redactor().text(filler * 200_000)
