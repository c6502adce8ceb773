"""A mebibyte is written and synced in each folder that the ranks and the deploy write to, and taken away again.

`df` does not see quotas, and a disk can take a name and not the data.
"""

from __future__ import annotations

import re

from inventory.facts.base import Maybe, Unknown
from inventory.quoting import quote
from playbooks.checks.active.base import Said
from playbooks.checks.base import ON_HOST, Priority, skip
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements, Requirements

ID = "os.quota"
PRIORITY = Priority.P2
WHY = "a quota that is used up, or a disk without inodes, stops a rank when it writes its first kernel"
DEADLINE_S = 60

VARIABLES = ("TMPDIR", "VLLM_CACHE_ROOT", "TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "HF_HOME")
FEW_INODES = 5  # percent
_REQUIRED = "a mebibyte can be written in every folder of the plan, and 5 % of the inodes are free"
_LOOK = f"{ON_HOST}quota -s; df -h; df -i"
_TRY = """
try() {
    folder=$1
    while [ ! -d "$folder" ]; do folder=${folder%/*}; folder=${folder:-/}; done
    free=$(df -P -i "$folder" 2>/dev/null | awk 'NR == 2 && $2 > 0 { printf "%d", $4 * 100 / $2 }')
    # A parent that only root writes to is made writable by the deploy: that is another check's.
    [ -w "$folder" ] || { echo "closed ${free:--} $1"; return; }
    file=$(mktemp "$folder/.bringup-quota.XXXXXX" 2>&1) || { echo "failed ${free:--} $1: $file"; return; }
    if said=$(dd if=/dev/zero of="$file" bs=65536 count=16 conv=fsync 2>&1); then
        echo "wrote ${free:--} $1"
    else
        echo "failed ${free:--} $1: $(printf '%s' "$said" | head -n 1)"
    fi
    rm -f "$file"
}
"""


def script(host: HostRequirements, _needs: Requirements) -> str | Finding:
    folders = folders_of(host)
    if not folders:
        return skip(ID, host.host, "the plan does not tell where it writes")
    return _TRY + "".join(f"try {quote(folder)}\n" for folder in folders)


def folders_of(host: HostRequirements) -> tuple[str, ...]:
    env = dict(host.env)
    told = [*(space.path for space in host.space), *(env.get(name, "") for name in VARIABLES)]
    return tuple(dict.fromkeys(path for path in told if path.startswith("/")))


def judge(said: Maybe[Said], host: HostRequirements, _needs: Requirements) -> Finding:
    if isinstance(said, Unknown):
        return Finding(ID, Status.UNKNOWN, host.host, str(said), _REQUIRED, _LOOK)
    rows = re.findall(r"(?m)^(wrote|failed|closed) (\d+|-) (/.*)$", said.out)
    if len(rows) < len(folders_of(host)):
        return Finding(ID, Status.UNKNOWN, host.host, said.complaint, _REQUIRED, _LOOK)
    failed = [told for kind, _, told in rows if kind == "failed"]
    if failed:
        return Finding(ID, Status.FAIL, host.host, "; ".join(failed), _REQUIRED, _LOOK)
    few = [f"{path} ({free} %)" for _, free, path in rows if free != "-" and int(free) < FEW_INODES]
    if few:
        return Finding(ID, Status.WARN, host.host, f"few inodes are free: {', '.join(few)}", _REQUIRED, _LOOK)
    written = sum(kind == "wrote" for kind, _, _ in rows)
    closed = len(rows) - written
    observed = f"{written} folders took a mebibyte" + (f", {closed} need root" if closed else "")
    return Finding(ID, Status.PASS, host.host, observed)
