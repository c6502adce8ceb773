"""Real connections over loopback, and the judgement of every answer."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from inventory.facts.base import Unknown, Why
from playbooks.checks.active import net_pair_tcp
from playbooks.checks.active.base import Said
from playbooks.finding import Finding, Status
from playbooks.requirements import Requirements
from tests.unit.playbooks.checks.gang import alone, gang_needs, tray_needs

GONE = Unknown(Why.TIMED_OUT, "no answer")


def needs(*addresses: str, port: int) -> Requirements:
    """Two hosts at loopback addresses; ranks join at `port`."""
    hosts = tuple(
        replace(one, address=address, argv=("vllm", "serve", "m", "--data-parallel-rpc-port", str(port)))
        for one, address in zip(gang_needs().hosts, addresses, strict=True)
    )
    return replace(gang_needs(), hosts=hosts)


def ran(script: str | Finding, path: str | None = None) -> Said:
    assert isinstance(script, str)
    env = {"PATH": path} if path else None
    done = subprocess.run(["/bin/sh", "-c", script], capture_output=True, text=True, check=False, timeout=60, env=env)
    return Said(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@contextmanager
def listening(asked: Requirements) -> Iterator[dict[str, Said]]:
    said = {one.host: ran(net_pair_tcp.listen(one, asked)) for one in asked.hosts}
    try:
        yield said
    finally:
        for one in said.values():
            ran(net_pair_tcp.hang_up(one))


def test_both_ways_at_both_ports(port: int) -> None:
    asked = needs("127.0.0.1", "127.0.0.2", port=port)
    with listening(asked) as heard:
        assert [len(one.values("listening")) for one in heard.values()] == [2, 2]
        connected = {one.host: ran(net_pair_tcp.connect(one, asked, heard)) for one in asked.hosts}
    (finding,) = net_pair_tcp.judge(heard, connected, asked)
    assert (finding.status, finding.observed) == (Status.PASS, "4 connections between the hosts, each way")


def test_a_listener_ends_when_it_is_hung_up_on_and_nobody_else_does(port: int) -> None:
    asked = needs("127.0.0.1", "127.0.0.2", port=port)
    with listening(asked) as heard:
        pid = heard["tray1"].value("pid")
        assert Path(f"/proc/{pid}/cmdline").exists()
    assert not [line for line in ps(str(pid)) if "bringup-listener" in line]
    with subprocess.Popen(["sleep", "30"]) as other:
        ran(net_pair_tcp.hang_up(Said(0, f"pid {other.pid}\n")))
        assert other.poll() is None
        other.kill()


def ps(pid: str) -> list[str]:
    try:
        return [Path(f"/proc/{pid}/cmdline").read_text()]
    except OSError:
        return []


def test_one_that_refuses_is_named_with_its_way(port: int) -> None:
    asked = needs("127.0.0.1", "127.0.0.2", port=port)
    with listening(asked) as heard:
        ran(net_pair_tcp.hang_up(heard["tray2"]))
        connected = {one.host: ran(net_pair_tcp.connect(one, asked, heard)) for one in asked.hosts}
    (finding,) = net_pair_tcp.judge(heard, connected, asked)
    assert (finding.status, finding.host) == (Status.FAIL, "tray1")
    assert f"from tray1: tray2 (127.0.0.2:{port}) refuses" in finding.observed


def test_a_port_that_is_taken_leaves_the_other_to_try(port: int) -> None:
    asked = needs("127.0.0.1", "127.0.0.2", port=port)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", port))
        taken.listen()
        with listening(asked) as heard:
            assert heard["tray1"].values("busy")
            assert len(heard["tray1"].values("listening")) == 1


def test_without_a_python_bash_connects_and_nobody_listens(tmp_path: Path, port: int) -> None:
    for name in ("bash", "timeout", "sh"):
        (tmp_path / name).symlink_to(Path("/usr/bin") / name if (Path("/usr/bin") / name).exists() else f"/bin/{name}")
    asked = needs("127.0.0.1", "127.0.0.2", port=port)
    mute = ran(net_pair_tcp.listen(asked.hosts[0], asked), str(tmp_path))
    assert mute.value("no-tool") == "python3"
    with listening(asked) as heard:
        said = ran(net_pair_tcp.connect(asked.hosts[0], asked, heard), str(tmp_path))
        assert len(said.values("connected")) == 2
    (unknown, good) = net_pair_tcp.judge({"tray1": mute}, {"tray2": said}, asked)
    assert (unknown.status, unknown.host, good.status) == (Status.UNKNOWN, "tray1", Status.PASS)
    assert "no python3" in unknown.observed


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("failed 10.10.0.12 29550 timeout", "packets are dropped"),
        ("failed 10.10.0.12 29550 ECONNREFUSED", "refuses"),
        ("failed 10.10.0.12 29550 EHOSTUNREACH", "no route"),
        ("failed 10.10.0.12 29550 EWHATEVER", "EWHATEVER"),
        ("failed", "cannot be connected to"),
    ],
)
def test_a_failure_says_what_it_means(line: str, words: str) -> None:
    findings = net_pair_tcp.judge({}, {"tray1": Said(0, f"{line}\nconnected 10.10.0.12 4000 1.0 ms\n")}, gang_needs())
    assert [one.status for one in findings] == [Status.FAIL]
    assert words in findings[0].observed


def test_hosts_that_do_not_answer_are_unknown() -> None:
    findings = net_pair_tcp.judge({"tray1": GONE}, {"tray2": GONE}, gang_needs())
    assert {(one.host, one.status) for one in findings} == {("tray1", Status.UNKNOWN), ("tray2", Status.UNKNOWN)}


def test_nothing_is_tried_alone_or_without_an_address() -> None:
    one = alone(tray_needs())
    skipped = net_pair_tcp.listen(one.hosts[0], one)
    assert isinstance(skipped, Finding)
    assert skipped.status is Status.SKIP
    lost = replace(gang_needs().hosts[0], address=None)
    assert isinstance(net_pair_tcp.listen(lost, gang_needs()), Finding)
    assert isinstance(net_pair_tcp.connect(lost, gang_needs(), {}), Finding)
