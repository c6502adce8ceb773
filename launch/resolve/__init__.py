"""From a recipe and a choice to the environment and arguments of every node.

`resolve` is total: it renders something for every combination. Whether a combination is offered is asked of
`launch.resolve.gates`, what to choose of `launch.resolve.choice`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from launch.resolve import features, layers, parallel, pools, stores
from launch.resolve.case import KV_STORE, ROLES, Case, Pool
from launch.resolve.defects import defects_of
from launch.resolve.result import NodeCommand, Resolved
from launch.resolve.words import without

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from launch.catalogue.find import Found

__all__ = ["Case", "NodeCommand", "Pool", "Resolved", "resolve", "resolve_case"]


def resolve(  # noqa: PLR0913  (the parameters of a choice)
    found: Found,
    *,
    strategy: str,
    hardware: str,
    variant: str = "default",
    features: Sequence[str] = (),
    node_count: int = 1,
    modes: Mapping[str, str] | None = None,
    advanced: Sequence[str] = (),
    kv: str | None = None,
    instances: int | None = None,
    pools: Mapping[str, Pool] | None = None,
) -> Resolved:
    """Render one choice.

    `features`: in the order in which their arguments come. `modes`: which mode of a feature. `advanced`: more
    arguments. `kv`: a KV-offload option or a KV store, with `instances` of the strategy around it. `pools`: nodes and
    parallelism for `prefill` and `decode`. `node_count` is per instance.
    """
    case = Case(
        recipe=found.recipe,
        library=found.library,
        variant_key=variant,
        strategy_name=strategy,
        hardware=hardware,
        node_count=node_count,
        features=tuple(features),
        modes=modes or {},
        advanced=tuple(advanced),
        kv=kv,
        instances=instances,
        pools=pools or {},
    )
    return resolve_case(case)


def resolve_case(case: Case) -> Resolved:
    resolved = _pools(case) if case.is_pd else _instances(case) if case.instance_store is not None else _plain(case)
    return replace(resolved, defects=tuple(defects_of(case, resolved.processes)))


def _plain(case: Case) -> Resolved:
    processes = tuple(_nodes(case, "$HEAD_IP"))
    single = len(processes) == 1
    return Resolved(
        deploy_type=case.strategy.deploy_type,
        model_id=case.model_id,
        processes=processes,
        helpers=tuple(_helpers(case)) if single else (),
    )


def _nodes(case: Case, head: str) -> Iterator[NodeCommand]:
    env = layers.env_of(case)
    for rank in range(case.node_count if case.spans_nodes else 1):
        role = "single" if not case.spans_nodes else "worker" if rank else "head"
        argv = layers.argv_of(case, parallel.words(case, rank, head))
        if parallel.is_headless(case, rank):
            argv = without(argv, "--api-server-count")  # a headless node has none, and vLLM refuses the option
        yield NodeCommand(role, rank, env, argv)


def _helpers(case: Case) -> Iterator[features.Helper]:
    yield from features.helpers(case)
    option = case.kv_option
    if option is not None and option.companion is not None:
        one = option.companion
        needs = f"Requires: {option.install}" if option.install else ""
        description = " ".join(filter(None, (one.description.strip(), needs)))
        yield features.Helper(f"kv_offload:{case.kv}", one.label, description, one.command.strip())


def _instances(case: Case) -> Resolved:
    store = case.instance_store
    assert store is not None  # noqa: S101  (asked by the caller)
    count = stores.instances(case, store)
    processes = tuple(
        NodeCommand("instance", node.rank, node.env, node.argv, instance=instance)
        for instance in range(count)
        for node in _nodes(case, stores.head_of(instance, count))
    )
    return Resolved(
        deploy_type=KV_STORE,
        model_id=case.model_id,
        processes=processes,
        router=stores.router(store, count),
        store=stores.around(case, store),
        instances=count,
        nodes_per_instance=case.node_count,
        serving_strategy=case.strategy_name,
    )


def _pools(case: Case) -> Resolved:
    layouts = {role: pools.layout(case, role) for role in ROLES}
    store = case.kv_store
    return Resolved(
        deploy_type=case.strategy.deploy_type,
        model_id=case.model_id,
        processes=tuple(pools.processes(case)),
        pools=layouts,
        router=pools.router(case, layouts),
        store=stores.around(case, store) if store is not None else None,
    )
