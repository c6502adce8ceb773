"""Compares what we resolve with what the public catalogue's own builder resolved.

    uv run python -m tests.oracle --recipes DIR... --cases FILE.jsonl...

prints each case that differs and closes with `N of M cases agree`. A case that is marked with a defect of that builder
(see `docs/reference/recipes.md`) and differs is printed as `defect`; it counts as agreeing only when it is the same.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inventory.errors import BringupError
from launch.catalogue.find import Catalogue
from launch.resolve import Case, Pool, choice, docker, gates, resolve_case, stores
from launch.resolve.gates import Place
from launch.resolve.install import install_of, model_ways, packages
from launch.resolve.omni import binary_of, resolve_omni
from launch.resolve.words import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from launch.resolve import NodeCommand, Resolved
    from launch.resolve.install import Way

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


def normal(value: Any, key: str = "") -> Any:  # noqa: ANN401  (JSON)
    """Without what is not compared: fingerprints of commands, and addresses of package indexes.

    Environment values are text, as a process sees them.
    """
    if isinstance(value, dict):
        kept = {name: item for name, item in value.items() if name != "argv_sha"}
        return {name: str(item) if key == "env" else normal(item, name) for name, item in kept.items()}
    if isinstance(value, list):
        return [normal(one) for one in value]
    return re.sub(r"https://[^/\s]+", "$INDEX", value) if isinstance(value, str) else value


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


def place_of(catalogue: Catalogue, line: Json) -> Place:
    found, given = catalogue.find(line["recipe"]), line["in"]
    return Place(found.recipe, found.library, given.get("variant", "default"), given.get("hardware", ""))


def gates_of(catalogue: Catalogue, line: Json) -> Json:
    """What the catalogue's rules say of a case, whether it is offered or not; omni recipes have no strategies."""
    place, strategy = place_of(catalogue, line), line["in"]["strategy"]
    out: Json = {"precision_ok": gates.precision_ok(place), "hardware_ok": gates.hardware_ok(place)}
    out |= {"variant_hw_ok": gates.listed_ok(place), "restricted_ok": gates.restricted_ok(place)}
    out["strategy_ok"] = gates.supported(place, strategy) if strategy else None
    out["reachable"] = gates.reachable(place, strategy) if strategy else None
    out["min_nodes"] = gates.least_nodes(place, strategy) if strategy else None
    out |= {"scalable": place.profile.scalable, "fits_single_node": gates.fits_node(place)}
    return out | {"verified": place.recipe.meta.hardware.get(place.hardware) == "verified"}


def default_hardware(catalogue: Catalogue, line: Json) -> Json:
    place = place_of(catalogue, line)
    return {"default_hardware": choice.default_hardware(place), "offered_hardware": choice.hardware_offered(place)}


def recommend(catalogue: Catalogue, line: Json) -> Json | None:
    found = choice.recommend(place_of(catalogue, line))
    if found is None:
        return None
    others = {one.strategy: chosen(one) for one in found.alternatives}
    return {"recommended": chosen(found.recommended), "features": list(found.features), "alternatives": others}


def chosen(one: choice.Choice) -> Json:
    out: Json = {"strategy": one.strategy, "variant": one.variant}
    out |= {"node_count": one.node_count, "deploy_type": one.deploy_type}
    if one.pool_nodes is not None and one.pool_modes is not None:
        out |= {"prefill_nodes": one.pool_nodes[0], "decode_nodes": one.pool_nodes[1]}
        out |= {"prefill_parallelism": one.pool_modes[0], "decode_parallelism": one.pool_modes[1]}
    if one.serving_strategy is not None:
        out |= {"serving_strategy": one.serving_strategy, "instances": one.instances}
        out["kv_min_vllm_version"] = one.min_vllm_version
    return out


def install_case(catalogue: Catalogue, line: Json, hardware: str) -> Case:
    found = catalogue.find(line["recipe"])
    variant = line["in"].get("variant", "default")
    return Case(found.recipe, found.library, variant, "", hardware)


def install(catalogue: Catalogue, line: Json) -> Json:
    picked = line["in"]["cuda"]
    cuda = None if picked == "default" else picked
    case = install_case(catalogue, line, line["in"]["hardware"])
    found = install_of(case, cuda)
    out: Json = {"image": found.image, "brand": found.brand, "initial_mode": found.declared}
    out |= {"effective_mode": found.used, "min_version": found.min_version, "nightly": found.nightly}
    out |= {
        "tabs": [way(one) for one in found.ways],
        "cuda_selector": found.choose_cuda,
        "single_cuda": found.only_cuda,
    }
    out |= {f"deps_{key}": [asdict(one) for one in packages(case, key)] for key in ("pip", "docker")}
    if cuda is None:
        lmcache = case.library.taxonomy.kv_offload.get("lmcache")
        store = case.library.kv_stores.get("kv_store_distributed_mooncake")
        engine = stores.install(case, store, fallback="nvidia") if store else None
        lmcache_install = lmcache.install if lmcache else None
        out["deps_pip_lmcache"] = [asdict(one) for one in packages(case, "pip", lmcache_install)]
        out["deps_pip_mooncake"] = [asdict(one) for one in packages(case, "pip", engine)]
    return out


def way(one: Way) -> Json:
    return {"id": one.id, "code": one.command} | ({"note": one.note} if one.note else {})


def install_api(catalogue: Catalogue, line: Json) -> Json:
    case = install_case(catalogue, line, "h200")
    out: Json = {}
    for one in model_ways(case):
        out[one.id] = {"command": one.command} | ({"note": one.note} if one.note else {})
    if case.recipe.dependencies:
        out["extras"] = [one.model_dump(exclude_unset=True, mode="json") for one in case.recipe.dependencies]
    return out


ANSWERS: dict[str, Callable[[Catalogue, Json], Json | None]] = {
    "default_hardware": default_hardware,
    "recommend": recommend,
    "install": install,
    "install_api": install_api,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--recipes", type=Path, nargs="+", action="extend", required=True)
    parser.add_argument("--cases", type=Path, nargs="+", action="extend", required=True)
    arguments = parser.parse_args()
    catalogue = Catalogue.of(arguments.recipes, ours=False)
    lines = [json.loads(text) for path in arguments.cases for text in path.read_text(encoding="utf-8").splitlines()]
    agree = 0
    for line in lines:
        found = compare(catalogue, line)
        agree += not found
        marks = f" (marked {', '.join(line['marks'])})" if line.get("marks") else ""
        for one in found[:3]:
            sys.stdout.write(f"{line['id']} {line['recipe']} {json.dumps(line['in'])[:240]}{marks}\n  {one}\n")
    sys.stdout.write(f"{agree} of {len(lines)} cases agree\n")
    return 0 if agree == len(lines) else 1


def compare(catalogue: Catalogue, line: Json) -> list[str]:
    """What differs in one case; a recipe that is not there or cannot be read differs."""
    try:
        have = ANSWERS.get(line["kind"], answer)(catalogue, line)
    except BringupError as error:
        return [str(error)]
    want = normal(line["out"])
    if "gates" in line and isinstance(have, dict):
        want, have = want | {"gates": line["gates"]}, have | {"gates": gates_of(catalogue, line)}
    if line["kind"] in {"install", "install_api"}:
        want = only_own_notes(want, have)
    return list(differences(want, normal(have)))


def only_own_notes(want: Json, have: Json | None) -> Json:
    """Without the notes that the builder writes by itself for its readers; those of recipes stay."""
    have = have or {}
    if "tabs" not in want:
        return {name: strip_note(one, have.get(name)) if isinstance(one, dict) else one for name, one in want.items()}
    own = {one["id"]: one for one in have.get("tabs", [])}
    return want | {"tabs": [strip_note(one, own.get(one["id"])) for one in want["tabs"]]}


def strip_note(want: Json, have: Json | None) -> Json:
    return want if have and "note" in have else {name: one for name, one in want.items() if name != "note"}


if __name__ == "__main__":
    sys.exit(main())
