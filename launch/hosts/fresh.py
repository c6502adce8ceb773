"""The first look at a fresh cluster: asked or replayed, judged layer by layer, kept, and compared with the last one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from inventory.fleet import Fleet
from launch.console.causes import described
from launch.hosts import records
from launch.hosts.day_one import LAYERS, Descent, descend, needs_of, of_launches
from playbooks.check import run_checks, unreachable_findings
from playbooks.trials import Told, run_trials

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from inventory.errors import HostUnreachable
    from inventory.facts.host import HostFacts
    from launch.hosts.gather import Answered
    from playbooks.finding import Finding


@dataclass(frozen=True, slots=True)
class Looked:
    """What the hosts said, how far each came, and the findings that count."""

    answered: Answered
    facts: dict[str, HostFacts]
    descents: tuple[Descent, ...]
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class Earlier:
    """The last record of these hosts, and what is different now."""

    folder: Path
    differences: tuple[str, ...]


def look(answered: Answered, tried: Sequence[Finding] = ()) -> Looked:
    """Judge every host that answered, with what active checks found; the others fail in the first layer."""
    facts = answered.facts()
    reached = [host for name, host in answered.hosts.items() if name in facts]
    errors: dict[str, HostUnreachable] = dict(answered.errors)  # type: ignore[arg-type]
    left_out = dict.fromkeys(of_launches(), "it needs a model")
    told = run_checks(facts, needs_of(reached, facts), left_out=left_out) if reached else ()
    descents, findings = descend(tuple(answered.hosts), (*unreachable_findings(errors), *told, *tried))
    return Looked(answered, facts, descents, findings)


def tried_on(looked: Looked, told: Told) -> tuple[Finding, ...]:
    """Run the active checks on the hosts that came through all layers."""
    sound = [looked.answered.hosts[one.host] for one in looked.descents if not one.stopped_at]
    if not sound:
        return ()
    with Fleet(sound) as fleet:
        return run_trials(fleet, needs_of(sound, looked.facts), told=told)


def keep(looked: Looked, folder: Path | None) -> tuple[Earlier | None, Path]:
    """Write the record below `folder` (None: the default place) and compare it with the last one of these hosts."""
    place = folder or records.default_folder()
    last = records.latest(place, tuple(looked.answered.hosts))
    earlier = Earlier(last.folder, records.compared(last, looked.answered, looked.findings)) if last else None
    return earlier, records.keep(place, looked.answered, looked.findings)


def rows(looked: Looked) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """The table: a line a host, a column a layer."""
    words = [
        (one.host, *(str(status) if status else "-" for status in one.layers), _next(one)) for one in looked.descents
    ]
    return ("host", *(layer.title for layer in LAYERS), ""), words


def _next(one: Descent) -> str:
    return f"stopped at {one.stopped_at}" if one.stopped_at else ""


def told(looked: Looked, earlier: Earlier | None, kept: Path | None) -> Iterator[str]:
    """What is said below the findings."""
    if earlier:
        yield f"since {earlier.folder.name}: " + ("nothing changed" if not earlier.differences else "")
        yield from (f"  {line}" for line in earlier.differences)
    if kept:
        yield f"kept as {kept}"
    names = ",".join(one.host for one in looked.descents if not one.stopped_at)
    yield f"next: invoke check --model MODEL --hosts {names}" if names else "next: mend what is named above"


def document(looked: Looked, earlier: Earlier | None, kept: Path | None) -> dict[str, object]:
    """What `--json` prints."""
    titles = [layer.title for layer in LAYERS]
    return {
        "layers": titles,
        "hosts": {
            one.host: {"layers": dict(zip(titles, one.layers, strict=True)), "stopped_at": one.stopped_at}
            for one in looked.descents
        },
        "findings": [described(one) for one in looked.findings],
        "record": str(kept) if kept else None,
        "since": {"record": str(earlier.folder), "differences": earlier.differences} if earlier else None,
    }
