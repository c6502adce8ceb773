"""`rocm-smi ... --json`: an object with `card0`, `card1`, ... and `system`; its keys changed over the versions."""

from __future__ import annotations

import re

from inventory.facts.base import Maybe, Unknown, Why
from inventory.facts.gpu.amd_gpu import AmdAnswer, AmdGpu
from inventory.facts.gpu.amd_smi import address, driver_version
from inventory.facts.gpu.quantity import told
from inventory.facts.jsontext import Fields, parse_object

CARD = re.compile(r"card(\d{1,3})")


def parse_rocm_smi(text: str) -> Maybe[AmdAnswer]:
    cards = parse_cards(text)
    if not cards:
        return Unknown(Why.UNREADABLE, "no cards in the JSON of rocm-smi")
    return AmdAnswer(driver=driver_of(text), gpus=tuple(rocm_gpu(card) for card in cards.values()))


def parse_cards(text: str) -> dict[str, Fields]:
    """Each card's values by keys in lower case: `Card series` and `Card Series` are one, `GPU ID` is `device id`."""
    answer = parse_object(text) or Fields({})
    cards = sorted((int(match[1]), key) for key in answer.members if (match := CARD.fullmatch(key)))
    return {key: lower_keys(answer.object(key)) for _, key in cards}


def driver_of(text: str) -> str | None:
    return driver_version((parse_object(text) or Fields({})).object("system").text("Driver version"))


def lower_keys(card: Fields) -> Fields:
    members = {key.lower(): value for key, value in card.members.items()}
    return Fields({"device id": members.get("gpu id"), **members})


def rocm_gpu(card: Fields) -> AmdGpu:
    node = card.number("(topology) numa node")
    return AmdGpu(
        name=told(card.text("card series")) or told(card.text("device name")) or told(card.text("card model")) or "",
        uuid=told(card.text("unique id")) or "",
        memory_bytes=card.number("vram total memory (b)"),
        pci_address=address(card.text("pci bus")),
        numa_node=node,
        gfx=told(card.text("gfx version")),
    )
