"""What failed first, and where. Pure.

The rules, as the field has learnt them: of all hosts' texts the earliest cause wins, by corrected clocks; the kernel's
word beats a traceback of the same minute; what only repeats another process's end is never the answer while anything
else is known; a device's error behind the end of a peer is a consequence; an error that no table knows is told as
such, with its lines; silence is a finding; and what was not looked at is said.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from inventory.errors import ExitCode
from launch.diagnosis import context
from launch.diagnosis.attempt import before_stop, of_last_attempt
from launch.diagnosis.capture import Capture, Kind, Source
from launch.diagnosis.checked import DECISIVE
from launch.diagnosis.match import ORDER, matches
from launch.diagnosis.roles import Serving, founds_of
from launch.diagnosis.silence import Silent, silent_hosts
from launch.diagnosis.table import Role, by_id
from launch.diagnosis.told import Evidence, Found
from launch.diagnosis.traces import errors
from playbooks.check import KNOWN
from playbooks.checks.base import Priority
from playbooks.finding import Finding, Status

if TYPE_CHECKING:
    from launch.diagnosis.lines import Line
    from launch.diagnosis.match import Match

Answer = Literal["known", "consequence", "unknown", "finding", "silence", "nothing"]
Confidence = Literal["high", "medium", "low"]
SHOWN_ERRORS = 8
TOGETHER_S = 120.0
"""Hosts that fail within this time fail of the same."""
AFTERMATH_S = 2.0
"""Errors of two processes of a host in less time may be told in any order."""
URGENT = frozenset({Priority.P0, Priority.P1})
ANSWERS = frozenset({Role.CAUSE, Role.SYMPTOM})
PHASES = (
    *("hw", "control", "install", "download", "import", "cuda-init", "device", "parse", "config", "start"),
    *("dist-init", "load", "warmup", "ready", "runtime", "run", "any", "perf"),
)
"""In the order in which they come: it decides where no clock does."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """`answer`: how much is known; `first` is what it names, None for `unknown`, `silence` and `nothing`.

    `also`: other causes, of this start but later. `consequences`: what follows from it. `errors`: the first lines
    that tell an error, where no table knows them.
    """

    answer: Answer
    confidence: Confidence
    first: Found | None
    also: tuple[Found, ...] = ()
    consequences: tuple[Found, ...] = ()
    errors: tuple[Evidence, ...] = ()
    silent: tuple[Silent, ...] = ()
    findings: tuple[Finding, ...] = ()
    not_checked: tuple[str, ...] = ()
    why: str = ""
    next_commands: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        return self.first.id if self.first else self.answer

    @property
    def retry(self) -> bool:
        return bool(self.first and self.first.retry)

    def exit_code(self, unanswered: Iterable[str]) -> ExitCode:
        """Of the verb: nothing wrong, something wrong, or a host that nobody could ask."""
        if self.answer != "nothing" and not (self.first and self.first.severity == "info"):
            return ExitCode.NOT_SERVING
        return ExitCode.UNREACHABLE if tuple(unanswered) else ExitCode.DONE


def judge(capture: Capture) -> Judgement:
    """Decide. Neither the order of hosts nor the names of files make a difference."""
    sources = of_last_attempt(capture.sources, capture.began_at)
    seen = [one for source in sources for one in matches(source)]
    serving = Serving.of(sources)
    unknown = _unknown_errors(sources, seen, serving)
    founds = founds_of(seen, unknown, sources, serving, compared=capture.compared)
    founds = _without_general([context.told(one, capture, sources) for one in founds])
    silent = silent_hosts(capture, sources, founds)
    return _answer(capture, founds, unknown, silent)


def _unknown_errors(sources: Sequence[Source], seen: Sequence[Match], serving: Serving) -> list[tuple[Source, Line]]:
    """The lines that tell an error, which fits no known failure and ended something."""
    matched = {(one.source.name, one.line.number) for one in seen}
    ends: dict[str, dict[float, int]] = {}  # by text and moment, the first line that tells the end of a peer
    for one in seen:
        if one.failure.role is Role.CONSEQUENCE and one.line.at is not None:
            ends.setdefault(one.source.name, {}).setdefault(one.line.at, one.line.number)
    logs = (one for one in sources if one.kind is Kind.LOG)
    return [
        (source, line)
        for source in logs
        for line in errors(before_stop(source.lines))
        if (source.name, line.number) not in matched
        and not serving.came_after(source, line)
        and not serving.failed_a_request(source, line)
        and not serving.went_on(source, line)
        and not serving.was_before_it(source, line)
        and not _is_aftermath(line, ends.get(source.name, {}))
    ]


def _is_aftermath(line: Line, ends: Mapping[float, int]) -> bool:
    """Whether it comes seconds behind the line in which its log tells the end of a peer."""
    at = line.at
    return at is not None and any(
        AFTERMATH_S <= at - when <= TOGETHER_S and number < line.number for when, number in ends.items()
    )


def _phase(one: Found) -> int:
    return PHASES.index(one.phase) if one.phase in PHASES else len(PHASES)


def _place(one: Found) -> tuple[object, ...]:
    """Which text tells it, and when: within one, lines stand in their order."""
    return one.role, one.by_kernel, one.at, one.host, one.evidence[0].file if one.evidence else ""


def _ordered(founds: Sequence[Found]) -> list[Found]:
    """By role, the kernel's word, time, phase where no clock decides, and line."""
    best = min((ORDER.index(one.role) for one in founds), default=0)
    timed = all(one.at is not None for one in founds if ORDER.index(one.role) == best)
    phases: dict[tuple[object, ...], int] = {}
    for one in founds:
        phases[_place(one)] = min(_phase(one), phases.get(_place(one), len(PHASES)))

    def key(one: Found) -> tuple[object, ...]:
        at = one.at if one.at is not None else float("inf")
        number = one.evidence[0].line if one.evidence else 0
        heard = one.by_kernel and one.role in ANSWERS
        first = (ORDER.index(one.role), not heard, at if timed else 0.0, phases[_place(one)], at)
        return (*first, one.host, number, _phase(one), one.id)

    return sorted(founds, key=key)


def _without_general(founds: Sequence[Found]) -> list[Found]:
    """What one host says of it in general is a consequence of what another says of it in particular."""
    special = [(general, one) for one in founds if one.role in ANSWERS for general in by_id()[one.id].over]
    return [
        replace(one, role=Role.CONSEQUENCE)
        if one.role in ANSWERS and any(name == one.id and _together(one, other) for name, other in special)
        else one
        for one in founds
    ]


def _together(one: Found, other: Found) -> bool:
    return one.at is None or other.at is None or abs(one.at - other.at) <= TOGETHER_S


def _answer(
    capture: Capture, founds: list[Found], unknown: Sequence[tuple[Source, Line]], silent: tuple[Silent, ...]
) -> Judgement:
    ordered = _ordered(founds)
    first = ordered[0] if ordered else None
    failing = tuple(one for one in capture.findings if one.status is Status.FAIL)
    told = sorted(unknown, key=lambda one: (one[1].at is None, one[1].at or 0.0, one[0].host, one[1].number))
    shown = tuple(Evidence.of(source, line) for source, line in told[:SHOWN_ERRORS])
    base = Judgement(
        answer="nothing",
        confidence="low",
        first=None,
        silent=silent,
        findings=failing,
        not_checked=(*capture.not_checked, *_unheard(capture)),
        errors=shown,
    )
    if first and first.role in ANSWERS and not _was_before(told, first):
        return _known(base, first, ordered, failing)
    if told:
        return _unknown(base, ordered)
    if first and first.role is Role.NOTICE and first.severity == "error":  # what the plan counts on is not there
        return _known(base, first, ordered, failing)
    if finding := _decisive(failing):
        return _finding(base, finding, ordered)
    if first and first.role in {Role.CONSEQUENCE, Role.WRAPPER}:
        return _victim(base, first, ordered, capture)
    return _quiet(base, capture, ordered, silent)


def _quiet(base: Judgement, capture: Capture, ordered: Sequence[Found], silent: Sequence[Silent]) -> Judgement:
    """Nothing says that it failed: slower, still waiting, silent, or all is well."""
    left = [one for one in ordered if not _was_overcome(one)]
    if left and (left[0].severity != "info" or not silent):
        return _known(base, left[0], left, base.findings)
    if not silent:
        return replace(base, also=tuple(ordered))
    return replace(
        base,
        answer="silence",
        consequences=tuple(ordered),
        why="no log tells an error; these ranks say nothing any more",
        next_commands=_look_at(capture, silent),
    )


def _was_overcome(one: Found) -> bool:
    """Whether what would have ended a start came before one that went well: it is told, and is no answer."""
    return one.role is Role.NOTICE and by_id()[one.id].role not in {Role.NOTICE, Role.WAITING}


def _was_before(told: Sequence[tuple[Source, Line]], first: Found) -> bool:
    """Whether an error that no table knows came before something that only tells that it is stuck."""
    if first.role is not Role.SYMPTOM or not told:
        return False
    seen = first.evidence[0]
    return any(
        line.at < first.at or (line.at == first.at and source.name == seen.file and line.number < seen.line)
        for source, line in told
        if line.at is not None and first.at is not None
    )


def _known(base: Judgement, first: Found, ordered: Sequence[Found], failing: Sequence[Finding]) -> Judgement:
    confirmed = tuple(one for one in failing if one.check in first.checks and one.host in {first.host, ""})
    rest = ordered[1:]
    rivals = [one for one in rest if one.role is Role.CAUSE and one.role is first.role and one.host != first.host]
    unsure = first.role is not Role.CAUSE or any(one.at is None or first.at is None for one in rivals)
    confidence: Confidence = "high" if not unsure or confirmed else "medium"
    if first.severity == "info":
        confidence = "medium"
    return replace(
        base,
        answer="known",
        confidence=confidence,
        findings=tuple(sorted(failing, key=lambda one: one not in confirmed)),
        first=replace(first, confirmed_by=tuple(one.check for one in confirmed)),
        also=tuple(one for one in rest if one.role is Role.CAUSE),
        consequences=tuple(one for one in rest if one.role is not Role.CAUSE),
        why=_why(first, rest),
        next_commands=first.fix,
    )


def _why(first: Found, rest: Sequence[Found]) -> str:
    if first.by_kernel and rest:
        return "the kernel's own word, which beats what processes report in the same minute"
    if any(one.role is first.role for one in rest):
        return "the earliest of what was found"
    return "the only thing found that is not a consequence" if rest else "the only thing found"


def _unknown(base: Judgement, ordered: Sequence[Found]) -> Judgement:
    return replace(
        base,
        answer="unknown",
        consequences=tuple(ordered),
        why="no known failure fits; these are the first lines that tell an error",
        next_commands=("Read these lines and the log before them; nothing here is a guess.",),
    )


def _victim(base: Judgement, first: Found, ordered: Sequence[Found], capture: Capture) -> Judgement:
    """The rank that ended without a word is among the hosts that tell nothing, or only that something ended before."""
    told = {one.host for one in ordered if one.role is not Role.NOTICE}
    later = {one.host for one in ordered if one.role is not Role.NOTICE and not _ended_before(one, first)}
    mute = [host for host in capture.hosts if host not in told]
    ended = [host for host in capture.hosts if host in told - later]
    where = f"; {', '.join(mute)} {'tells' if len(mute) == 1 else 'tell'} no error: look there first" if mute else ""
    where = f"; {', '.join(ended)} ended before: look there first" if ended else where
    return replace(
        base,
        answer="consequence",
        first=first,
        consequences=tuple(ordered[1:]),
        why=f"only the end of something else is told; what came first is not in these logs{where}",
        next_commands=first.look,
    )


def _ended_before(one: Found, first: Found) -> bool:
    return one.role is Role.WRAPPER and one.at is not None and first.at is not None and one.at < first.at


def _decisive(failing: Sequence[Finding]) -> Finding | None:
    # What a plan lacks has ended nothing.
    own = (one for one in failing if one.check in DECISIVE and one.check in KNOWN)
    urgent = [one for one in own if KNOWN[one.check].PRIORITY in URGENT]
    return min(urgent, key=lambda one: (KNOWN[one.check].PRIORITY, one.check, one.host), default=None)


def _finding(base: Judgement, finding: Finding, ordered: Sequence[Found]) -> Judgement:
    first = Found(
        id=finding.check,
        title=finding.required,
        host=finding.host,
        sentence=f"{finding.host or 'the plan'}: {finding.observed}",
        cause=KNOWN[finding.check].WHY,
        fix=(finding.remedy,),
    )
    why = "no log tells more than consequences; this check fails on the facts of the capture"
    return replace(
        base,
        answer="finding",
        confidence="medium",
        first=first,
        consequences=tuple(ordered),
        why=why,
        next_commands=first.fix,
    )


def _look_at(capture: Capture, silent: Sequence[Silent]) -> tuple[str, ...]:
    where = ",".join(dict.fromkeys(one.host for one in silent))
    name = f" --name {capture.name}" if capture.name else ""
    return (f"invoke diagnose --hosts {where}{name} --capture FOLDER",)


def _unheard(capture: Capture) -> tuple[str, ...]:
    silent = [f"{host} did not answer: {why}" for host, why in capture.unanswered.items()]
    logs = {one.host for one in capture.sources if one.kind is Kind.LOG and one.lines}
    kernels = {one.host for one in capture.sources if one.kind is Kind.KERNEL}
    asked = [host for host in capture.hosts if host not in capture.unanswered]
    missing = [host for host in asked if host not in kernels]
    without = [host for host in asked if host not in logs]
    cut = [f"{one.name} is cut: its beginning was not read" for one in capture.sources if one.cut]
    return (
        *silent,
        *([f"no kernel log of {', '.join(missing)}"] if missing else []),
        *([f"no engine log of {', '.join(without)}"] if without else []),
        *cut,
    )
