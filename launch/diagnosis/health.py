"""Does it serve, by what was captured: completions first, then tokens that move, then phases. Pure.

`/health` and `/v1/models` prove nothing: they stay 200 for minutes over dead engines. An answer that a proxy gave is
none of the server's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from launch.diagnosis.attempt import STOPPING
from launch.diagnosis.capture import Capture, Kind, Source
from launch.diagnosis.silence import is_headless, now
from launch.watching.phases import Phase, Progress, Role

if TYPE_CHECKING:
    from launch.diagnosis.lines import Line

State = Literal["healthy", "unhealthy", "starting", "stalled", "failed", "stopped", "not_ready", "unknown"]
WAITING = ("num_requests_waiting", "num_requests_running")
STALLED_S = 600.0
"""A phase that printed nothing for this long is told as stalled."""
METRIC = re.compile(r"(?m)^vllm:(?P<name>\w+?)(?:_total)?(?:\{(?P<labels>[^}]*)\})? (?P<value>[\d.eE+-]+)\s*$")
ENGINE = re.compile(r'\bengine="(\w+)"')
PROBE = re.compile(r"(?m)^\s*(?:GET|POST) (?P<path>\S+)(?P<rest>.*)$")
ANSWER = re.compile(
    r"(?<![\w=.:/-])[2-5]\d\d\b(?! ?(?:m?s|tokens|bytes)\b)|timed? ?out|refused|reset|no (?:answer|reply|response)",
    re.IGNORECASE,
)
COMPLETION = re.compile(r"/v1/(?:chat/)?completions|/v1/messages|/v1/responses")
UNIT_OVER = re.compile(r"(?m)^(?:ActiveState=(?:failed|inactive)|Result=(?!success)\S+)")


@dataclass(frozen=True, slots=True)
class Health:
    """Of one host. `kind`: hung, overload, engine-dead, ... `reason`: one sentence. `action`: what to do about it."""

    host: str
    state: State
    kind: str = ""
    phase: str = ""
    reason: str = ""
    action: str = ""

    @property
    def ready(self) -> bool:
        return self.state == "healthy"


def healths(capture: Capture, sources: Sequence[Source]) -> dict[str, Health]:
    """The state of every host of the capture."""
    return {host: _of(host, capture, sources) for host in capture.hosts or ("",)}


def _of(host: str, capture: Capture, sources: Sequence[Source]) -> Health:
    if host in capture.unanswered:
        return Health(host, "unknown", "no-answer", reason=f"it did not answer: {capture.unanswered[host]}")
    probed = _probed(host, capture)
    if probed is not None:
        return probed
    return _by_units(host, capture) or _by_log(host, capture, sources)


def _probed(host: str, capture: Capture) -> Health | None:
    """What requests to it said, with its counters."""
    answers = list(_answers(host, capture))
    tokens = _moved(capture, host)
    completions = [answer for path, answer in answers if COMPLETION.search(path)]
    if any(one == "200" for one in completions):
        return Health(host, "healthy", reason="it completed a request")
    stuck = tokens.stuck if tokens else ()
    listens = any(answer != "refused" for _, answer in answers)
    if stuck or (completions and listens and not (tokens and tokens.moved)):
        which = f" from engine {', '.join(stuck)}" if any(stuck) else ""
        what = f"requests wait and no token comes{which}" if stuck else f"a completion was answered by {completions[0]}"
        kind = "hung" if stuck else _kind_of(completions[0])
        return Health(host, "unhealthy", kind, reason=what, action="capture, then restart the group")
    if tokens is not None and tokens.moved:
        kind = "overload" if tokens.waits or completions else ""
        return Health(host, "healthy", kind, reason="tokens are made" + (" while requests wait" if kind else ""))
    return _without_completion(host, capture, [answer for _, answer in answers])


def _kind_of(answer: str) -> str:
    if answer in {"refused", "reset"}:
        return "refused"
    return "hung" if not answer.isdecimal() else "engine-dead" if answer >= "500" else "refused"


def _without_completion(host: str, capture: Capture, answers: Sequence[str]) -> Health | None:
    if "503" in answers:
        return Health(host, "unhealthy", "engine-dead", reason="it answers 503", action="restart the group")
    if _local_is_well(host, capture):
        return Health(host, "healthy", reason="asked on the host itself it answers; a proxy stands before it elsewhere")
    if answers and not any(answer.isdecimal() for answer in answers):
        return Health(host, "not_ready", "refused", reason="nothing listens there yet")
    return None


@dataclass(frozen=True, slots=True)
class _Tokens:
    """Whether any engine made tokens, whether requests wait, and the engines where they do and none is made."""

    moved: bool
    waits: bool
    stuck: tuple[str, ...]


def _answers(host: str, capture: Capture) -> Iterator[tuple[str, str]]:
    """Paths and answers of requests to this host; those of a proxy are left out."""
    own = [*capture.texts(host, "probe*", "canary*", "completion*")]
    for text in (*own, *_of_others(host, capture)):
        for match in PROBE.finditer(text):
            answer = ANSWER.search(re.split(r"[-=]>", match["rest"])[-1])
            if answer and not re.search(r"via:|proxy", match["rest"], re.IGNORECASE):
                yield match["path"], answer[0].lower()


def _of_others(host: str, capture: Capture) -> Iterator[str]:
    """Lines of a file of nobody that name this host or its address."""
    names = {one for one in (host, capture.addresses.get(host, "")) if one}
    for text in capture.texts("", "probe*"):
        for line in text.splitlines():
            if any(re.search(rf"(?<![\w.]){re.escape(name)}(?![\w.])", line) for name in names):
                yield line


def _local_is_well(host: str, capture: Capture) -> bool:
    return any(re.match(r"\s*(?:HTTP/\S+ )?200\b", text) for text in capture.texts(host, "curl_local*", "health*"))


def _moved(capture: Capture, host: str) -> _Tokens | None:
    """Whether tokens were made between two readings of the counters; None without two."""
    pages = [_by_engine(text) for _, text in sorted(_pages(capture, host))]
    if len(pages) < 2:
        return None
    first, last = pages[0], pages[-1]
    moved = {engine for engine, own in last.items() if _made(own) > _made(first.get(engine, {}))}
    waits = [engine for engine, own in last.items() if any(own.get(name, 0.0) > 0 for name in WAITING)]
    return _Tokens(bool(moved), bool(waits), tuple(one for one in waits if one not in moved))


def _made(own: Mapping[str, float]) -> float:
    return own.get("generation_tokens", 0.0)


def _pages(capture: Capture, host: str) -> Iterator[tuple[int, str]]:
    """Readings with their times: `metrics_t120.txt` is of second 120."""
    for name, text in capture.outputs.get(host, {}).items():
        base = name.rpartition("/")[2]
        if base.startswith("metrics"):
            number = re.search(r"(\d+)\D*$", base)
            yield int(number[1]) if number else 0, text


def _by_engine(text: str) -> Mapping[str, Mapping[str, float]]:
    """The counters of each engine, summed over what else tells them apart."""
    found: dict[str, dict[str, float]] = {}
    for match in METRIC.finditer(text):
        engine = ENGINE.search(match["labels"] or "")
        own = found.setdefault(engine[1] if engine else "", {})
        own[match["name"]] = own.get(match["name"], 0.0) + float(match["value"])
    return found


def _by_units(host: str, capture: Capture) -> Health | None:
    if any('"status": "stopped"' in text for text in capture.texts(host, "state.json")):
        return Health(host, "stopped", reason="its record says that it was stopped")
    over = [match[0] for text in capture.texts(host, "unit*") if (match := UNIT_OVER.search(text))]
    return Health(host, "failed", "unit", reason=f"its unit says {over[0]}") if over else None


def _by_log(host: str, capture: Capture, sources: Sequence[Source]) -> Health:
    lines = [line for one in sources if one.host == host and one.kind is Kind.LOG for line in one.lines]
    if not lines:
        return Health(host, "unknown", reason="no log and no answer of it is there")
    progress = Progress(Role.HEADLESS if is_headless(lines) else Role.SERVING)
    for one in lines:
        head = f"({one.process} pid={one.pid or 0}) " if one.process else ""
        progress.feed(
            f"{head}{one.level} 01-01 00:00:00 [log.py:1] {one.text}" if one.process and one.level else one.text
        )
    if any(STOPPING.search(one.text) for one in lines):
        return Health(host, "stopped", phase=str(progress.phase), reason="it was told to stop")
    if progress.phase is Phase.FAILED or progress.error:
        return Health(host, "failed", phase=str(progress.phase), reason=progress.error or "it failed")
    if progress.phase is Phase.READY:
        return Health(host, "unknown", "not-proven", str(progress.phase), "its log says ready; nothing proves it")
    return _on_the_way(host, lines, progress.sentence, now(capture, sources))


def _on_the_way(host: str, lines: Sequence[Line], sentence: str, when: float | None) -> Health:
    last = lines[-1].at
    silent = when - last if when is not None and last is not None else 0.0
    if silent > STALLED_S:
        return Health(host, "stalled", "silent", sentence, f"no line for {silent:.0f} s", "capture, then decide")
    return Health(host, "starting", phase=sentence, reason="its log moves", action="wait")
