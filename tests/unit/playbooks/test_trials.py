"""The runner of active checks: real shells on this machine, trials of the test's own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from inventory.facts.base import Maybe, is_known
from inventory.fleet import Fleet
from inventory.schema import Host
from playbooks import trials
from playbooks.checks.active.base import Said
from playbooks.checks.base import Priority
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements, Requirements
from playbooks.trials import run_trials
from tests.unit.playbooks.checks.gang import gang_needs, tray_needs

HOSTS = ("a", "b")


def needs() -> Requirements:
    return replace(gang_needs(), hosts=tuple(replace(tray_needs(), host=name) for name in HOSTS), head="a")


def fleet(folder: Path, *gone: str) -> Fleet:
    """Two names of this machine; those that are `gone` are reached by an ssh that nobody answers."""
    state = str(folder / "state")
    return Fleet(
        [
            Host(name=name, address="127.0.0.1", port=1, transport="openssh", state_dir=state)
            if name in gone
            else Host(name=name, transport="local", state_dir=state)
            for name in HOSTS
        ]
    )


class Echo:
    """Passes where the host says hello."""

    ID, PRIORITY, WHY, DEADLINE_S = "test.echo", Priority.P0, "it says hello", 5

    def script(self, host: HostRequirements, _needs: Requirements, /) -> str | Finding:
        return f"echo hello {host.host}; echo aside >&2; exit 3"

    def judge(self, said: Maybe[Said], host: HostRequirements, _needs: Requirements, /) -> Finding:
        if not is_known(said):
            return Finding(self.ID, Status.UNKNOWN, host.host, str(said), "an answer", "look")
        return Finding(self.ID, Status.PASS, host.host, f"{said.value('hello')} {said.status} {said.err.strip()}")


class Nothing(Echo):
    ID = "test.nothing"

    def script(self, host: HostRequirements, _needs: Requirements, /) -> str | Finding:
        return Finding(self.ID, Status.SKIP, host.host, "nothing to try")


class Broken(Echo):
    ID = "test.broken"

    def judge(self, _said: Maybe[Said], host: HostRequirements, _needs: Requirements, /) -> Finding:
        raise ZeroDivisionError(host.host)


class Slow(Echo):
    ID, DEADLINE_S = "test.slow", 1

    def script(self, _host: HostRequirements, _needs: Requirements, /) -> str | Finding:
        return "sleep 60"


class Pair:
    """Each host leaves a file, and each looks for the other's; `hang_up` takes it away."""

    ID, PRIORITY, WHY, DEADLINE_S = "test.pair", Priority.P0, "they see each other", 5

    def __init__(self, folder: Path, *, breaks: bool = False) -> None:
        self.folder, self.breaks = folder, breaks

    def listen(self, host: HostRequirements, _needs: Requirements, /) -> str | Finding:
        return f"touch {self.folder}/{host.host}; echo up {self.folder}/{host.host}"

    def connect(
        self, host: HostRequirements, _needs: Requirements, listening: Mapping[str, Maybe[Said]], /
    ) -> str | Finding:
        if self.breaks:
            raise ValueError("no route")
        others = [said.value("up") for name, said in listening.items() if name != host.host and is_known(said)]
        return f"test -e {others[0]}" if others else Finding(self.ID, Status.SKIP, host.host, "nobody to reach")

    def hang_up(self, said: Said, /) -> str:
        return f"rm {said.value('up')}"

    def judge(
        self, _listening: Mapping[str, Maybe[Said]], connected: Mapping[str, Maybe[Said]], _needs: Requirements, /
    ) -> tuple[Finding, ...]:
        return tuple(
            Finding(self.ID, Status.PASS, host, f"status {said.status}")
            for host, said in connected.items()
            if is_known(said)
        )


def use(monkeypatch: pytest.MonkeyPatch, *hosts: Echo, pairs: tuple[Pair, ...] = ()) -> None:
    monkeypatch.setattr(trials, "HOST_TRIALS", hosts)
    monkeypatch.setattr(trials, "PAIR_TRIALS", pairs)


def run(tmp_path: Path, *gone: str, only: tuple[str, ...] | None = None) -> list[tuple[str, str, Status, str]]:
    with fleet(tmp_path, *gone) as hosts:
        found = run_trials(hosts, needs(), only=only)
    return [(one.check, one.host, one.status, one.observed) for one in found]


def test_what_each_host_said_is_judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, Echo())
    assert run(tmp_path) == [("test.echo", name, Status.PASS, f"{name} 3 aside") for name in HOSTS]


def test_where_there_is_nothing_to_run_nothing_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, Nothing())
    assert [status for *_, status, _ in run(tmp_path)] == [Status.SKIP, Status.SKIP]


def test_a_host_that_does_not_answer_is_unknown_and_the_other_is_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, Echo())
    found = run(tmp_path, "b")
    assert [(host, status) for _, host, status, _ in found] == [("a", Status.PASS), ("b", Status.UNKNOWN)]


def test_a_trial_that_breaks_is_unknown_and_the_next_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, Broken(), Echo())
    first, *rest = run(tmp_path)
    assert first[2] is Status.UNKNOWN
    assert "ZeroDivisionError" in first[3]
    assert [check for check, *_ in rest] == ["test.echo", "test.echo"]


def test_only_some_are_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, Broken(), Echo())
    assert {check for check, *_ in run(tmp_path, only=("test.echo",))} == {"test.echo"}


def test_a_trial_past_its_deadline_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trials, "MARGIN_S", 0.0)
    use(monkeypatch, Slow())
    assert [observed for *_, observed in run(tmp_path)] in ([" 124 "] * 2, ["None 124 "] * 2, ["None 124"] * 2)


def test_a_pair_listens_connects_and_hangs_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, pairs=(Pair(tmp_path),))
    assert run(tmp_path) == [("test.pair", name, Status.PASS, "status 0") for name in HOSTS]
    assert not [path for path in tmp_path.iterdir() if path.name in HOSTS]


def test_a_pair_that_breaks_still_hangs_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, pairs=(Pair(tmp_path, breaks=True),))
    ((_, _, status, observed),) = run(tmp_path)
    assert status is Status.UNKNOWN
    assert "no route" in observed
    assert not [path for path in tmp_path.iterdir() if path.name in HOSTS]
