from __future__ import annotations

import re

import pytest

from inventory.errors import ExitCode
from inventory.sshconfig import SshOptions, read
from inventory.transport.unreachable import _FAILURES, unreachable


@pytest.fixture
def options() -> SshOptions:
    return read("tray1", ("-l", "me", "-p", "2222"), "hostname 10.0.0.1\nuser me\nport 2222\n")


@pytest.mark.parametrize("kind", _FAILURES)
def test_every_failure_says_what_is_required_and_what_to_type(options: SshOptions, kind: str) -> None:
    error = unreachable(kind, "tray1", options, observed="seen")
    assert (error.id, error.host, error.observed, error.exit_code) == (kind, "tray1", "seen", ExitCode.UNREACHABLE)
    for text in (error.message, error.required, error.next_command):
        assert text
        assert not re.search(r"[{}]", text)


def test_the_next_command_logs_in_as_bringup_does(options: SshOptions) -> None:
    error = unreachable("auth", "tray1", options, observed="seen")
    assert error.next_command == "ssh -v -o BatchMode=yes -l me -p 2222 tray1 true"
    assert error.required == "a key that me@10.0.0.1 accepts without a question"


def test_a_jump_host_is_named(options: SshOptions) -> None:
    error = unreachable("refused", "tray9", options, observed="seen", hop=True)
    assert str(error).startswith("tray9: jump host tray1: nothing listens on the SSH port [refused]")
