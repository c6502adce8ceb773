"""Every byte of the weights against the digests in the host's own list, as far as its time goes."""

from __future__ import annotations

from inventory.facts.base import Maybe, Unknown
from inventory.quoting import quote, quote_all
from playbooks.checks.active.base import Said
from playbooks.checks.active.net_pair_tcp import first_python
from playbooks.checks.base import ON_HOST, Priority, gb, skip
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements, Requirements

ID = "sto.deep_verify"
PRIORITY = Priority.P2
WHY = "a flipped bit has the right size: the model answers, and answers wrong"
DEADLINE_S = 900

_REQUIRED = "the digests of the list that came with the weights"
_PROGRAM = """
import concurrent.futures, hashlib, json, os, sys, time
folder, repo, commit, seconds = sys.argv[1:5]
end = time.monotonic() + float(seconds)
try:
    told = json.load(open(os.path.join(folder, ".bringup-manifest.json")))
except (OSError, ValueError) as error:
    print("absent", error); sys.exit(0)
if commit and (told.get("repo"), told.get("commit")) != (repo, commit):
    print("foreign", told.get("repo"), told.get("commit")); sys.exit(0)
def look(one):
    digest, read = hashlib.sha256(), 0
    try:
        with open(os.path.join(folder, one["path"]), "rb") as file:
            for block in iter(lambda: file.read(1 << 22), b""):
                digest.update(block); read += len(block)
                if time.monotonic() > end:
                    return "late"
    except OSError as error:
        return "bad %s %s" % (one["path"], error.strerror)
    return "good %d" % read if digest.hexdigest() == one["sha256"] else "bad %s digest" % one["path"]
files = sorted((one for one in told.get("files", []) if one.get("sha256")), key=lambda one: one.get("size", 0))
with concurrent.futures.ThreadPoolExecutor(8) as pool:
    for line in pool.map(look, files):
        print(line, flush=True)
"""


def script(host: HostRequirements, _needs: Requirements) -> str | Finding:
    weights = host.weights
    if weights is None or weights.path is None:
        return skip(ID, host.host, "the plan does not tell where the weights lie")
    words = quote_all([weights.path, weights.repo, weights.commit or "", str(DEADLINE_S - 20)])
    return f'{first_python(host)}\n[ -z "$python" ] || "$python" -I -c {quote(_PROGRAM)} {words} </dev/null\n'


def judge(said: Maybe[Said], host: HostRequirements, _needs: Requirements) -> Finding:
    if isinstance(said, Unknown) or said.value("no-tool"):
        return Finding(ID, Status.UNKNOWN, host.host, str(said), _REQUIRED, f"{ON_HOST}install python3")
    return skip(ID, host.host, "no list of the weights is there yet") if said.value("absent") else of(said, host.host)


def of(said: Said, host: str) -> Finding:
    look = f"{ON_HOST}sha256sum FILE"
    if foreign := said.value("foreign"):
        observed = f"the list is of {foreign}"
        return Finding(ID, Status.FAIL, host, observed, _REQUIRED, "the same deploy with --revision of the list")
    if bad := said.values("bad"):
        remedy = f"{ON_HOST}remove the file and .bringup-manifest.json: the same deploy again fetches it"
        return Finding(ID, Status.FAIL, host, f"{'; '.join(bad[:3])} ({len(bad)} in all)", _REQUIRED, remedy)
    good = [int(size) for size in said.values("good") if size.isdigit()]
    late = said.out.splitlines().count("late")
    observed = f"{len(good)} files, {gb(sum(good))}, have their digests"
    if late:
        return Finding(ID, Status.WARN, host, f"{observed}; no time for {late} more", _REQUIRED, look)
    if not good:
        return Finding(ID, Status.UNKNOWN, host, said.complaint, _REQUIRED, look)
    return Finding(ID, Status.PASS, host, observed)
