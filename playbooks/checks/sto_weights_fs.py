from __future__ import annotations

from inventory.facts.base import Unknown
from inventory.facts.host import HostFacts
from inventory.quoting import quote
from playbooks.argv import options
from playbooks.checks.base import ON_HOST, Priority, skip
from playbooks.checks.file_systems import Place, place_of
from playbooks.checks.stored import missing_fact
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements

ID = "sto.weights_fs"
PRIORITY = Priority.P1
WHY = "every rank reads the whole checkpoint at the same time: over a network that decides the time to ready"

_REQUIRED = "weights on a local disk, or a load strategy that reads whole files"
_HUB = ("HF_HUB_CACHE", "HF_HOME", "HUGGINGFACE_HUB_CACHE")
_STRATEGY = "--safetensors-load-strategy"


def check(facts: HostFacts, needs: HostRequirements) -> Finding:
    path, is_hub_cache = path_of(needs)
    if path is None:
        return skip(ID, facts.host, "the plan does not tell where the weights lie")
    place = place_of(facts, path)
    if isinstance(place, Unknown):
        return missing_fact(ID, facts.host, place, _REQUIRED, f"{ON_HOST}findmnt -T {quote(path)}")
    if not place.is_network:
        return Finding(ID, Status.PASS, facts.host, f"{path} is on {place}")
    if is_hub_cache and lacks_locks(place):
        observed = f"{path} is on {place} without file locks, and the hub's client relies on them"
        remedy = f"{ON_HOST}mount it with flock, or set {_HUB[0]} to a local disk"
        return Finding(ID, Status.FAIL, facts.host, observed, _REQUIRED, remedy)
    chosen = options(needs.argv).get(_STRATEGY)
    observed = f"{path} is on {place}, {_STRATEGY} {chosen or 'is not set'}"
    remedy = f"copy the weights to a local disk, or {_STRATEGY}=prefetch with enough memory for the page cache"
    return Finding(ID, Status.WARN, facts.host, observed, _REQUIRED, remedy)


def path_of(needs: HostRequirements) -> tuple[str | None, bool]:
    """Where the weights lie, and whether that is a cache of the hub's client."""
    if needs.weights and needs.weights.path:
        return needs.weights.path, False
    told = dict(needs.env)
    return next((told[name] for name in _HUB if told.get(name, "").startswith("/")), None), True


def lacks_locks(place: Place) -> bool:
    if place.type.startswith(("cifs", "smb")):
        return True
    return place.type == "lustre" and bool(place.options) and not {"flock", "localflock"} & set(place.options)
