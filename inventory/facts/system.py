"""Operating system, kernel, user and clock."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from typing import Literal

from inventory.facts.answers import Answers
from inventory.facts.base import Maybe, Unknown, Why
from inventory.facts.host import System
from inventory.facts.lscpu import parse_lscpu
from inventory.facts.machine import parse_board, parse_soc, parse_tegra_release

Family = Literal["debian", "rhel", "other"]
CLOCK = re.compile(r"(\d{6,12})(\.\d{1,9})?")


@dataclass(frozen=True, slots=True)
class Sent:
    """When the script was sent and its answer received: seconds since 1970 on the control machine."""

    at: float
    received_at: float


def read_system(answers: Answers, sent: Sent) -> Maybe[System]:
    kernel = answers.text("system.kernel")
    boot_id = answers.text("system.boot")
    uid = answers.text("system.uid")
    for needed in (kernel, boot_id, uid):
        if isinstance(needed, Unknown):
            return needed
    offset = clock_offset(answers, sent)
    if isinstance(offset, Unknown):
        return offset
    release = os_release(word(answers, "system.release"))
    version, _, machine = word(answers, "system.kernel").partition(" ")
    return System(
        id=release.get("ID", "").lower(),
        version=release.get("VERSION_ID", ""),
        family=family_of(release),
        kernel=version,
        architecture=lab(answers).get("arch") or machine,
        boot_id=word(answers, "system.boot"),
        hostname=word(answers, "system.hostname"),
        user=word(answers, "system.user"),
        uid=int(word(answers, "system.uid")),
        can_sudo=word(answers, "system.uid") == "0" or sudo_works(answers),
        clock_offset_s=offset,
        machine=machine_name(answers),
        hypervisor=parse_lscpu(word(answers, "processor.lscpu")).hypervisor,
    )


def machine_name(answers: Answers) -> str:
    """`maker product` of the firmware, else the board of an integrated system."""
    firmware = dict(re.findall(r"/(sys_vendor|product_name):(.*)", word(answers, "system.firmware")))
    if firmware:
        return " ".join(value for key in ("sys_vendor", "product_name") if (value := firmware.get(key, "").strip()))
    board = parse_board(word(answers, "system.board"))
    details = (parse_soc(word(answers, "system.soc")), parse_tegra_release(word(answers, "system.tegra")))
    told = [detail for detail in (details[0], f"L4T {details[1]}" if details[1] else None) if detail]
    return f"{board} ({', '.join(told)})" if told else board


def word(answers: Answers, name: str) -> str:
    """What an item says, stripped; empty if it says nothing."""
    text = answers.text(name)
    return "" if isinstance(text, Unknown) else text.strip()


def sudo_works(answers: Answers) -> bool:
    item = answers.item("sudo.true")
    return not isinstance(item, Unknown) and item.status == 0


def os_release(text: str) -> dict[str, str]:
    """The assignments of /etc/os-release, unquoted; lines that are none are left out."""
    found = {}
    for line in text.splitlines():
        key, equals, value = line.strip().partition("=")
        if equals and re.fullmatch(r"[A-Z][A-Z0-9_]*", key):
            found[key] = unquoted(value)
    return found


def unquoted(value: str) -> str:
    try:
        return " ".join(shlex.split(value))
    except ValueError:
        return value


def family_of(release: dict[str, str]) -> Family:
    names = {release.get("ID", ""), *release.get("ID_LIKE", "").split()}
    if names & {"debian", "ubuntu"}:
        return "debian"
    if names & {"rhel", "fedora", "centos"}:
        return "rhel"
    return "other"


def clock_offset(answers: Answers, sent: Sent) -> Maybe[float]:
    """Seconds that the host's clock is ahead: the mean of the two ways, so that the script's own time drops out."""
    text = answers.files.get("clock.out", b"").decode("ascii", errors="replace")
    # busybox has no fraction of seconds and prints `%N`: half a second is then the best guess.
    stamps = [float(whole) + float(part or 0.5) for whole, part in CLOCK.findall(text)]
    if len(stamps) != 2:
        return Unknown(Why.UNREADABLE, answers.fault or f"the clock says {text[:40]!r}")
    begun, ended = stamps
    return ((begun - sent.at) + (ended - sent.received_at)) / 2


def lab(answers: Answers) -> dict[str, str]:
    """The settings of a simulated lab host, empty on a real one."""
    lines = (line.partition("=") for line in word(answers, "system.lab").splitlines())
    return {key.strip(): value.strip() for key, _, value in lines}


def is_simulated(answers: Answers) -> bool:
    return lab(answers).get("simulated") == "true"
