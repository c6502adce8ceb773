"""The benchmarks that lie on the head of a deployment, beside the generations that they measured."""

from __future__ import annotations

import json
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from inventory.errors import BadInput
from inventory.quoting import quote
from launch.serving.bench.results import Result, read_result
from playbooks.layout import Layout

if TYPE_CHECKING:
    from inventory.fleet import Fleet
    from inventory.transport.base import Transport
    from launch.building.generation import Generation

LOOK_S = 20.0


def listed(fleet: Fleet, gang: Generation) -> dict[str, dict[str, Any]]:
    """What each run was about, by its folder on the head, the latest last. Raises what the head said."""

    def one(transport: Transport) -> str:
        deployment = quote(Layout(fleet.state_dirs[transport.host]).deployment(gang.name))
        # `current` is a link to one of the others.
        script = f"""cd -- {deployment} || exit 0
for about in */benchmarks/*/about.json; do
  case $about in current/*) continue ;; esac
  [ -s "${{about%about.json}}result.json" ] || continue
  printf '%s\\t%s\\n' "$PWD/${{about%/about.json}}" "$(head -n 1 "$about")"
done
"""
        return transport.run(script, timeout=LOOK_S).text

    told = fleet.on(gang.members[0].host, one)
    found = dict(line.partition("\t")[::2] for line in told.splitlines())
    runs = {folder: said for folder, line in found.items() if (said := _said(line))}
    return dict(sorted(runs.items(), key=lambda run: str(run[1].get("began"))))


def _said(line: str) -> dict[str, Any]:
    try:
        said = json.loads(line)
    except ValueError:
        return {}
    return said if isinstance(said, dict) else {}


def result_of(fleet: Fleet, gang: Generation, name: str) -> Result:
    """The run called `name`. Raises `BadInput` when the head has none."""
    runs = listed(fleet, gang)
    names = {PurePosixPath(folder).name: folder for folder in runs}
    if name not in names:
        raise BadInput(
            f"there is no benchmark {name}",
            id="bench-unknown",
            observed=", ".join(names) or "no benchmarks",
            required="the id of one",
            next_command=f"invoke bench.list {gang.flags}",
        )
    return fleet.on(gang.members[0].host, lambda transport: read_at(transport, names[name], name))


def read_at(transport: Transport, folder: str, name: str) -> Result:
    """The run whose files lie in `folder`. Raises `FileNotFoundError`, and `ValueError` for what is no result."""
    about, result = (transport.get(f"{folder}/{file}").decode() for file in ("about.json", "result.json"))
    return read_result(name, about, result)
