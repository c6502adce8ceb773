"""The probe verb on bundles: no host is needed for any of it."""

from __future__ import annotations

import inspect
import json
from pathlib import Path

import pytest

import tasks
from inventory.errors import BadInput, ExitCode, HostUnreachable
from inventory.facts import saved
from inventory.schema import Host
from launch import verbs
from launch.hosts import probe
from launch.hosts.bundles import replayed, save
from launch.hosts.gather import Answered, asked_of
from tests.answered import HOSTS

FLAGS = {
    "hosts": "all",
    "inventory": "",
    "host_detail": False,
    "save": "",
    "raw": False,
    "replay": str(HOSTS),
    "diff": "",
    "json": False,
}


@pytest.fixture(autouse=True)
def nobody_is_contacted(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a host was asked")

    monkeypatch.setattr(probe, "ask_all", refuse)


def run(**flags: object) -> ExitCode:
    return ExitCode(verbs.of("probe")(**{**FLAGS, **flags}))


def out(capsys: pytest.CaptureFixture[str]) -> str:
    return capsys.readouterr().out


def test_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(hosts="h200-hgx,gb[200,300]-tray") == ExitCode.DONE
    assert [line.split()[0] for line in out(capsys).splitlines()] == ["host", "h200-hgx", "gb200-tray", "gb300-tray"]


def test_the_tree(capsys: pytest.CaptureFixture[str]) -> None:
    run(hosts="h200-hgx,cpu-only", host_detail=True)
    roots = [line for line in out(capsys).splitlines() if line[0] not in "│├└ "]
    assert roots == ["h200-hgx", "cpu-only"]


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    run(hosts="broken-driver,cpu-only", json=True)
    document = json.loads(out(capsys))
    assert (document["format_version"], document["kind"]) == (1, "facts")
    hosts = document["data"]["hosts"]
    assert list(hosts) == ["broken-driver", "cpu-only"]
    assert hosts["broken-driver"]["gpus"]["why"] == "unreadable"
    assert hosts["cpu-only"]["cpu"]["physical_cores"] == 8
    assert document["data"]["findings"]["cpu-only"] == []


def test_saving_again_redacts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(save=str(tmp_path / "b"))
    first = out(capsys)
    head = saved.load(tmp_path / "b").head
    assert head.redacted
    run(replay=str(tmp_path / "b"))
    assert out(capsys) == first
    text = (tmp_path / "b" / "h200-hgx" / "nvidia.xml").read_text()
    assert text != (HOSTS / "h200-hgx" / "nvidia.xml").read_text()


def test_raw_keeps_every_byte(tmp_path: Path) -> None:
    run(save=str(tmp_path / "b"), raw=True)
    for path in HOSTS.rglob("*"):
        if path.is_file() and path.name != saved.BUNDLE:
            assert (tmp_path / "b" / path.relative_to(HOSTS)).read_bytes() == path.read_bytes(), path


@pytest.mark.parametrize("raw", [True, False])
def test_a_bundle_does_not_differ_from_what_it_was_made_of(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    raw: bool,  # noqa: FBT001  (a parameter of the test)
) -> None:
    save(tmp_path / "b", replayed(HOSTS, "all"), raw=raw)
    run(diff=str(tmp_path / "b"))
    assert capsys.readouterr() == ("", "nothing changed\n")
    run(diff=str(tmp_path / "b"), json=True)
    assert json.loads(out(capsys))["data"] == []


def test_what_changed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save(tmp_path / "b", replayed(HOSTS, "h200-hgx,cpu-only"), raw=True)
    (tmp_path / "b" / "cpu-only" / "system.boot").write_text("11111111-2222-4333-8444-555555555555\n")
    run(replay=str(tmp_path / "b"), diff=str(HOSTS), hosts="h200-hgx,cpu-only")
    assert out(capsys) == "cpu-only: was rebooted (another boot id)\n"


def test_a_silent_host_is_shown_kept_and_exits_3(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = replayed(HOSTS, "cpu-only")
    error = HostUnreachable("no TCP connection", id="timeout", observed="10 s", host="tray9")
    save(tmp_path / "b", Answered({**one.hosts, "tray9": Host(name="tray9")}, one.raw, {"tray9": error}), raw=False)
    for flags in ({}, {"json": True}, {"host_detail": True}):
        with pytest.raises(HostUnreachable) as caught:
            run(replay=str(tmp_path / "b"), **flags)
        assert caught.value.exit_code == ExitCode.UNREACHABLE
        shown = out(capsys)
        assert "cpu-only" in shown
        assert "no TCP connection" in shown


@pytest.mark.parametrize(
    ("flags", "id_"),
    [
        ({"hosts": "cpu-only,nobody"}, "bundle"),
        ({"hosts": "cpu-0nly"}, "bundle"),
        ({"replay": "/no/such/bundle"}, "bundle"),
        ({"diff": "/no/such/bundle"}, "bundle"),
        ({"save": str(HOSTS)}, "bundle"),
        ({"raw": True}, "flag-value"),
        ({"diff": str(HOSTS), "host_detail": True}, "flag-value"),
        ({"hosts": "@rack1"}, "host-selection"),
    ],
)
def test_bad_input(flags: dict[str, object], id_: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(BadInput) as caught:
        run(**flags)
    assert (caught.value.id, caught.value.exit_code) == (id_, ExitCode.BAD_INPUT)
    assert out(capsys) == ""


def test_a_stranger_is_named() -> None:
    with pytest.raises(BadInput, match="nobody is not in the bundle"):
        replayed(HOSTS, "cpu-only,nobody")


def test_what_each_host_is_asked() -> None:
    hosts = {
        "a": Host(name="a", fabric_address="198.51.100.1", state_dir="/srv/b"),
        "b": Host(name="b", address="192.0.2.2"),
        "local": Host(name="local"),
    }
    asked = asked_of(hosts, "a", opinion=True)
    assert (asked.state_dir, asked.addresses, asked.pythons) == ("/srv/b", ("192.0.2.2", "local"), ())
    assert asked_of(hosts, "local", opinion=True).pythons
    assert not asked_of(hosts, "local").opinion


def test_checks_run_on_a_bundle(capsys: pytest.CaptureFixture[str]) -> None:
    _, *flags = inspect.signature(tasks.ns["check"].body).parameters.values()
    given = {"model": "deepseek-v4-pro", "hosts": "h200-hgx", "replay": str(HOSTS), "json": True}
    code = verbs.of("check")(**{one.name: one.default for one in flags} | given)
    findings = json.loads(out(capsys))["data"]
    assert code == ExitCode.CHECK_FAILED
    assert {one["check"] for one in findings if one["status"] == "fail"} >= {"gpu.free_mem"}
