"""Caches of compiled kernels on a disk of each host's own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from inventory.facts.base import Maybe, Unknown
from inventory.facts.host import HostFacts
from playbooks.checks.base import ON_HOST, Priority, nodes_of, skip
from playbooks.checks.file_systems import Place, place_of
from playbooks.checks.stored import missing_fact
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements, Requirements

ID = "sto.jit_cache_local"
PRIORITY = Priority.P0
WHY = "hosts that compile into one shared folder spoil each other's kernels, or wait for each other's locks for ever"

CACHES = (
    "VLLM_CACHE_ROOT",
    "DG_JIT_CACHE_DIR",
    "TILELANG_CACHE_DIR",
    "TORCHINDUCTOR_CACHE_DIR",
    "TRITON_CACHE_DIR",
    "TORCH_EXTENSIONS_DIR",
    "FLASHINFER_WORKSPACE_BASE",
    "AITER_JIT_DIR",
    "XDG_CACHE_HOME",
)
_REQUIRED = "caches of compiled kernels on a disk of each host's own"
_LOOK = f"{ON_HOST}findmnt -t nfs,nfs4,lustre,cifs,beegfs,ceph,fuse"

Found = tuple[str, str, Place]  # variable, path, what it lies on


def check(facts: Mapping[str, HostFacts], needs: Requirements) -> tuple[Finding, ...]:
    if nodes_of(needs) < 2:
        return (skip(ID, "", "one host: no other compiles into its caches"),)
    told = {one.host: list(places(facts[one.host], one)) for one in needs.hosts if one.host in facts}
    sources = {host: {where.source or where.mount for _, _, where in known(one)} for host, one in told.items()}
    return tuple(of_host(host, told[host], sources) for host in told)


def places(facts: HostFacts, needs: HostRequirements) -> Iterator[tuple[str, str, Maybe[Place]]]:
    """What each cache of the plan lies on; without a variable, caches are below the home folder."""
    env = dict(needs.env)
    paths = {name: env[name] for name in CACHES if env.get(name, "").startswith("/")}
    if env.get("HOME", "").startswith("/"):
        paths["HOME"] = f"{env['HOME'].rstrip('/')}/.cache"
    for name, path in paths.items():
        yield name, path, place_of(facts, path)


def known(found: list[tuple[str, str, Maybe[Place]]]) -> list[Found]:
    return [(name, path, place) for name, path, place in found if isinstance(place, Place) and place.is_network]


def of_host(host: str, found: list[tuple[str, str, Maybe[Place]]], sources: Mapping[str, set[str]]) -> Finding:
    if not found:
        return skip(ID, host, "the plan does not tell where caches lie")
    unknown = next((place for _, _, place in found if isinstance(place, Unknown)), None)
    remote = known(found)
    if not remote:
        if unknown is not None:
            return missing_fact(ID, host, unknown, _REQUIRED, _LOOK)
        return Finding(ID, Status.PASS, host, f"{', '.join(name for name, _, _ in found)} are on local disks")
    observed = "; ".join(f"{name}={path} is on {place}" for name, path, place in remote)
    others = set().union(*(one for other, one in sources.items() if other != host))
    shared = any((place.source or place.mount) in others for _, _, place in remote)
    exports = " ".join(f"{name}=/var/tmp/caches/{name.lower()}" for name, _, _ in remote)
    remedy = f"in inventory/hosts.yaml, env: of the hosts, for local disks: {exports}"
    return Finding(ID, Status.FAIL if shared else Status.WARN, host, observed, _REQUIRED, remedy)
