"""What a case expects of `diagnose`: through the product's own reading of the folder, with its checks' findings."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from launch.building.command import HostCommand
from launch.building.unit import SYSTEM_PATH, UnitSettings, command_file
from launch.diagnosis import show
from launch.diagnosis.attempt import of_last_attempt
from launch.diagnosis.capture import Capture
from launch.diagnosis.health import Health, healths
from launch.diagnosis.judge import Judgement
from launch.diagnosis.judge import judge as decide
from launch.diagnosis.replay import load
from launch.diagnosis.told import Found
from playbooks.check import run_checks
from playbooks.checks import net_head_addr
from tests.cases.case import Case

Expected = Mapping[str, Any]


def judge(case: Case, expected: Expected) -> Iterator[str]:
    if "effective" in expected:
        yield from _effective(case, expected)
        return
    silent = {host: str(error) for host, error in case.errors().items()}
    findings = run_checks(case.facts(), case.needs(), left_out=_untold(case))
    capture = replace(load(case.folder), findings=findings, unanswered=silent)
    judged = decide(capture)
    if "diagnosis" in expected:
        yield from _diagnosis(capture, judged, expected)
    if "secondary" in expected:
        yield from _secondary(judged, expected)
    if "exit_code_not" in expected and int(judged.exit_code(capture.unanswered)) == expected["exit_code_not"]:
        yield f"the exit code is {expected['exit_code_not']}"
    if "status" in expected or "state" in expected:
        yield from _health(capture, expected)


def _untold(case: Case) -> dict[str, str]:
    """What the case says nothing of is not what failed: its plan may be a part of one, or none at all."""
    told = case.needs()
    is_told = told.head_address or any(one.argv for one in told.hosts)
    return {} if is_told else {net_head_addr.ID: "the case tells no address of the head"}


def _is(found: Found | None, wanted: str) -> bool:
    return found is not None and wanted in {found.id, found.message}


def _diagnosis(capture: Capture, judged: Judgement, expected: Expected) -> Iterator[str]:
    wanted, first = expected["diagnosis"], judged.first
    if not _is(first, wanted) and judged.id != wanted:
        yield f"expected {wanted}, is {judged.id}"
    host = first.host if first else ""
    if "host" in expected and host != expected["host"]:
        yield f"{wanted} is on {expected['host']}, told on {host!r}"
    text = "\n".join(show.lines(judged, capture))
    yield from (
        f"{wanted} does not mention {one!r}: {text}" for one in expected.get("must_mention", ()) if str(one) not in text
    )
    yield from (f"must not be {one}" for one in expected.get("must_not_be", ()) if _is(first, one))
    if expected.get("retry") and not judged.retry:
        yield f"{wanted} is not told as worth another try"
    if expected.get("diagnosis_severity") == "info" and first and first.severity != "info":
        yield f"{wanted} is told as an error"


def _secondary(judged: Judgement, expected: Expected) -> Iterator[str]:
    seen = (
        *judged.also,
        *judged.consequences,
        *((judged.first,) if judged.answer == "consequence" and judged.first else ()),
    )
    if not any(_is(one, expected["secondary"]) and one.host == expected.get("host", one.host) for one in seen):
        yield f"{expected['secondary']} is not told as a consequence: {[(one.id, one.host) for one in seen]}"


def _health(capture: Capture, expected: Expected) -> Iterator[str]:
    host = str(expected.get("host") or expected.get("state") or next(iter(capture.hosts), ""))
    told = healths(capture, of_last_attempt(capture.sources, capture.began_at)).get(host) or Health(host, "unknown")
    if "status" in expected and told.state != expected["status"]:
        yield f"{host} is {told.state} ({told.reason}), not {expected['status']}"
    if "ready" in expected and told.ready != expected["ready"]:
        yield f"{host} is {told.state} ({told.reason}), ready should be {expected['ready']}"
    if "kind" in expected and told.kind != expected["kind"]:
        yield f"{host} is {told.kind!r}, not {expected['kind']!r}"
    for key, own in (("phase", told.phase), ("action_contains", told.action)):
        if key in expected and str(expected[key]) not in own:
            yield f"{host}: {key} {expected[key]!r} is not in {own!r}"


def _effective(case: Case, expected: Expected) -> Iterator[str]:
    """The environment that ranks start with: the command file is run as on the host, beside what is there."""
    host = expected.get("host") or case.names()[0]
    around = {
        name: value
        for file, text in case.hosts.get(host, {}).items()
        if "env" in file
        for name, equals, value in (line.partition("=") for line in text.splitlines())
        if equals
    }
    with tempfile.TemporaryDirectory() as folder:
        command = HostCommand(host, case.needs().of(host).env, ("/usr/bin/env",))
        script = command_file(command, UnitSettings("case", "1", folder, "root"))
        done = subprocess.run(
            ["/bin/sh", "-c", script], env={"PATH": SYSTEM_PATH, **around}, capture_output=True, text=True, check=True
        )
    own = dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)
    for name, value in expected["effective"].items():
        if own.get(name) != str(value):
            yield f"{host} starts with {name}={own.get(name)!r}, not {value!r}"
