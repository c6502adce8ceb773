"""The first look at a fresh cluster, on bundles: no host is needed for any of it."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from inventory.errors import BadInput, ExitCode, HostUnreachable
from inventory.facts.base import Unknown, Why, is_known
from inventory.schema import Host
from launch import verbs
from launch.hosts import fresh, records
from launch.hosts.bundles import replayed
from launch.hosts.day_one import LAYERS, descend, layer_of, needs_of, of_launches
from launch.hosts.gather import Answered
from playbooks.checks import CHECKS
from playbooks.finding import Finding, Status
from tests.answered import HOSTS

TRAYS = ("gb200-tray", "gb300-tray")


def finding(check: str, status: Status = Status.FAIL, host: str = "a") -> Finding:
    return Finding(check, status, host, "seen", "wanted", "look")


def answered(selection: str = "h200-hgx,cpu-only") -> Answered:
    return replayed(HOSTS, selection)


def with_silent(told: Answered, host: str = "gone") -> Answered:
    error = HostUnreachable("no answer", id="timeout", host=host, observed="10 s")
    return replace(told, hosts={**told.hosts, host: Host(name=host)}, errors={host: error})


def test_every_check_of_hosts_has_a_layer_and_the_plans_have_none() -> None:
    assert {one.partition(".")[0] for one in of_launches()} == {"plan"}
    assert not {check for layer in LAYERS for check in layer.checks if check.startswith("plan.")}


def test_single_checks_win_over_groups() -> None:
    assert LAYERS[layer_of("os.clock") or 0].title == "reach"
    assert LAYERS[layer_of("os.memory") or 0].title == "limits"
    assert layer_of("plan.world") is None


def test_a_host_where_a_layer_fails_is_not_looked_at_further() -> None:
    told = [
        finding("ssh.sudo", Status.PASS),
        finding("gpu.nvml", Status.FAIL),
        finding("os.memory", Status.FAIL),
        finding("os.memory", Status.WARN, "b"),
    ]
    (first, second), counting = descend(("a", "b"), told)
    assert first.layers == (Status.PASS, Status.SKIP, Status.FAIL, None, None)
    assert first.stopped_at == "GPU"
    assert (second.stopped_at, second.layers[3]) == ("", Status.WARN)
    assert [(one.check, one.host) for one in counting] == [
        ("ssh.sudo", "a"),
        ("gpu.nvml", "a"),
        ("os.memory", "b"),
    ]


def test_unknown_stops_as_failure_does() -> None:
    ((one,), _) = descend(("a",), [finding("ssh.reach", Status.UNKNOWN)])
    assert one.stopped_at == "reach"


def test_a_finding_of_the_fleet_counts_as_deep_as_any_host_came() -> None:
    told = [finding("gpu.nvml"), finding("gpu.uniform", Status.WARN, ""), finding("net.mtu_equal", Status.WARN, "")]
    _, counting = descend(("a",), told)
    assert [one.check for one in counting] == ["gpu.nvml", "gpu.uniform"]


def test_what_any_launch_needs() -> None:
    told = answered("h200-hgx")
    needs = needs_of(tuple(told.hosts.values()), told.facts())
    (one,) = needs.hosts
    assert one.gpus == tuple(range(8))
    assert one.processes.total == 2 + 8
    assert (needs.hardware, one.gpu_profile) == ("h200", "h200")
    assert needs.rdma is None  # a gang of one talks to nobody


def test_what_simulated_trays_cannot_have_is_not_asked_of_them() -> None:
    told = answered("gb200-tray")
    (facts,) = told.facts().values()
    trays = tuple(Host(name=name) for name in ("tray1", "tray2"))
    real = {host.name: replace(facts, host=host.name, simulated=False) for host in trays}
    assert needs_of(trays, real).mnnvl is True
    assert needs_of(trays, {name: replace(one, simulated=True) for name, one in real.items()}).mnnvl is None


def test_hosts_of_different_hardware_have_no_common_one() -> None:
    told = answered("h200-hgx,cpu-only")
    assert needs_of(tuple(told.hosts.values()), told.facts()).hardware is None


def test_gpus_that_cannot_be_read_are_not_planned_and_stop_the_host() -> None:
    looked = fresh.look(answered("broken-driver"))
    (one,) = looked.descents
    assert one.stopped_at in {"ground", "GPU"}
    assert not is_known(looked.facts["broken-driver"].gpus)


def test_a_host_that_does_not_answer_fails_in_the_first_layer_and_the_others_go_on() -> None:
    looked = fresh.look(with_silent(answered("cpu-only")))
    layers = {one.host: one.layers for one in looked.descents}
    assert layers["gone"] == (Status.FAIL, None, None, None, None)
    assert None not in layers["cpu-only"]
    assert fresh.rows(looked)[1][1][-1] == "stopped at reach"


def test_nobody_answers() -> None:
    silent = with_silent(replace(answered("cpu-only"), hosts={}, raw={}))
    looked = fresh.look(silent)
    assert [one.check for one in looked.findings] == ["ssh.reach"]
    assert "mend" in [*fresh.told(looked, None, None)][-1]


def test_a_record_is_kept_and_the_next_one_is_compared_with_it(tmp_path: Path) -> None:
    first = fresh.look(answered("cpu-only"))
    earlier, kept = fresh.keep(first, tmp_path)
    assert earlier is None
    assert records.NAME.fullmatch(kept.name)
    again, other = fresh.keep(first, tmp_path)
    assert again is not None
    assert (again.folder, again.differences) == (kept, ())
    assert other != kept
    assert replayed(kept, "all").hosts.keys() == {"cpu-only"}


def test_changes_of_facts_and_of_findings_are_told(tmp_path: Path) -> None:
    fresh.keep(fresh.look(answered("cpu-only")), tmp_path)
    lost = with_silent(replace(answered("cpu-only"), hosts={}, raw={}), "cpu-only")
    earlier, _ = fresh.keep(fresh.look(lost), tmp_path)
    assert earlier is not None
    assert any("cpu-only" in line for line in earlier.differences)
    assert "cpu-only: ssh.reach was pass, is fail" in earlier.differences


def test_the_newest_record_with_any_of_the_hosts_counts(tmp_path: Path) -> None:
    looked = {name: fresh.look(answered(name)) for name in ("cpu-only", "h200-hgx")}
    for day, name in ((1, "cpu-only"), (2, "cpu-only"), (3, "h200-hgx")):
        moment = datetime(2027, 1, day, tzinfo=UTC)
        records.keep(tmp_path, looked[name].answered, looked[name].findings, now=moment)
    found = records.latest(tmp_path, ["cpu-only"])
    assert found is not None
    assert found.folder.name == "2027-01-02T00-00-00Z"
    assert records.latest(tmp_path, ["other"]) is None


def test_records_of_one_second_are_in_order(tmp_path: Path) -> None:
    looked = fresh.look(answered("cpu-only"))
    moment = datetime(2027, 1, 1, tzinfo=UTC)
    kept = [records.keep(tmp_path, looked.answered, looked.findings, now=moment) for _ in range(11)]
    found = records.latest(tmp_path, ["cpu-only"])
    assert found is not None
    assert found.folder == kept[-1]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format_version": 2}', '{"format_version": 1}'])
def test_a_record_that_cannot_be_read_is_passed_over(tmp_path: Path, text: str) -> None:
    looked = fresh.look(answered("cpu-only"))
    folder = records.keep(tmp_path, looked.answered, looked.findings)
    (folder / records.FINDINGS).write_text(text)
    found = records.latest(tmp_path, ["cpu-only"])
    assert found is None or not found.statuses


def test_a_place_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    looked = fresh.look(answered("cpu-only"))
    with pytest.raises(BadInput, match="record cannot be written"):
        records.keep(tmp_path / "file", looked.answered, looked.findings)


def run(capsys: pytest.CaptureFixture[str], *, hosts: str, record: str, json: bool) -> tuple[ExitCode, str]:
    code = verbs.of("hosts_check")(hosts=hosts, inventory="", replay=str(HOSTS), record=record, active=False, json=json)
    return ExitCode(code), capsys.readouterr().out


def test_the_verb_on_a_bundle(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out = run(capsys, hosts="broken-driver,cpu-only", record="", json=False)
    assert code is ExitCode.CHECK_FAILED
    assert [line.split()[0] for line in out.splitlines()] == ["host", "broken-driver", "cpu-only"]
    _, text = run(capsys, hosts="broken-driver,cpu-only", record=str(tmp_path), json=True)
    told = json.loads(text)["data"]
    assert told["hosts"]["broken-driver"]["stopped_at"]
    assert Path(told["record"]).parent == tmp_path
    assert {one["check"] for one in told["findings"]} <= CHECKS.keys()


def test_unknown_facts_are_not_taken_for_fine() -> None:
    told = answered("cpu-only")
    facts = {"cpu-only": replace(told.facts()["cpu-only"], network=Unknown(Why.TIMED_OUT, "10 s"))}
    (one,) = needs_of(tuple(told.hosts.values()), facts).hosts
    assert one.address is None


def test_a_bundle_cannot_be_tried(tmp_path: Path) -> None:
    flags = {"hosts": "cpu-only", "inventory": "", "replay": str(HOSTS), "record": str(tmp_path), "json": False}
    with pytest.raises(BadInput, match="--active"):
        verbs.of("hosts_check")(**flags, active=True)


def test_what_was_tried_counts_in_its_layer() -> None:
    tried = (finding("net.pair_tcp", Status.FAIL, "cpu-only"),)
    looked = fresh.look(answered("cpu-only"), tried)
    (one,) = looked.descents
    assert one.stopped_at == "network"
    assert tried[0] in looked.findings
