"""The services that NVIDIA's GPUs need besides the driver: fabric manager (NVSwitch) and IMEX (multi-node NVLink)."""

from __future__ import annotations

import re

from inventory.facts.answers import Answers, Item
from inventory.facts.base import Maybe, Unknown
from inventory.facts.gpu.imex import read_domain
from inventory.facts.gpu.pci import read_pci, switches_of
from inventory.facts.host import Fabric

MANAGER, IMEX = "nvidia-fabricmanager.service", "nvidia-imex.service"
VERSION = re.compile(r"\d+(?:\.\d+)+")
COMPLAINT = re.compile(r"don't match|error|fail|NV_WARN|NV_ERR|abort", re.IGNORECASE)
CHANNEL = re.compile(r"(?m)^channel(\d{1,6})$")


def read_fabric(answers: Answers) -> Maybe[Fabric]:
    asked = answers.item("nvidia_services.units")
    if isinstance(asked, Unknown):
        return asked
    if asked.status:
        return asked.reason
    units = parse_units(asked.text)
    return Fabric(
        manager=units.get(MANAGER),
        manager_version=version_in(answers.item("nvidia_services.fabric-manager")),
        imex=units.get(IMEX),
        imex_nodes=parse_nodes(answers.item("nvidia_services.imex-nodes")),
        imex_channels=parse_channels(answers.item("nvidia_services.imex-channels")),
        switches=switches_on_bus(answers),
        manager_says=complaint_of_manager(answers.item("nvidia_services.manager-log")),
        imex_device=has_imex_device(answers.item("nvidia_services.devices")),
        imex_domain=read_domain(answers.item("nvidia_imex.domain")),
    )


def switches_on_bus(answers: Answers) -> int | None:
    pci = read_pci(answers)
    return None if isinstance(pci, Unknown) else switches_of(pci)


def complaint_of_manager(item: Maybe[Item]) -> str | None:
    """The last line of the fabric manager's log that complains."""
    lines = [] if isinstance(item, Unknown) else [line.strip() for line in item.text.splitlines()]
    return next((line[:300] for line in reversed(lines) if COMPLAINT.search(line)), None)


def has_imex_device(item: Maybe[Item]) -> bool | None:
    """`grep` over /proc/devices: status 1 is no such device, 2 a file that cannot be read."""
    return None if isinstance(item, Unknown) or item.status > 1 else "nvidia-caps-imex-channels" in item.text


def read_toolkit(answers: Answers) -> str | None:
    """Version of NVIDIA's container toolkit."""
    return version_in(answers.item("nvidia_services.container-toolkit"))


def parse_units(text: str) -> dict[str, str]:
    """State by unit of `systemctl show -p Id,LoadState,ActiveState`, a block each; `absent` if not installed."""
    blocks = (dict(line.partition("=")[::2] for line in block.splitlines()) for block in re.split(r"\n\s*\n", text))
    return {
        block["Id"]: "absent" if block["LoadState"] == "not-found" else block["ActiveState"]
        for block in blocks
        if {"Id", "LoadState", "ActiveState"} <= block.keys()
    }


def version_in(item: Maybe[Item]) -> str | None:
    """`570.133.20` of `Fabric Manager version is : 570.133.20`, `1.17.8` of `... CLI version 1.17.8`."""
    match = None if isinstance(item, Unknown) or item.status else VERSION.search(item.text)
    return match[0] if match else None


def parse_nodes(item: Maybe[Item]) -> tuple[str, ...] | None:
    """The addresses of nodes_config.cfg, one a line; a file that is not there names none."""
    if isinstance(item, Unknown) or (item.status and not item.missing_file):
        return None
    lines = (line.partition("#")[0].strip() for line in item.text.splitlines())
    return tuple(line for line in lines if line)


def parse_channels(item: Maybe[Item]) -> tuple[int, ...] | None:
    """The numbers of `channel0`, `channel1`, ... in a folder that is only there where the driver made channels."""
    if isinstance(item, Unknown) or (item.status and not item.missing_file):
        return None
    return tuple(sorted(int(number) for number in CHANNEL.findall(item.text)))
