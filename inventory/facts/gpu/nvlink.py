"""`nvidia-smi nvlink -e`: the error counters of every link, summed for each GPU."""

from __future__ import annotations

import re

from inventory.facts.answers import Answers
from inventory.facts.base import Maybe, Unknown, Why
from inventory.facts.host import NvlinkErrors

GPU = re.compile(r"(?m)^GPU (\d{1,3}): ")
COUNTER = re.compile(r"(?m)^\s*Link \d{1,2}:\s*([^:\n]*Errors?):\s*(\d{1,18})\s*$")


def read_nvlink_errors(answers: Answers) -> Maybe[tuple[NvlinkErrors, ...]]:
    said = answers.text("nvidia_links.errors")
    return said if isinstance(said, Unknown) else parse_nvlink_errors(said)


def parse_nvlink_errors(text: str) -> Maybe[tuple[NvlinkErrors, ...]]:
    """A GPU without such counters has none; a text without GPUs is no answer."""
    parts = GPU.split(text)
    if len(parts) < 3:
        return Unknown(Why.UNREADABLE, "no GPU in the answer of nvidia-smi nvlink -e")
    return tuple(
        NvlinkErrors(int(index), sum(int(count) for _, count in COUNTER.findall(body)))
        for index, body in zip(parts[1::2], parts[2::2], strict=True)
        if COUNTER.search(body)
    )
