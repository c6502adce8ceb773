"""A hardware profile as these very hosts are: the taxonomy counts the GPUs of a full node. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from inventory.errors import CheckFailed
from inventory.facts.base import is_known
from launch.reasons import Reason
from launch.usable import usable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from inventory.facts.host import HostFacts
    from inventory.schema import Host
    from launch.catalogue import Found
    from launch.taxonomy import Profile

PARTITION = 0.6  # of a whole GPU's memory: a device with less is a part of one


def as_they_are(
    found: Found, hardware: str, hosts: Sequence[Host], facts: Mapping[str, HostFacts]
) -> tuple[Found, tuple[Reason, ...]]:
    """`found` with the profile of `hardware` cut to what every host has; unchanged where all are full nodes.

    All hosts of a gang carry the same number of ranks, and heads, experts and GPU teams divide by powers of two: so
    the number is the largest power of two that every host has. Raises `CheckFailed` for GPUs that are cut in parts.
    """
    profile = found.library.profile(hardware)
    counts = {host.name: _count(facts[host.name], host, profile) for host in hosts}
    least = min(counts.values())
    number = 1 << (least.bit_length() - 1) if least else 0
    if number in {0, profile.gpus}:  # with none, placing refuses and says which host
        return found, ()
    vram = profile.vram_gb and profile.vram_gb * number / profile.gpus
    cut = profile.model_copy(update={"gpu_count": number, "vram_gb": vram})
    library = replace(found.library, profiles={**found.library.profiles, hardware: cut})
    rule = "the largest power of two that every host has: all carry the same number of ranks"
    numbers = ((f"a full {hardware}", str(profile.gpus)), *((name, str(count)) for name, count in counts.items()))
    uneven = Reason("GPUs a host", str(number), rule, numbers, "facts of the hosts", warns=number < least)
    return replace(found, library=library), (uneven,)


def _count(facts: HostFacts, host: Host, profile: Profile) -> int:
    if not is_known(facts.gpus):
        return profile.gpus  # placing refuses what is unknown
    whole = (profile.vram_gb or 0) * 1e9 / profile.gpus
    devices = usable(facts.gpus)
    if len(facts.gpus.devices) > profile.gpus and any(
        (gpu.memory_bytes or whole) < whole * PARTITION for gpu in devices
    ):
        raise CheckFailed(
            "the GPUs of the host are cut in parts",
            id="gpu.mig",
            observed=f"{len(facts.gpus.devices)} devices where the node has {profile.gpus} GPUs",
            required="whole GPUs: one device each",
            next_command=f"invoke probe --hosts {host.name} --host-detail",
            host=host.name,
        )
    return len(devices)
