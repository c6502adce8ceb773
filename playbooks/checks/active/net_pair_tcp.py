"""Whether every host reaches every other over TCP: at the port where ranks join, and at one that nobody chose.

Ranks talk over ports that the kernel picks, in both directions: a firewall that opens the known ports alone lets the
start hang half-way.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from inventory.facts.base import Maybe, Unknown
from inventory.quoting import quote, quote_all
from playbooks.argv import number, options
from playbooks.checks.active.base import Said, python_of
from playbooks.checks.active.programs import CONNECT, LISTEN, MARK
from playbooks.checks.base import ON_HOST, Priority, skip
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements, Requirements

ID = "net.pair_tcp"
PRIORITY = Priority.P0
WHY = "ranks whose packets are dropped wait for half an hour, and the head for ever"
DEADLINE_S = 60

CONNECT_S = 4
_JOIN_PORTS = ("--data-parallel-rpc-port", "--master-port")
_REQUIRED = "every host reaches every other over TCP on the planned addresses, at any port"
_REMEDY = f"{ON_HOST}sudo nft list ruleset (or iptables -L -n -v): open all TCP between the hosts on that interface"


def listen(host: HostRequirements, needs: Requirements) -> str | Finding:
    if len(needs.hosts) < 2:
        return skip(ID, host.host, "one host: nobody connects to it")
    if host.address is None:
        return skip(ID, host.host, "the plan has no address for it: see net.iface")
    ports = [str(port) for port in (join_port(needs), 0) if port is not None]
    words = quote_all([MARK, str(DEADLINE_S), host.address, *ports])
    return f'{first_python(host)}\n"$python" -I -c {quote(LISTEN)} {words} </dev/null\n'


def connect(host: HostRequirements, needs: Requirements, listening: Mapping[str, Maybe[Said]]) -> str | Finding:
    targets = [
        word
        for other in needs.hosts
        if other.host != host.host and other.address
        for port in open_ports(listening.get(other.host))
        for word in (other.address, port)
    ]
    if not targets or host.address is None:
        return skip(ID, host.host, "no other host listens")
    words = quote_all([str(CONNECT_S), host.address, *targets])
    return f'{first_python(host)}\n"$python" -I -c {quote(CONNECT)} {words} </dev/null || {with_shell(targets)}\n'


def first_python(host: HostRequirements) -> str:
    """A line that sets `python` to one that runs, else to nothing."""
    own = python_of(host)
    tried = " ".join([*([quote(own)] if own else []), "python3", "python"])
    return (
        f"python=\nfor one in {tried}; do\n"
        "    if \"$one\" -I -c 'import socket, concurrent.futures' 2>/dev/null; then python=$one; break; fi\n"
        "done\n"
        '[ -n "$python" ] || echo no-tool python3'
    )


def with_shell(targets: list[str]) -> str:
    """Without a Python: bash can connect too."""
    tries = []
    for address, port in zip(targets[::2], targets[1::2], strict=True):
        attempt = f"timeout {CONNECT_S} bash -c {quote(f'exec 3<>/dev/tcp/{address}/{port}')} 2>/dev/null"
        tries.append(f"if {attempt}; then echo connected {address} {port}; else echo failed {address} {port} error; fi")
    return "{ command -v bash >/dev/null && { " + "; ".join(tries) + "; }; }"


def hang_up(said: Said) -> str:
    """End the listener, if the process of that number is one."""
    pid = said.value("pid") or ""
    if not pid.isdigit():
        return ":\n"
    return f"if tr '\\0' ' ' </proc/{pid}/cmdline 2>/dev/null | grep -q -F {MARK}; then kill {pid}; fi\n"


def join_port(needs: Requirements) -> int | None:
    """Where ranks join the head, by its own command."""
    head = next((one for one in needs.hosts if one.host == needs.head), None)
    told = options(head.argv) if head else {}
    return next((port for name in _JOIN_PORTS if (port := number(told, name)) is not None), None)


def open_ports(said: Maybe[Said] | None) -> tuple[str, ...]:
    lines = said.values("listening") if isinstance(said, Said) else ()
    return tuple(line.partition(" ")[0] for line in lines)


def judge(
    listening: Mapping[str, Maybe[Said]], connected: Mapping[str, Maybe[Said]], needs: Requirements
) -> tuple[Finding, ...]:
    mute = tuple(unheard(host, said) for host, said in {**connected, **listening}.items() if not worked(said))
    names = {one.address: one.host for one in needs.hosts if one.address}
    failed: dict[str, list[str]] = {}
    count = 0
    for host, said in connected.items():
        if isinstance(said, Said):
            count += len(said.values("connected"))
            failed[host] = list(failures(said, names))
    wrong = {host: lines for host, lines in failed.items() if lines}
    if wrong:
        return (*mute, *(of_host(host, lines) for host, lines in wrong.items()))
    return (
        *mute,
        *([Finding(ID, Status.PASS, "", f"{count} connections between the hosts, each way")] if count else []),
    )


def worked(said: Maybe[Said]) -> bool:
    return isinstance(said, Said) and any(said.values(one) for one in ("listening", "connected", "failed"))


def unheard(host: str, said: Maybe[Said]) -> Finding:
    observed = str(said) if isinstance(said, Unknown) else said.complaint
    tools = said.value("no-tool") if isinstance(said, Said) else None
    observed = f"nothing to try it with: no {tools}" if tools else observed
    return Finding(ID, Status.UNKNOWN, host, observed, _REQUIRED, f"{ON_HOST}install python3, or try with nc")


def failures(said: Said, names: Mapping[str, str]) -> Iterator[str]:
    for line in said.values("failed"):
        address, port, why = (*line.split(), "?", "?", "error")[:3]
        yield f"{names.get(address, address)} ({address}:{port}) {meaning(why)}"


def meaning(why: str) -> str:
    words = {
        "timeout": "does not answer: packets are dropped on the way",
        "ETIMEDOUT": "does not answer: packets are dropped on the way",
        "ECONNREFUSED": "refuses: something on the way rejects connections",
        "EHOSTUNREACH": "cannot be reached: no route, or a firewall says so",
        "ENETUNREACH": "cannot be reached: no route to its network",
    }
    return words.get(why, f"cannot be connected to ({why})")


def of_host(host: str, lines: list[str]) -> Finding:
    more = f"; and {len(lines) - 3} more" if len(lines) > 3 else ""
    return Finding(ID, Status.FAIL, host, f"from {host}: {'; '.join(lines[:3])}{more}", _REQUIRED, _REMEDY)
