"""Mooncake: several instances of a serving strategy that share one KV store, and a router in front of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from launch.resolve.result import Router, Store

if TYPE_CHECKING:
    from launch.catalogue.taxonomy import KvStore
    from launch.resolve.case import Case

DEFAULT_PORT, DEFAULT_ROUTER_PORT = 8000, 30080
BALANCE = ("--cache-threshold", "0.5", "--balance-abs-threshold", "4", "--balance-rel-threshold", "1.1")


def instances(case: Case, store: KvStore) -> int:
    if case.instances is not None:
        return max(1, case.instances)
    return store.default_instances or 2


def head_of(instance: int, count: int) -> str:
    return "$HEAD_IP" if count == 1 else f"$VLLM_INSTANCE_{instance + 1}"


def router(store: KvStore, count: int) -> Router | None:
    """A single instance needs none."""
    if count < 2:
        return None
    spec = store.router
    policy = (spec.policy if spec else None) or "cache_aware"
    port = store.vllm.port or DEFAULT_PORT
    argv = ["vllm-router", "--policy", policy]
    for instance in range(1, count + 1):
        argv += ["--backend-url", f"http://$VLLM_INSTANCE_{instance}:{port}"]
    argv += ["--host", "$ROUTER_HOST", "--port", "$ROUTER_PORT", *BALANCE]
    install = (spec.install if spec else None) or "uv pip install vllm-router"
    return Router(tuple(argv), install, policy, (spec.port if spec else None) or DEFAULT_ROUTER_PORT)


def around(case: Case, store: KvStore) -> Store:
    """The store's own processes and the configuration that all parts share."""
    service = store.mooncake_store_config
    return Store(
        master=_text(store.mooncake_master, "command"),
        store={"command": service.get("command"), "config": service.get("config")}
        if isinstance(service, dict)
        else None,
        config=store.mooncake_vllm_config.get("template") if isinstance(store.mooncake_vllm_config, dict) else None,
        install=install(case, store),
    )


def install(case: Case, store: KvStore, *, fallback: str = "") -> str | None:
    """The transfer engine's package for the brand; None for brands without a build, unless another's will do."""
    wanted = store.vllm.install
    if isinstance(wanted, dict):
        return wanted.get(case.profile.brand.lower()) or wanted.get(fallback)
    return wanted if isinstance(wanted, str) else None


def _text(block: Any, key: str) -> str | None:  # noqa: ANN401  (free text for people)
    found = block.get(key) if isinstance(block, dict) else None
    return found.strip() if isinstance(found, str) else None
