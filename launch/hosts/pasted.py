"""Hosts that nobody can log in to: outputs of tools that people sent, as files in a folder a host."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from inventory.errors import BadInput
from inventory.facts.base import Unknown, Why
from inventory.facts.gpu.pasted import FORMS
from inventory.facts.pasted import read_pasted
from inventory.facts.plain import plain_text
from inventory.facts.saved import ANSWER, BUNDLE
from inventory.quoting import quote
from inventory.schema import Host

if TYPE_CHECKING:
    from inventory.facts.host import HostFacts

LONGEST = 16 << 20
"""Bytes of a file: what is longer was not printed by one of these tools."""


def are_pasted(folder: Path) -> bool:
    """Whether a folder holds texts that people sent; what `probe --save` wrote, whole or not, is something else."""
    return folder.is_dir() and not (folder / BUNDLE).exists() and not any(folder.glob(f"*/{ANSWER}"))


def load_pasted(folder: Path) -> dict[str, HostFacts]:
    """The facts of each host by name: a folder each below `folder`, or `folder` itself. Raises `BadInput`."""
    below = sorted(path for path in folder.iterdir() if path.is_dir() and texts(path))
    places = [folder.absolute(), *below] if texts(folder) else below
    if not places:
        raise refused(folder, "no file in it")
    return {host_name(place): read(place) for place in places}


def read(place: Path) -> HostFacts:
    facts = read_pasted(host_name(place), [plain_text(path.read_bytes()) for path in texts(place)])
    subjects = (facts.cpu, facts.numa, facts.gpus, facts.rdma, facts.blocks)
    if all(isinstance(one, Unknown) and one.why is Why.NOT_ASKED for one in subjects):
        raise refused(place, f"nothing that is known in {', '.join(path.name for path in texts(place))}"[:300])
    return facts


def texts(place: Path) -> list[Path]:
    return sorted(
        path
        for path in place.iterdir()
        if path.is_file() and not path.name.startswith(".") and 0 < path.stat().st_size <= LONGEST
    )


def host_name(place: Path) -> str:
    try:
        return Host(name=place.name).name
    except ValidationError:
        raise refused(place, f"a folder named {place.name!r}", "folders named as the hosts are") from None


def refused(place: Path, observed: str, required: str = FORMS) -> BadInput:
    return BadInput(
        f"{place} tells of no host",
        id="bundle",
        observed=observed,
        required=f"a bundle of `probe --save`, or {required}" if required is FORMS else required,
        next_command=f"invoke probe --hosts HOSTS --save {quote(f'{place}-new')}",
    )
