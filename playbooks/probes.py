"""One script that asks a host for the state of many steps, and the reader of its answer."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

from playbooks.plan import UNREADABLE, Step

PROBE_DEADLINE_S = 30.0


LINE_END, TAB, RETURN = "\n", "\t", "\r"
AS_ROOT = """as_root() {
if [ "$(id -u)" = 0 ]; then /bin/sh; else sudo -n /bin/sh; fi
}"""
"""Runs the script on its stdin as root; sudo never asks for a password."""


def state_function(name: str, probe: str, *, as_root: bool = False) -> str:
    """Define shell function `name`: it prints the state, one line, or that it is unreadable and why."""
    tag = "END_" + hashlib.sha256(probe.encode()).hexdigest()[:16]
    body = f"as_root <<'{tag}'\n{probe}\n{tag}" if as_root else probe
    return f"""{name}() {{
state=$(exec 2>&1
{body}
) || state="{UNREADABLE}: $state"
case $state in
*"{LINE_END}"* | *"{TAB}"* | *"{RETURN}"*) state=$(printf '%s' "$state" | head -n 1 | tr -d '\\r\\t') ;;
esac
printf '%s' "$state"
}}"""


def probe_script(steps: Iterable[Step]) -> str:
    """Render one line of output per step: its place in `steps`, a tab, its state.

    What wants root is asked in one shell of root's.
    """
    numbered = list(enumerate(steps))
    plain = [_ask(index, step) for index, step in numbered if not step.probe_sudo]
    for_root = "\n".join(_ask(index, step) for index, step in numbered if step.probe_sudo)
    if for_root:
        tag = "ROOT_" + hashlib.sha256(for_root.encode()).hexdigest()[:16]
        plain += [AS_ROOT, f"as_root <<'{tag}'\n{for_root}\n{tag}"]
    return "\n".join(plain)


def _ask(index: int, step: Step) -> str:
    return f"{state_function('read_state', step.probe)}\nprintf '%s\\t%s\\n' {index} \"$(read_state)\""


def read_states(steps: Sequence[Step], answer: str) -> dict[str, str]:
    """Read the answer of `probe_script`; a step whose line is missing is unreadable, never absent."""
    seen = dict(line.split("\t", 1) for line in answer.splitlines() if "\t" in line)
    return {step.id: seen.get(str(index)) or f"{UNREADABLE}: no answer" for index, step in enumerate(steps)}
