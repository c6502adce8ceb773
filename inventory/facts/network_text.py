"""Interfaces and routes as `ip` prints them for people: `ip addr`, `-o`, `-br` and `-j`.

On a host the one-line form is asked for; the others are what reports show.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from inventory.facts.host import Interface, Route
from inventory.facts.jsontext import Fields, as_objects, parse
from inventory.facts.network import interfaces, link_state, read_route

HEAD = re.compile(r"(?m)^\d+:\s+([^\s:@]+)(?:@\S+)?:\s+<([^>]*)>\s+mtu\s+(\d{1,9})(.*)$")
INET = re.compile(r"(?m)^\s+inet6?\s+([0-9A-Fa-f:.]+)")
BRIEF = re.compile(r"(?m)^(\w[^\s:@]*)(?:@\S+)?\s+(UP|DOWN|UNKNOWN)\b[ \t]*(.*)$")
DESTINATION = re.compile(r"(?m)^(?:local\s+|unicast\s+)?([0-9A-Fa-f:.]+)\s+(?:via\s+\S+\s+)?dev\s.*$")


def parse_ip(text: str) -> tuple[Interface, ...]:
    """Of any of the forms; a brief one tells no MTU, which is 0 then. Bridges of containers are listed too."""
    told = parse(text)
    if isinstance(told, list):
        return tuple(of_json(one) for one in as_objects(told) if one.text("ifname"))
    if HEAD.search(text):
        return tuple(of_blocks(text)) if INET.search(text) else interfaces(text, text, "") or tuple(of_blocks(text))
    return tuple(
        Interface(name, state.lower(), 0, tuple(word.partition("/")[0] for word in rest.split() if "/" in word), None)
        for name, state, rest in BRIEF.findall(text)
    )


def of_blocks(text: str) -> Iterator[Interface]:
    matches = list(HEAD.finditer(text))
    ends = [*(match.start() for match in matches[1:]), len(text)]
    for match, end in zip(matches, ends, strict=False):
        own = tuple(INET.findall(text[match.end() : end]))
        yield Interface(match[1], link_state(match[2].split(","), match[4]), int(match[3]), own, None)


def of_json(one: Fields) -> Interface:
    flags = one.members.get("flags")
    state = link_state(
        [str(flag) for flag in flags] if isinstance(flags, list) else [],
        f"state {one.text('operstate')}" if one.text("operstate") else "",
    )
    addresses = tuple(local for info in one.objects("addr_info") if (local := info.text("local")))
    return Interface(one.text("ifname"), state, one.number("mtu") or 0, addresses, None)


def parse_routes(text: str) -> tuple[Route, ...]:
    """`ip route get ADDRESS`, one after the other, plain or `-j`."""
    told = parse(text)
    if isinstance(told, list):
        found = (Route(one.text("dst"), one.text("dev"), one.text("prefsrc")) for one in as_objects(told))
        return tuple(one for one in found if one.interface)
    pairs = ((match[1], match[0]) for match in DESTINATION.finditer(text))
    return tuple(route for to, line in pairs if (route := read_route(to, line)))


def parse_port_range(text: str) -> tuple[int, int] | None:
    """Two numbers, with or without the name of the setting before them; None: no such pair."""
    found = re.search(r"(\d{1,5})\s+(\d{1,5})\s*$", text.strip())
    return (int(found[1]), int(found[2])) if found else None
