"""How fast the weights are read, and how long loading them will take."""

from __future__ import annotations

from inventory.facts.base import Maybe, Unknown
from inventory.quoting import quote
from playbooks.checks.active.base import Said
from playbooks.checks.base import ON_HOST, Priority, gb, skip
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements, Requirements

ID = "sto.read_rate"
PRIORITY = Priority.P2
WHY = "loading is mostly reading: a slow disk makes every start slow, and time-outs strike"
DEADLINE_S = 120

_MEBIBYTES = 2048
_SLOW_S = 15 * 60


def script(host: HostRequirements, _needs: Requirements) -> str | Finding:
    if host.weights is None or host.weights.path is None:
        return skip(ID, host.host, "the plan does not tell where the weights lie")
    return "\n".join(
        [
            f"cd {quote(host.weights.path)} 2>/dev/null || {{ echo absent; exit 0; }}",
            "file=$(find -L . -type f -name '*.safetensors' -size +64M | head -n 1)",
            '[ -n "$file" ] || { echo absent; exit 0; }',
            'echo total "$(du -L -k -s . | cut -f 1)"',
            # Past the page cache, which would tell of memory; where that cannot be, as it is.
            "begun=$(date +%s.%N)",
            f'read_it() {{ dd if="$file" of=/dev/null bs=16M count={_MEBIBYTES // 16} "$@" 2>&1; }}',
            "said=$(read_it iflag=direct) || { begun=$(date +%s.%N); said=$(read_it); echo cached; }",
            'echo times "$begun" "$(date +%s.%N)"',
            "printf '%s\\n' \"$said\" | sed -n 's/^\\([0-9]*\\) bytes.*/bytes \\1/p'\n",
        ]
    )


def judge(said: Maybe[Said], host: HostRequirements, _needs: Requirements) -> Finding:
    required = f"all weights read in {_SLOW_S // 60} minutes"
    look = f"{ON_HOST}dd if=FILE of=/dev/null bs=16M count=128 iflag=direct"
    if isinstance(said, Said) and "absent" in said.out.split():
        return skip(ID, host.host, "no weights of any size are there yet")
    rate = rate_of(said) if isinstance(said, Said) else None
    if rate is None:
        observed = str(said) if isinstance(said, Unknown) else said.complaint
        return Finding(ID, Status.UNKNOWN, host.host, observed, required, look)
    total = int((said.value("total") if isinstance(said, Said) else None) or 0) * 1024
    seconds = total / rate
    cached = isinstance(said, Said) and "cached" in said.out.split()
    observed = f"{gb(int(rate))}/s{' with the page cache' if cached else ''}: {gb(total)} in {seconds / 60:.1f} min"
    if seconds > _SLOW_S:
        remedy = "a local NVMe disk for state_dir, or --set safetensors-load-strategy=prefetch on a network file system"
        return Finding(ID, Status.WARN, host.host, observed, required, remedy)
    return Finding(ID, Status.PASS, host.host, observed)


def rate_of(said: Said) -> float | None:
    """Bytes per second."""
    try:
        begun, ended = map(float, (said.value("times") or "").split())
        size = int(said.value("bytes") or "")
    except ValueError:
        return None
    return size / (ended - begun) if ended > begun and size else None
