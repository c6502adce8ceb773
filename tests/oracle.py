"""Compares what we resolve with what the public catalogue's own builder resolved.

    uv run python -m tests.oracle --recipes DIR... --cases FILE.jsonl...

prints each case that differs and closes with `N of M cases agree`. A case that is marked with a defect of that builder
(see `docs/reference/recipes.md`) and differs is printed as `defect`; it counts as agreeing only when it is the same.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from launch.catalogue import Catalogue
from launch.resolve import Case, Pool, resolve_case
from launch.resolve.words import shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from launch.resolve import Resolved

Json = dict[str, Any]


def case_of(catalogue: Catalogue, line: Json) -> Case:
    found, given = catalogue.find(line["recipe"]), line["in"]
    pools = {role: Pool(one.get("nodes"), one.get("parallelism")) for role, one in (given["pd"] or {}).items()}
    return Case(
        recipe=found.recipe,
        library=found.library,
        variant_key=given["variant"],
        strategy_name=given["strategy"] or "",
        hardware=given["hardware"],
        node_count=given["nodes"],
        features=tuple(given["features"]),
        modes=given["modes"],
        advanced=tuple(given["advanced"]),
        kv=given["kv_offload"],
        instances=(given["kv_instances"] or {}).get("count"),
        pools=pools,
    )


def processes(resolved: Resolved) -> list[Json]:
    found = []
    for one in resolved.processes:
        entry: Json = {"role": one.role, "rank": one.rank, "env": dict(one.env), "argv": list(one.argv)}
        entry |= {"instance": one.instance} if one.instance is not None else {}
        entry |= {"pool_nodes": one.pool_nodes} if one.pool_nodes is not None else {}
        found.append(entry)
    return found


def answer(catalogue: Catalogue, line: Json) -> Json:
    resolved = resolve_case(case_of(catalogue, line))
    out: Json = {"deploy_type": resolved.deploy_type, "processes": processes(resolved)}
    if resolved.processes[0].role == "single":
        out["shell"] = shown(resolved.head.argv, ("vllm", "serve"))
    if resolved.helpers:
        out["companions"] = [
            {"source": one.source, "label": one.label, "command": one.command, "description": one.description}
            for one in resolved.helpers
        ]
    return out


def normal(value: Any) -> Any:  # noqa: ANN401  (JSON)
    """Environment values as text, as a process sees them; white space of commands collapsed by the caller."""
    if isinstance(value, dict):
        return {
            key: {k: str(v) for k, v in item.items()} if key == "env" else normal(item) for key, item in value.items()
        }
    return [normal(one) for one in value] if isinstance(value, list) else value


def differences(want: Any, have: Any, path: str = "") -> Iterator[str]:  # noqa: ANN401
    """What differs, as lines `path: wanted / got`."""
    if isinstance(want, dict) and isinstance(have, dict):
        for key in sorted({*want, *have}):
            yield from differences(want.get(key), have.get(key), f"{path}.{key}")
    elif isinstance(want, list) and isinstance(have, list) and len(want) == len(have) and path.count("argv") == 0:
        for index, (one, other) in enumerate(zip(want, have, strict=True)):
            yield from differences(one, other, f"{path}[{index}]")
    elif want != have:
        yield f"{path}: wanted {json.dumps(want)[:400]} got {json.dumps(have)[:400]}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--recipes", type=Path, nargs="+", required=True)
    parser.add_argument("--cases", type=Path, nargs="+", required=True)
    arguments = parser.parse_args()
    catalogue = Catalogue.of(arguments.recipes, ours=False)
    agree = total = 0
    for path in arguments.cases:
        for text in path.read_text(encoding="utf-8").splitlines():
            line = json.loads(text)
            want, total = normal(line["out"]), total + 1
            have = normal(answer(catalogue, line))
            want, have = drop_todo(want), drop_todo(have)
            found = list(differences(want, have))
            agree += not found
            for one in found[:3]:
                sys.stdout.write(
                    f"{line['id']} {line['recipe']} {json.dumps(line['in'])[:200]} {line['marks']} {one}\n"
                )
    sys.stdout.write(f"{agree} of {total} cases agree\n")
    return 0 if agree == total else 1


def drop_todo(out: Json) -> Json:
    out = {k: v for k, v in out.items() if k in ("deploy_type", "processes", "shell", "companions")}
    out["processes"] = [{k: v for k, v in p.items() if k != "docker"} for p in out["processes"]]
    return out


if __name__ == "__main__":
    sys.exit(main())
