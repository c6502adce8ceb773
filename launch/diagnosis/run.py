"""`diagnose` as a whole: collect or read a capture, let the checks look at it, and judge."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from inventory.errors import BringupError
from inventory.facts import saved
from launch.diagnosis import checked, collect, replay, show, stored
from launch.diagnosis.collect import Depth
from launch.diagnosis.judge import Judgement, judge

if TYPE_CHECKING:
    from inventory.fleet import Fleet
    from launch.building.generation import Generation
    from launch.console.report import Report
    from launch.diagnosis.capture import Capture


def from_folder(folder: Path) -> tuple[Capture, Judgement]:
    """Judge a capture without any host. Raises `BadInput` where there is none."""
    capture = replay.load(folder)
    if (folder / collect.FACTS).is_dir():
        capture = _with_findings(capture, folder / collect.FACTS)
    return capture, judge(capture)


def from_hosts(
    fleet: Fleet,
    gang: Generation,
    *,
    unanswered: Mapping[str, BringupError],
    keep: Path | None = None,
    hide: set[str] | None = None,
) -> tuple[Capture, Judgement]:
    """Ask the hosts and judge. `keep`: the folder of a whole capture, which stays; else nothing is kept."""
    if keep is not None:
        collect.capture(fleet, gang, keep, depth=Depth.WHOLE, unanswered=unanswered, hide=hide)
        return from_folder(keep)
    with tempfile.TemporaryDirectory(prefix="bringup-diagnose-") as folder:
        collect.capture(fleet, gang, Path(folder), depth=Depth.FACTS, unanswered=unanswered, hide=hide)
        return from_folder(Path(folder))


def tell_first_cause(fleet: Fleet, gang: Generation, report: Report) -> None:
    """Say what failed first, by the logs of all hosts as they are now; what they are lost with comes afterwards.

    What cannot be read is said, and hides nothing of the failure itself.
    """
    try:
        with tempfile.TemporaryDirectory(prefix="bringup-diagnose-") as folder:
            collect.capture(fleet, gang, Path(folder), depth=Depth.LOGS, unanswered={})
            capture, judged = from_folder(Path(folder))
    except (BringupError, OSError) as error:
        report.say(f"the logs could not be read: {error}", style="yellow")
        return
    silent = [f"{host} did not answer: {why}" for host, why in capture.unanswered.items()]
    report.say(show.brief(judged, silent), style="red")


def _with_findings(capture: Capture, folder: Path) -> Capture:
    """The checks' findings on the facts of the capture; facts that cannot be read are told as not checked."""
    try:
        facts = {host: raw.facts() for host, raw in saved.load(folder).answers.items()}
    except BringupError as error:
        return replace(capture, not_checked=(*capture.not_checked, f"facts and checks: {error.message}"))
    outputs = {host: dict(own) for host, own in capture.outputs.items()}
    for host, one in facts.items():
        outputs.setdefault(host, {})[f"{host}/gpu_owners.txt"] = checked.gpu_owners(one)
    told = checked.checked(facts, capture.name, stored.read(capture), at=capture.at)
    not_checked = (*capture.not_checked, *told.not_checked)
    return replace(capture, findings=told.findings, outputs=outputs, not_checked=not_checked)
