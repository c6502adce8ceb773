"""The active checks, in the order in which they run. A test fails when a module is not listed."""

from __future__ import annotations

from playbooks.checks.active import (
    fabric_p2p_data,
    gpu_cuda_init,
    net_outbound,
    net_pair_tcp,
    net_path_mtu,
    os_quota,
    rt_docker_gpu,
    rt_import_smoke,
    ssh_detach_survives,
    sto_deep_verify,
    sto_read_rate,
)
from playbooks.checks.active.base import ActiveCheck, HostTrial, PairTrial

HOST_TRIALS: tuple[HostTrial, ...] = (
    rt_import_smoke,
    rt_docker_gpu,
    gpu_cuda_init,
    fabric_p2p_data,
    net_path_mtu,
    net_outbound,
    os_quota,
    sto_read_rate,
    sto_deep_verify,
)
PAIR_TRIALS: tuple[PairTrial, ...] = (ssh_detach_survives, net_pair_tcp)
ACTIVE: dict[str, ActiveCheck] = {check.ID: check for check in (*HOST_TRIALS, *PAIR_TRIALS)}
