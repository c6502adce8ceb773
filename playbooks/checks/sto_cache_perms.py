from __future__ import annotations

from inventory.facts.base import is_known
from inventory.facts.host import HostFacts
from inventory.quoting import quote
from playbooks.checks.base import ON_HOST, Priority, skip
from playbooks.checks.sto_jit_cache_local import CACHES
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements

ID = "sto.cache_perms"
PRIORITY = Priority.P1
WHY = "a cache that ranks cannot write stops the start with EACCES, or compiles everything anew each time"

_HUB = ("HF_HOME", "HF_HUB_CACHE", "TRANSFORMERS_CACHE")


def check(facts: HostFacts, needs: HostRequirements) -> Finding:
    env = dict(needs.env)
    paths = {name: env[name] for name in (*CACHES, *_HUB) if env.get(name, "").startswith("/")}
    if not paths or not is_known(facts.file_systems):
        return skip(ID, facts.host, "the plan names no cache, or no file system was read: see sto.writable")
    asked = {one.asked: one for one in facts.file_systems}
    looked_at = {name: asked[path] for name, path in paths.items() if path in asked}
    closed = [name for name, one in looked_at.items() if not one.writable]
    if not looked_at:
        return skip(ID, facts.host, "nobody asked about these folders: see sto.writable")
    if not closed:
        return Finding(ID, Status.PASS, facts.host, f"{', '.join(looked_at)} can be written")
    path = paths[closed[0]]
    observed = f"{closed[0]}={path} cannot be written by the login user, who runs the ranks"
    remedy = f'{ON_HOST}sudo install -d -o "$USER" {quote(path)}; on NFS, root_squash forbids root too'
    return Finding(ID, Status.FAIL, facts.host, observed, "caches that the ranks can write", remedy)
