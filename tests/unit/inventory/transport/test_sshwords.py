"""Words of OpenSSH 9.2 as they were seen on failed logins, names and keys replaced."""

from __future__ import annotations

import pytest

from inventory.transport.sshwords import (
    HOST_KEY,
    failure_kind,
    key_name,
    last_line,
    offered_key,
    on_the_way,
    without_debug,
)

PROXY_END = "kex_exchange_identification: Connection closed by remote host\nConnection closed by UNKNOWN port 65535\n"

UNKNOWN_KEY = (
    "No ED25519 host key is known for [10.0.0.1]:2222 and you have requested strict checking.\n"
    "Host key verification failed.\n"
)
CHANGED_KEY = """\
@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@
@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @
@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@
IT IS POSSIBLE THAT SOMEONE IS DOING SOMETHING NASTY!
Someone could be eavesdropping on you right now (man-in-the-middle attack)!
It is also possible that a host key has just been changed.
The fingerprint for the ED25519 key sent by the remote host is
SHA256:bWgPrzq9cDmIg/37k/Wqk4xnWKrlEIxifiXLk7fgEWo.
Please contact your system administrator.
Add correct host key in /home/me/.ssh/known_hosts to get rid of this message.
Offending ED25519 key in /home/me/.ssh/known_hosts:1
Host key for tray1 has changed and you have requested strict checking.
Host key verification failed.
"""
REVOKED_KEY = """\
@       WARNING: REVOKED HOST KEY DETECTED!               @
The ED25519 host key for tray1 is marked as revoked.
ED25519 host key for tray1 was revoked and you have requested strict checking.
Host key verification failed.
"""

SEEN = [
    (UNKNOWN_KEY, HOST_KEY),
    (CHANGED_KEY, HOST_KEY),
    (REVOKED_KEY, HOST_KEY),
    ("ssh: Could not resolve hostname tray9: Name or service not known\n", "dns"),
    ("ssh: connect to host 10.0.0.1 port 22: Connection refused\n", "refused"),
    ("ssh: connect to host 10.0.0.1 port 22: Connection timed out\n", "timeout"),
    ("ssh: connect to host 10.0.0.1 port 22: No route to host\n", "no-route"),
    ("ssh: connect to host 10.0.0.1 port 22: Network is unreachable\n", "no-route"),
    ("Connection timed out during banner exchange\nConnection to 10.0.0.1 port 22 timed out\n", "timeout"),
    ("Timeout, server 10.0.0.1 not responding.\n", "timeout"),
    ("me@10.0.0.1: Permission denied (publickey,password).\n", "auth"),
    ("Received disconnect from 10.0.0.1 port 22:2: Too many authentication failures\n", "auth"),
    (
        "kex_exchange_identification: Connection closed by remote host\nConnection closed by 10.0.0.1 port 22\n",
        "banner",
    ),
    ("kex_exchange_identification: read: Connection reset by peer\nConnection reset by 10.0.0.1 port 22\n", "banner"),
    ("Unable to negotiate with 10.0.0.1 port 22: no matching MAC found. Their offer: umac-64@openssh.com\n", "kex"),
    (
        "channel 0: open failed: connect failed: Connection refused\nstdio forwarding failed\n" + PROXY_END,
        "jump",
    ),
    ("me@10.0.0.9: Permission denied (publickey).\n" + PROXY_END, "auth"),
    ("ssh: connect to host 10.0.0.9 port 22: Connection refused\n" + PROXY_END, "refused"),
    (UNKNOWN_KEY + PROXY_END, HOST_KEY),
    (PROXY_END, "banner"),
    ("sign_and_send_pubkey: signing failed: agent refused operation\n", "ssh-failed"),
    ("", None),
    ("\n", None),
]


@pytest.mark.parametrize(("words", "kind"), SEEN)
def test_each_failure_has_its_id(words: str, kind: str | None) -> None:
    assert failure_kind(words) == kind


@pytest.mark.parametrize(
    ("words", "hop"),
    [
        ("me@10.0.0.9: Permission denied (publickey).\n" + PROXY_END, True),
        ("me@10.0.0.1: Permission denied (publickey).\n", False),
        ("channel 0: open failed: connect failed: Connection refused\n" + PROXY_END, False),
        (PROXY_END, False),
    ],
)
def test_a_failure_on_the_way_is_told_from_one_at_the_end(words: str, *, hop: bool) -> None:
    assert on_the_way(words) is hop


@pytest.mark.parametrize(
    ("words", "name"),
    [(UNKNOWN_KEY, "[10.0.0.1]:2222"), (CHANGED_KEY, "tray1"), (REVOKED_KEY, "tray1"), (PROXY_END, "")],
)
def test_the_name_of_a_refused_key(words: str, name: str) -> None:
    assert key_name(words) == name


def test_the_key_of_the_warning() -> None:
    assert offered_key(CHANGED_KEY) == "ED25519 SHA256:bWgPrzq9cDmIg/37k/Wqk4xnWKrlEIxifiXLk7fgEWo"
    assert offered_key(UNKNOWN_KEY) == ""


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("me@10.0.0.9: Permission denied (publickey).\n" + PROXY_END, "me@10.0.0.9: Permission denied (publickey)."),
        (PROXY_END, "Connection closed by UNKNOWN port 65535"),
        ("", "nothing"),
    ],
)
def test_the_cause_is_quoted_and_not_its_consequence(words: str, line: str) -> None:
    assert last_line(words) == line


def test_the_words_of_a_verbose_ssh() -> None:
    verbose = (
        "OpenSSH_9.2p1 Debian-2, OpenSSL 3.0.19\n"
        "debug1: kex_exchange_identification: banner line 0: hello\n"
        "me@10.0.0.1: Permission denied (publickey).\n"
    )
    assert without_debug(verbose) == "me@10.0.0.1: Permission denied (publickey).\n"
