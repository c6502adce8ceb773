from __future__ import annotations

from collections.abc import Iterator, Mapping

from inventory.facts.host import HostFacts
from playbooks.checks.base import Priority, skip
from playbooks.finding import Finding, Status
from playbooks.racks import NCCL_SETTINGS, RACKS
from playbooks.requirements import Requirements

ID = "plan.mnnvl_env"
PRIORITY = Priority.P1
WHY = "without them NCCL goes from tray to tray over the network, many times slower, and says nothing"

TRAY_GPUS = 4


def check(_facts: Mapping[str, HostFacts], needs: Requirements) -> tuple[Finding, ...]:
    if needs.hardware is None:
        return (skip(ID, "", "the plan names no hardware"),)
    if needs.hardware not in RACKS:
        return tuple(_forbidden(needs)) or (Finding(ID, Status.PASS, "", f"no MNNVL setting on {needs.hardware}"),)
    if not spans_trays(needs):
        return (skip(ID, "", "neither tensor nor expert parallelism goes from tray to tray"),)
    required = f"{' and '.join(f'{name}=1' for name in NCCL_SETTINGS)} on every tray"
    wrong = {one.host: lacking for one in needs.hosts if (lacking := [*_lacking(dict(one.env))])}
    if not wrong:
        return (Finding(ID, Status.PASS, "", required),)
    remedy = f"add {required.removesuffix(' on every tray')} to the recipe's environment for {needs.hardware}"
    return tuple(Finding(ID, Status.FAIL, host, "; ".join(text), required, remedy) for host, text in wrong.items())


def spans_trays(needs: Requirements) -> bool:
    layout = needs.layout
    if (layout.nodes or len(needs.hosts)) < 2:
        return False
    if needs.mnnvl is not None:
        return needs.mnnvl
    per_tray = max((len(one.gpus) for one in needs.hosts), default=0) or TRAY_GPUS
    rank = (layout.tensor_parallel or 1) * (layout.pipeline_parallel or 1)
    return rank > per_tray or bool(layout.expert_parallel)


def _lacking(env: Mapping[str, str]) -> Iterator[str]:
    for name in NCCL_SETTINGS:
        if env.get(name) != "1":
            yield f"{name} is {env[name]}" if name in env else f"{name} is not set"


def _forbidden(needs: Requirements) -> Iterator[Finding]:
    for one in needs.hosts:
        if dict(one.env).get(NCCL_SETTINGS[0]) == "1":
            observed = f"{NCCL_SETTINGS[0]}=1 on {needs.hardware}, whose NVLink ends at the host"
            remedy = f"take {NCCL_SETTINGS[0]} out of the recipe's environment for {needs.hardware}"
            yield Finding(ID, Status.FAIL, one.host, observed, f"{NCCL_SETTINGS[0]} is not set", remedy)
