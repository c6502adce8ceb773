"""What names lead to on a host, and the proxies that its logins are given."""

from __future__ import annotations

import re
from ipaddress import ip_address

from inventory.facts.answers import Answers, Item
from inventory.facts.base import Maybe, Unknown
from inventory.facts.host import Names, Resolved

NOT_FOUND = 2  # getent: the name is in no database
PROXY = re.compile(r"(?i)^((?:https?|all|no)_proxy)=(.*)$")
LOGIN = re.compile(r"(?<=://)[^/\s@]*@")


def read_names(answers: Answers) -> Maybe[Names]:
    own = answers.item("names.own")
    if isinstance(own, Unknown):
        return own
    addresses = resolved(own)
    if isinstance(addresses, Unknown):
        return addresses
    lines = answers.text("names.hosts-file")
    return Names(
        own=addresses,
        others=tuple(
            Resolved(name, found)
            for name, item in answers.pages("names.name")
            if not isinstance(found := resolved(item), Unknown)
        ),
        hosts_lines=() if isinstance(lines, Unknown) else tuple(lines.splitlines()),
    )


def resolved(item: Item) -> Maybe[tuple[str, ...]]:
    """A name that leads nowhere is an answer."""
    if item.status == NOT_FOUND and not item.out.strip():
        return ()
    return item.reason if item.status else parse_ahosts(item.text)


def parse_ahosts(text: str) -> tuple[str, ...]:
    """`getent ahosts NAME`: an address at the start of each line, each once, in order. What is none is left out."""
    words = (line.split()[0].partition("%")[0] for line in text.splitlines() if line.strip())
    return tuple(dict.fromkeys(word for word in words if is_address(word)))


def is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def read_installers(answers: Answers) -> Maybe[tuple[tuple[str, str], ...]]:
    """Variables that pip and uv read; names and passwords in URLs are left out."""
    item = answers.item("names.installers")
    if isinstance(item, Unknown):
        return item
    pairs = (line.partition("=") for line in item.text.splitlines())
    return tuple(sorted((name, LOGIN.sub("", value)) for name, sign, value in pairs if sign))


def read_hub_token(answers: Answers) -> Maybe[bool]:
    item = answers.item("names.hub-token")
    if isinstance(item, Unknown):
        return item
    return bool(item.out.strip()) if item.status == 0 else item.reason


def read_proxies(answers: Answers) -> Maybe[tuple[tuple[str, str], ...]]:
    item = answers.item("names.proxies")
    if isinstance(item, Unknown):
        return item
    return item.reason if item.status else parse_proxies(item.text)


def parse_proxies(text: str) -> tuple[tuple[str, str], ...]:
    """The variables among lines of `env` that name proxies; a name and password in a URL are left out."""
    matches = (PROXY.match(line.strip()) for line in text.splitlines())
    return tuple(sorted((match[1], LOGIN.sub("", match[2])) for match in matches if match))
