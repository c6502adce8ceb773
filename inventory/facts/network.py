"""Interfaces, addresses, routes to the other hosts, and who listens."""

from __future__ import annotations

import re
from ipaddress import IPv4Address, IPv6Address, ip_address

from inventory.facts.answers import Answers
from inventory.facts.base import Maybe, Unknown, Why
from inventory.facts.host import Interface, Listener, Network, Route

LINK = re.compile(r"(?m)^\d+:\s+([^\s:@]+)(?:@\S+)?:\s+<([^>]*)>\s+mtu\s+(\d{1,9})(.*)$")
ADDRESS = re.compile(r"(?m)^\d+:\s+([^\s:@]+)\S*\s+inet6?\s+([0-9A-Fa-f:.]+)")
SPEED = re.compile(r"/sys/class/net/([^/]+)/speed:(\d{1,9})")
ROUTE = re.compile(r"\bdev\s+(\S+).*?\bsrc\s+([0-9A-Fa-f:.]+)")
DESTINATION = re.compile(r"(?:[a-z]+\s+)?([0-9.]+)\s")  # `local 10.0.0.1 dev lo ...` is this host itself
# Made by container engines for their containers: never a way to another host.
CLUTTER = re.compile(
    r"veth[0-9a-f]{6,}|docker\d+|br-[0-9a-f]{12}|virbr\d+(-nic)?|cni\d+|cali[0-9a-f]{6,}|flannel\.\d+|lxc.*"
)


def read_network(answers: Answers) -> Maybe[Network]:
    """An address without a route is not among the routes: the kernel said that it has none."""
    links, addresses = answers.text("network.links"), answers.text("network.addresses")
    ports = answers.text("network.ports")
    for needed in (links, addresses, ports):
        if isinstance(needed, Unknown):
            return needed
    ephemeral = re.fullmatch(r"(\d{1,5})\s+(\d{1,5})\s*", str(ports))
    if ephemeral is None:
        return Unknown(Why.UNREADABLE, f"ip_local_port_range says {str(ports)[:40]!r}")
    speeds = answers.text("network.speeds")
    return Network(
        interfaces=interfaces(str(links), str(addresses), "" if isinstance(speeds, Unknown) else speeds),
        routes=read_routes(answers),
        ephemeral_ports=(int(ephemeral[1]), int(ephemeral[2])),
        reserved_ports=port_ranges(answers.text("network.reserved")),
    )


def port_ranges(text: Maybe[str]) -> tuple[tuple[int, int], ...]:
    """`8000,29500-29510` as the kernel prints it; an empty file is none."""
    if isinstance(text, Unknown):
        return ()
    found = re.findall(r"(\d{1,5})(?:-(\d{1,5}))?", text)
    return tuple((int(first), int(last or first)) for first, last in found)


def interfaces(links: str, addresses: str, speeds: str) -> tuple[Interface, ...]:
    """From `ip -o link`, `ip -o addr` and the speed files, in the kernel's order."""
    by_name: dict[str, list[str]] = {}
    for name, address in ADDRESS.findall(addresses):
        by_name.setdefault(name, []).append(address)
    speed = {name: int(value) for name, value in SPEED.findall(speeds)}
    return tuple(
        Interface(
            name=name,
            state=link_state(flags.split(","), rest),
            mtu=int(mtu),
            addresses=tuple(by_name.get(name, ())),
            speed_mbit=speed.get(name),
        )
        for name, flags, mtu, rest in LINK.findall(links)
        if not CLUTTER.fullmatch(name)
    )


def link_state(flags: list[str], rest: str) -> str:
    """`state UNKNOWN` (loopback, tunnels) and busybox, which prints no state, are decided by the flags."""
    told = re.search(r"\bstate (\w+)", rest)
    state = told[1].lower() if told else "unknown"
    if state != "unknown":
        return state
    return "up" if {"UP", "LOWER_UP"} <= set(flags) else "down" if "UP" not in flags else "unknown"


def read_routes(answers: Answers) -> tuple[Route, ...]:
    """Asked in one list, each line of the answer then begins with its address, or each on a page of its own."""
    listed = answers.item("network.routes")
    lines = () if isinstance(listed, Unknown) else listed.text.splitlines()
    told = [(match[1], line) for line in lines if (match := DESTINATION.match(line))]
    told += [(to, item.text) for to, item in answers.pages("network.route")]
    return tuple(route for to, text in told if (route := read_route(to, text)))


def read_route(to: str, text: str) -> Route | None:
    match = ROUTE.search(text)
    return Route(to=to, interface=match[1], source=match[2]) if match else None


def read_listeners(answers: Answers) -> Maybe[tuple[Listener, ...]]:
    """Listening TCP sockets; which process holds one is only told to its owner and to root."""
    text = answers.text("listeners.ss")
    if not isinstance(text, Unknown):
        return tuple(one for line in text.splitlines() if (one := listener(line)))
    item = answers.item("listeners.tables")
    if isinstance(item, Unknown):
        return text
    # grep's status 1 is an empty table; 2 is one that could not be read, IPv6 switched off among them.
    if item.status > 1 and not item.out:
        return item.reason
    return tuple(one for line in item.text.splitlines() if (one := table_entry(line)))


def listener(line: str) -> Listener | None:
    """A line of `ss -ltnp`; None for its header."""
    words = line.split(maxsplit=5)
    if len(words) < 5 or words[0] != "LISTEN":
        return None
    address, _, port = words[3].rpartition(":")
    if not re.fullmatch(r"\d{1,5}", port):
        return None
    holder = re.search(r'\("([^"]*)",pid=(\d+)', words[5] if len(words) > 5 else "")
    return Listener(
        address=plain_address(address), port=int(port), process=f"{holder[1]} {holder[2]}" if holder else None
    )


def plain_address(text: str) -> str:
    """`[::]` → `::`, `127.0.0.53%lo` → `127.0.0.53`, `*` → `::` (one socket for both families)."""
    bare = text.strip("[]").partition("%")[0]
    return "::" if bare == "*" else bare


def table_entry(line: str) -> Listener | None:
    """A line of /proc/net/tcp or tcp6: ` 0: 0100007F:1F90 00000000:0000 0A ...`, each 32-bit word in host order."""
    match = re.match(r"\s*\d+:\s+([0-9A-F]{8}|[0-9A-F]{32}):([0-9A-F]{4})\s+\S+\s+0A\s", line)
    if match is None:
        return None
    words = [bytes.fromhex(match[1][at : at + 8])[::-1] for at in range(0, len(match[1]), 8)]
    packed = b"".join(words)
    address: IPv4Address | IPv6Address = ip_address(packed)
    return Listener(address=str(address), port=int(match[2], 16), process=None)


def parse_netstat(text: str) -> tuple[Interface, ...]:
    """`netstat -i`, as reports show it: flag R (running) is a carrier. Addresses and speed are not told."""
    return tuple(
        Interface(name=name, state="up" if "R" in flags else "down", mtu=int(mtu), addresses=(), speed_mbit=None)
        for name, mtu, flags in re.findall(r"(?m)^(\S+)\s+(\d{1,6})\s+\d+ .*\s([A-Z]+)\s*$", text)
    )
