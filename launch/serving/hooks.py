"""Commands of the operator's that follow a deploy: named in the inventory, run on the control machine, one by one.

A hook is a program and its words, no line of a shell. What it is about it finds in its environment.
"""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

from inventory.errors import BadInput, ChangeFailed
from inventory.nearest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from inventory.schema import Hook
    from launch.building.generation import Generation
    from launch.console.report import Report


def chosen(hooks: Mapping[str, Hook], named: Sequence[str]) -> dict[str, Hook]:
    """Those that always follow a deploy and those that are `named`, in the inventory's order. Raises `BadInput`."""
    for name in named:
        if name not in hooks:
            raise BadInput(
                f"there is no hook {name}{did_you_mean(name, hooks)}",
                id="hook-unknown",
                observed=f"--hooks {','.join(named)}",
                required=", ".join(hooks) or "hooks in the inventory: `hooks:` with a name and `run:`",
                next_command="the same command with another --hooks",
            )
    return {name: hook for name, hook in hooks.items() if hook.always or name in named}


def run(hooks: Mapping[str, Hook], gang: Generation, report: Report) -> None:
    """Run every hook. Raises `ChangeFailed` behind the last when one failed: the deployment serves all the same."""
    env = {**os.environ, **variables(gang)}
    failed = [failure for name, hook in hooks.items() if (failure := _one(name, hook, env, report))]
    if failed:
        raise ChangeFailed(
            f"{gang.name} serves, but what should follow has failed",
            id="hook-failed",
            observed="; ".join(failed),
            required="exit status 0 of every hook",
            next_command="run it by hand, or type the same command again: it runs the hooks alone",
        )


def variables(gang: Generation) -> dict[str, str]:
    """What a hook is told of the deployment."""
    return {
        "BRINGUP_NAME": gang.name,
        "BRINGUP_GENERATION": gang.generation,
        "BRINGUP_MODEL": gang.recipe,
        "BRINGUP_SERVED_NAME": gang.served_name,
        "BRINGUP_HOSTS": ",".join(gang.hosts),
        "BRINGUP_ENDPOINTS": ",".join(url for member in gang.members for url in member.urls),
    }


def _one(name: str, hook: Hook, env: Mapping[str, str], report: Report) -> str | None:
    """Run one, show what it says, and return how it failed."""
    report.say(f"hook {name}: {hook.run[0]}")
    try:
        done = subprocess.run(
            hook.run,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=hook.deadline_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"{name}: it did not end within {hook.deadline_s:g} s"
    except OSError as error:
        return f"{name}: {error}"
    for line in done.stdout.decode(errors="replace").splitlines():
        report.say(f"hook {name}: {line}")
    return f"{name}: exit status {done.returncode}" if done.returncode else None
