"""Whether packets of the full MTU get to every other host whole."""

from __future__ import annotations

from inventory.facts.base import Maybe, Unknown
from inventory.quoting import quote
from playbooks.checks.active.base import Said
from playbooks.checks.base import ON_HOST, Priority, skip
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements, Requirements

ID = "net.path_mtu"
PRIORITY = Priority.P1
WHY = "where a switch drops large packets the hosts shake hands, and the first real message hangs"
DEADLINE_S = 30

_REQUIRED = "packets as large as the interface's MTU reach every other host"


def script(host: HostRequirements, needs: Requirements) -> str | Finding:
    others = [one.address for one in needs.hosts if one.host != host.host and one.address]
    if not others or host.interface is None:
        return skip(ID, host.host, "one host, or the plan has no interface for it")
    lines = [
        "command -v ping >/dev/null || { echo no-tool ping; exit 0; }",
        f"read -r mtu </sys/class/net/{quote(host.interface)}/mtu || exit 0",
        'echo mtu "$mtu"',
        "reach() {",
        '    if ping -M do -c 2 -W 2 -s "$2" "$1" >/dev/null 2>&1; then echo whole "$1"',
        '    elif ping -c 2 -W 2 "$1" >/dev/null 2>&1; then echo lost "$1"',
        '    else echo silent "$1"; fi',
        "}",
        *(f"reach {quote(address)} $((mtu - {48 if ':' in address else 28})) &" for address in others),
        "wait",
    ]
    return "\n".join(lines) + "\n"


def judge(said: Maybe[Said], host: HostRequirements, needs: Requirements) -> Finding:
    names = {one.address: one.host for one in needs.hosts}
    if isinstance(said, Unknown) or not said.value("mtu"):
        observed = str(said) if isinstance(said, Unknown) else said.complaint
        return Finding(ID, Status.UNKNOWN, host.host, observed, _REQUIRED, f"{ON_HOST}ping -M do -s 8972 ADDRESS")
    mtu = said.value("mtu")
    if lost := said.values("lost"):
        told = ", ".join(f"{names.get(one, one)} ({one})" for one in lost)
        observed = f"packets of {mtu} bytes do not get to {told}, small ones do"
        remedy = f"set the switches' MTU to {mtu} and more, or {ON_HOST}sudo ip link set {host.interface} mtu 1500"
        return Finding(ID, Status.FAIL, host.host, observed, _REQUIRED, remedy)
    if silent := said.values("silent"):
        observed = f"{', '.join(names.get(one) or one for one in silent)} do not answer pings: nothing can be told"
        return Finding(ID, Status.UNKNOWN, host.host, observed, _REQUIRED, f"{ON_HOST}ping -c 2 {silent[0]}")
    return Finding(ID, Status.PASS, host.host, f"packets of {mtu} bytes reach {len(said.values('whole'))} hosts")
