"""One script that asks a host for the state of many steps, and the reader of its answer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from playbooks.plan import UNREADABLE, Step

PROBE_DEADLINE_S = 30.0


def state_function(name: str, probe: str) -> str:
    """Define shell function `name`: it prints the state, one line, or that it is unreadable and why."""
    return f"""{name}() {{
state=$(exec 2>&1
{probe}
) || state="{UNREADABLE}: $state"
printf '%s' "$state" | head -n 1 | tr -d '\\r\\t'
}}"""


def probe_script(steps: Iterable[Step]) -> str:
    """Render one line of output per step: its place in `steps`, a tab, its state."""
    return "\n".join(
        f"{state_function('read_state', step.probe)}\nprintf '%s\\t%s\\n' {index} \"$(read_state)\""
        for index, step in enumerate(steps)
    )


def read_states(steps: Sequence[Step], answer: str) -> dict[str, str]:
    """Read the answer of `probe_script`; a step whose line is missing is unreadable, never absent."""
    seen = dict(line.split("\t", 1) for line in answer.splitlines() if "\t" in line)
    return {step.id: seen.get(str(index)) or f"{UNREADABLE}: no answer" for index, step in enumerate(steps)}
