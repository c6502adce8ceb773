from __future__ import annotations

import time

import pytest

from inventory.errors import HostUnreachable
from inventory.transport import exchange
from inventory.transport.exchange import DEADLINE, Ending, Exchange
from inventory.transport.framing import KILL_AFTER

BEGIN = "\n{} begin timeout\n"
END = "\n{} end {}\n"


def answer(conversation: Exchange, out: str = "", err: str = "") -> None:
    """Feed an answer; `{}` in the texts is the marker."""
    marker = conversation.text.split(b"bringup-", 1)[1][:32].decode()
    conversation.stdout.feed(out.replace("{}", f"bringup-{marker}").encode())
    conversation.stderr.feed(err.replace("{}", f"bringup-{marker}").encode())


def failure(conversation: Exchange, ending: Ending) -> HostUnreachable:
    with pytest.raises(HostUnreachable) as caught:
        conversation.completed("tray1", ending)
    assert caught.value.host == "tray1"
    return caught.value


def test_a_complete_answer() -> None:
    conversation = Exchange("true", timeout=5)
    answer(conversation, "motd\n{} begin timeout\nout\n{} end 3\n", "\n{} begin\nerr\n{} end\n")
    completed = conversation.completed("tray1", Ending("complete"))
    assert conversation.done
    assert (completed.stdout, completed.stderr, completed.exit_status) == (b"out", b"err", 3)
    assert completed.noise == b"motd"


def test_an_answer_is_good_without_the_end_of_stderr_but_waits_for_it_a_little() -> None:
    conversation = Exchange("true", timeout=1000)
    answer(conversation, "\n{} begin timeout\nout\n{} end 0\n", "\n{} begin\nerr")
    assert not conversation.done
    assert conversation.remaining() <= exchange.STDERR_GRACE_S
    assert conversation.completed("tray1", DEADLINE).stdout == b"out"


def test_a_missing_end_is_a_lost_connection_with_the_last_words() -> None:
    conversation = Exchange("true", timeout=5)
    answer(conversation, "\n{} begin timeout\nhalf", "\n{} begin\ncannot fork\n")
    error = failure(conversation, Ending("the session ended with exit status 0"))
    assert error.id == "connection-lost"
    assert "state of the host is unknown" in error.message
    assert error.observed == "the session ended with exit status 0; last words: cannot fork"


def test_no_begin_and_a_proper_end_is_no_shell() -> None:
    conversation = Exchange("true", timeout=5)
    answer(conversation, "This account is not available.\n")
    error = failure(conversation, Ending("the session ended with exit status 1"))
    assert error.id == "no-shell"
    assert "This account is not available." in error.observed


def test_no_begin_and_a_cut_connection_is_a_lost_one() -> None:
    assert failure(Exchange("true", timeout=5), Ending("cut", lost=True)).id == "connection-lost"
    assert failure(Exchange("true", timeout=5), DEADLINE).observed == "no answer within the deadline"


def test_this_side_waits_longer_than_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Exchange("true", timeout=20).remaining() > 20 + KILL_AFTER
    monkeypatch.setattr(exchange, "GRACE_S", -6.0)
    conversation = Exchange("true", timeout=1)
    time.sleep(0.01)
    assert conversation.remaining() == 0.0
