from __future__ import annotations

from inventory.facts.base import is_known
from inventory.facts.host import HostFacts
from playbooks.checks.base import Priority, skip
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements

ID = "sto.cache_env"
PRIORITY = Priority.P1
WHY = "one variable more or less is another key of the compile cache: everything is compiled again"

# Read in vLLM 0.33.0: these are not part of the key.
IGNORED = frozenset(
    {
        *(
            "VLLM_HOST_IP",
            "VLLM_PORT",
            "VLLM_CACHE_ROOT",
            "VLLM_CONFIG_ROOT",
            "VLLM_ASSETS_CACHE",
            "VLLM_RPC_BASE_PATH",
        ),
        *("VLLM_LOGGING_LEVEL", "VLLM_LOGGING_PREFIX", "VLLM_LOGGING_CONFIG_PATH", "VLLM_CONFIGURE_LOGGING"),
        *("VLLM_NO_USAGE_STATS", "VLLM_DO_NOT_TRACK", "VLLM_USAGE_SOURCE", "VLLM_API_KEY", "VLLM_SERVER_DEV_MODE"),
        *("VLLM_KEEP_ALIVE_ON_ENGINE_DEATH", "VLLM_FORCE_AOT_LOAD"),
    }
)


def check(facts: HostFacts, needs: HostRequirements) -> Finding:
    if not is_known(facts.caches) or facts.caches.environment is None or not needs.env:
        return skip(ID, facts.host, "nobody wrote down with which environment the caches were made")
    made, planned = keyed(facts.caches.environment), keyed(needs.env)
    differ = sorted(name for name in made.keys() | planned.keys() if made.get(name) != planned.get(name))
    if not differ:
        return Finding(ID, Status.PASS, facts.host, "the caches were made with this environment")
    told = ", ".join(
        f"{name} was {made.get(name, 'not set')}, is {planned.get(name, 'not set')}" for name in differ[:3]
    )
    remedy = "warm the caches with the environment of the launch, byte for byte"
    return Finding(ID, Status.WARN, facts.host, told, "the environment that the caches were made with", remedy)


def keyed(env: tuple[tuple[str, str], ...]) -> dict[str, str]:
    return {name: value for name, value in env if name.startswith("VLLM_") and name not in IGNORED}
