"""Where ranks write libraries that they then load: not on a file system that is mounted noexec."""

from __future__ import annotations

from collections.abc import Mapping

from inventory.facts.base import Unknown, is_known
from inventory.facts.host import HostFacts
from inventory.quoting import quote
from playbooks.checks.base import ON_HOST, Priority, skip
from playbooks.checks.file_systems import place_of
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements, Requirements

ID = "os.exec_dirs"
PRIORITY = Priority.P1
WHY = "kernels are compiled to libraries there, and a noexec mount lets none be loaded"

FOLDERS = ("TMPDIR", "VLLM_CACHE_ROOT", "TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "XDG_CACHE_HOME")
TEMPORARY = "/tmp"  # noqa: S108  (where TMPDIR is not set; Inductor's cache lies there too)
_REQUIRED = "TMPDIR and the caches on a file system without noexec"


def check(facts: Mapping[str, HostFacts], needs: Requirements) -> tuple[Finding, ...]:
    if needs.container is not None:
        return (skip(ID, "", "ranks in a container have folders of their own"),)
    return tuple(_of_host(facts[one.host], one) for one in needs.hosts if one.host in facts)


def _of_host(facts: HostFacts, needs: HostRequirements) -> Finding:
    if isinstance(facts.mounts, Unknown):
        return skip(ID, facts.host, f"mounts are {facts.mounts}")
    folders = folders_of(dict(needs.env))
    places = {name: place_of(facts, path) for name, path in folders.items()}
    bad = {name: place for name, place in places.items() if is_known(place) and "noexec" in place.options}
    if bad:
        told = [f"{name} ({folders[name]}) lies on {place.mount}, mounted noexec" for name, place in bad.items()]
        mount = next(iter(bad.values())).mount
        remedy = f"set {' and '.join(bad)} to another disk, or {ON_HOST}sudo mount -o remount,exec {quote(mount)}"
        return Finding(ID, Status.FAIL, facts.host, "; ".join(told), _REQUIRED, remedy)
    return Finding(ID, Status.PASS, facts.host, f"{', '.join(folders.values())} may hold programs")


def folders_of(env: Mapping[str, str]) -> dict[str, str]:
    """By variable; Inductor's cache lies below TMPDIR where it has no place of its own."""
    told = {name: env[name] for name in FOLDERS if env.get(name, "").startswith("/")}
    return {"TMPDIR": TEMPORARY, **told}
