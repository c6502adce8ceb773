"""A hardware profile as these very hosts are: the taxonomy counts the GPUs of a full node. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from inventory.errors import CheckFailed
from inventory.facts.base import is_known
from launch.choosing.reasons import Reason
from launch.placing.usable import usable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from inventory.facts.host import HostFacts
    from inventory.schema import Host
    from launch.catalogue.find import Found
    from launch.catalogue.taxonomy import Profile

GIB = 1 << 30
PARTITION = 0.6  # of a whole GPU's memory: a device with less is a part of one
TOLERANCE = 0.1


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
    if number == 0:  # placing refuses, and says which host
        return found, ()
    each, why_each = _gb_of_each(profile, hardware, hosts, facts)
    reasons = (*_why_number(number, profile, hardware, counts), *why_each)
    if not reasons:
        return found, ()
    cut = profile.model_copy(update={"gpu_count": number, "vram_gb": each and each * number})
    library = replace(found.library, profiles={**found.library.profiles, hardware: cut})
    return replace(found, library=library), reasons


def _why_number(number: int, profile: Profile, hardware: str, counts: Mapping[str, int]) -> Iterator[Reason]:
    if number != profile.gpus:
        rule = "the largest power of two that every host has: all carry the same number of ranks"
        numbers = ((f"a full {hardware}", str(profile.gpus)), *((name, str(count)) for name, count in counts.items()))
        fewer = number < min(counts.values())
        yield Reason("GPUs a host", str(number), rule, numbers, "facts of the hosts", warns=fewer)


def _gb_of_each(
    profile: Profile, hardware: str, hosts: Sequence[Host], facts: Mapping[str, HostFacts]
) -> tuple[float | None, tuple[Reason, ...]]:
    """Memory of one GPU: the profile's, unless these are clearly another kind of the same name (A100, H20, GH200).

    Vendors write GiB as GB; a driver keeps up to a tenth for itself.
    """
    nominal = profile.vram_gb and profile.vram_gb / profile.gpus
    known = [gpus for host in hosts if is_known(gpus := facts[host.name].gpus)]
    sizes = [gpu.memory_bytes for gpus in known for gpu in usable(gpus)]
    smallest = min((size for size in sizes if size), default=0) / GIB
    if not nominal or not smallest or abs(smallest / nominal - 1) <= TOLERANCE:
        return nominal, ()
    numbers = ((f"a {hardware}", f"{nominal:g} GB"), ("the smallest here", f"{smallest:.1f} GiB"))
    rule = "what the driver reports: these are not the GPUs that the profile is of"
    return round(smallest), (Reason("memory of a GPU", f"{round(smallest)} GB", rule, numbers, "facts of the hosts"),)


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
