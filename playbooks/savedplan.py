"""A plan in a file, to be looked at and applied later. It is a promise to compare with, never a script to run.

Applying one plans anew and refuses unless that plan is the same to the letter: what has drifted meanwhile is seen also
where the plan had nothing to do, and a file that was edited can make nothing happen on a host.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from inventory.errors import BadInput, ChangeFailed
from inventory.quoting import quote
from playbooks.plan import Change, Plan

FORMAT_VERSION = 1
KIND = "install-plan"


def save_plan(path: Path, plan: Plan, asked: Mapping[str, str]) -> None:
    """Write a new file. `asked`: the flags that the plan was made with. Raises `BadInput` where it cannot be."""
    document = {"format_version": FORMAT_VERSION, "kind": KIND, "asked": dict(asked), "plan": asdict(plan)}
    try:
        with path.open("x", encoding="utf-8") as file:
            path.chmod(0o600)  # contents of files may be in it
            json.dump(document, file, indent=1, ensure_ascii=False)
            file.write("\n")
    except OSError as error:
        raise BadInput(
            f"the plan cannot be written to {path}",
            id="plan-file",
            observed=error.strerror or str(error),
            required="the name of a new file in a folder that this user may write",
            next_command=f"ls -ld -- {quote(path)} {quote(path.parent)}",
        ) from None


def read_saved(path: Path) -> tuple[dict[str, str], dict[str, Any]]:
    """The flags that a saved plan was made with, and the plan as plain data. Raises `BadInput`."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        good = document["kind"] == KIND and document["format_version"] == FORMAT_VERSION
        asked = {str(name): str(value) for name, value in document["asked"].items()}
        plan = document["plan"]
        changes = [(one["host"], one["id"]) for one in plan["changes"]]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise _no_plan(path, getattr(error, "strerror", None) or "no document of the form that --save writes") from None
    if not good or not all(isinstance(part, str) for one in changes for part in one):
        raise _no_plan(path, f"{document['kind']!r} of format {document['format_version']!r}")
    return asked, plan


def refuse_other(saved: Mapping[str, Any], now: Plan) -> None:
    """Raise `ChangeFailed` where the plan that is made now is not the saved one."""
    then = {(one["host"], one["id"]): one for one in saved["changes"]}
    today = {(one.host, one.id): _plain(one) for one in now.changes}
    off = [key for key in {**then, **today} if then.get(key) != today.get(key)]
    if not off:
        return
    host, step = off[0]
    what = "is not needed any more" if off[0] not in today else "is new" if off[0] not in then else "is another one"
    raise ChangeFailed(
        f"the saved plan is not what these hosts need now; nothing was changed (on {len(off)} change(s) they differ)",
        id="plan-outdated",
        observed=f"{step} on {host} {what}",
        required="hosts and playbooks as they were when the plan was saved",
        next_command="invoke install with the same flags and --dry-run, and save that plan",
        host=host,
    )


def _plain(change: Change) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(json.dumps(asdict(change)))
    return data


def _no_plan(path: Path, observed: str) -> BadInput:
    return BadInput(
        f"{path} holds no saved plan",
        id="plan-file",
        observed=observed,
        required="a file that `invoke install --save FILE` wrote, by this version",
        next_command=f"head -c 300 -- {quote(path)}",
    )
