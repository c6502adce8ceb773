"""Compares what we resolve with what the public catalogue's own builder resolved.

    uv run python -m tests.oracle --recipes DIR... --cases FILE.jsonl...

prints each case that differs and closes with `N of M cases agree`. A case that is marked with a defect of that builder
(see `docs/reference/recipes.md`) and differs is printed as `defect`; it counts as agreeing only when it is the same.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from launch.catalogue import Catalogue
from launch.resolve import Case, Pool, docker, resolve_case
from launch.resolve.omni import binary_of, resolve_omni
from launch.resolve.words import shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from launch.resolve import NodeCommand, Resolved

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


def answer(catalogue: Catalogue, line: Json) -> Json:
    case = case_of(catalogue, line)
    omni_task = line["in"].get("omni_task")
    is_omni = "omni" in case.recipe.meta.tasks and case.recipe.omni is not None and not line["in"]["strategy"]
    resolved = resolve_omni(case, omni_task) if is_omni else resolve_case(case)
    binary = len(binary_of(case)) if is_omni else 2
    out: Json = {"deploy_type": resolved.deploy_type}
    out["processes"] = [process(case, one, binary) for one in resolved.processes]
    if resolved.processes[0].role == "single":
        out["shell"] = shown(resolved.head.argv, binary)
    if resolved.helpers:
        out["companions"] = [asdict(one) for one in resolved.helpers]
    if is_omni:
        out |= {"model": resolved.model_id, "task": resolved.task}
    return out | pools(resolved) | instances(resolved)


def process(case: Case, one: NodeCommand, binary: int) -> Json:
    found: Json = {"role": one.role, "rank": one.rank, "env": dict(one.env), "argv": list(one.argv)}
    found |= {"instance": one.instance} if one.instance is not None else {}
    found |= {"pool_nodes": one.pool_nodes} if one.pool_nodes is not None else {}
    image = docker.image_of(case)
    if image is not None:
        found["docker"] = {"image": image, "argv": docker.run(case, one, image, words=binary)}
    return found


def router(resolved: Resolved) -> Json | None:
    if resolved.router is None:
        return None
    one = resolved.router
    found: Json = {"command": " ".join(one.argv), "install": one.install}
    return found | ({"port": one.port} if one.port is not None else {"policy": one.policy})


def pools(resolved: Resolved) -> Json:
    if resolved.pools is None:
        return {}
    out: Json = {"pools": {role: asdict(one) for role, one in resolved.pools.items()}, "router": router(resolved)}
    if resolved.store is not None:
        one = resolved.store
        out["mooncake"] = {"master": one.master, "store": one.store, "config": one.config, "install": one.install}
    return out


def instances(resolved: Resolved) -> Json:
    if resolved.instances is None or resolved.store is None:
        return {}
    one = resolved.store
    return {
        "instances": resolved.instances,
        "nodes_per_instance": resolved.nodes_per_instance,
        "serving_strategy": resolved.serving_strategy,
        "master": one.master,
        "store": one.store,
        "kv_config": one.config,
        "install": one.install,
        "router": router(resolved),
    }


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
            found = list(differences(want, have))
            agree += not found
            for one in found[:3]:
                sys.stdout.write(
                    f"{line['id']} {line['recipe']} {json.dumps(line['in'])[:200]} {line['marks']} {one}\n"
                )
    sys.stdout.write(f"{agree} of {total} cases agree\n")
    return 0 if agree == total else 1


if __name__ == "__main__":
    sys.exit(main())
