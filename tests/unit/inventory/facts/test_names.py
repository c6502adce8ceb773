from __future__ import annotations

import pytest

from inventory.facts.base import Unknown, Why
from inventory.facts.host import Names, Resolved
from inventory.facts.names import parse_ahosts, parse_proxies, read_hub_token, read_installers, read_names, read_proxies
from tests.answered import Said, answers

OWN = "10.10.0.11      STREAM tray1\n10.10.0.11      DGRAM  \n10.10.0.11      RAW    \n"
HOST: dict[str, Said] = {
    "names.own": OWN,
    "names.hosts-file": "10.10.0.11 tray1.example tray1\n",
    "names.name.1": "tray2.example\n10.10.0.12     STREAM tray2.example\n",
    "names.proxies": "http_proxy=http://joe:secret@proxy.example:3128\nNO_PROXY=localhost\nPATH=/bin\n",
    "names.installers": "PIP_INDEX_URL=https://joe:secret@mirror.example/simple\nUV_NO_BINARY=1\n",
    "names.hub-token": "file\n",
}


def test_what_names_lead_to() -> None:
    found = read_names(answers(HOST))
    assert found == Names(
        own=("10.10.0.11",),
        others=(Resolved("tray2.example", ("10.10.0.12",)),),
        hosts_lines=("10.10.0.11 tray1.example tray1",),
    )


def test_a_name_that_leads_nowhere_is_an_answer() -> None:
    found = read_names(answers({**HOST, "names.own": (2, ""), "names.name.1": (2, "")}))
    assert isinstance(found, Names)
    assert (found.own, found.others) == ((), (Resolved("", ()),))


@pytest.mark.parametrize(
    ("said", "why"), [((127, "getent: not found"), Why.MISSING_TOOL), ((1, "broken"), Why.UNREADABLE)]
)
def test_a_tool_that_is_not_there_is_not_an_empty_answer(said: Said, why: Why) -> None:
    found = read_names(answers({**HOST, "names.own": said}))
    assert isinstance(found, Unknown)
    assert found.why is why


def test_a_section_that_did_not_end_is_unknown() -> None:
    for read in (read_names, read_proxies, read_installers, read_hub_token):
        found = read(answers({}, {"names": 124}))
        assert isinstance(found, Unknown)
        assert found.why is Why.TIMED_OUT


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("127.0.1.1       STREAM tray2\n127.0.1.1       DGRAM\n", ("127.0.1.1",)),
        ("::1 STREAM tray1\n127.0.0.1 STREAM tray1\n", ("::1", "127.0.0.1")),
        ("fe80::1%eth0 STREAM tray1\n", ("fe80::1",)),
        ("getent: unrecognized option\n\n", ()),
        ("", ()),
    ],
)
def test_addresses_of_getent(text: str, expected: tuple[str, ...]) -> None:
    assert parse_ahosts(text) == expected


def test_proxies_without_their_passwords() -> None:
    expected = (("NO_PROXY", "localhost"), ("http_proxy", "http://proxy.example:3128"))
    assert read_proxies(answers(HOST)) == expected
    assert parse_proxies("no proxy here\n") == ()


def test_what_installers_are_told_and_whether_there_is_a_token() -> None:
    settings = read_installers(answers(HOST))
    assert settings == (("PIP_INDEX_URL", "https://mirror.example/simple"), ("UV_NO_BINARY", "1"))
    assert read_hub_token(answers(HOST)) is True
    assert read_hub_token(answers({**HOST, "names.hub-token": ""})) is False
