"""What was tried on a host, as a person would write it down, in the words of the product's own trials.

The verdict is the product's: only what its scripts would have printed is put together here from the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from fnmatch import fnmatch

from playbooks.checks.active import gpu_cuda_init, rt_docker_gpu, rt_import_smoke, sto_read_rate
from playbooks.checks.active.base import HostTrial, Said
from playbooks.finding import Finding
from playbooks.requirements import HostRequirements, Requirements

Translate = Callable[[str, HostRequirements], Said]
TIMED_OUT = re.compile(r"rc=(?:124|137)|timed out|timeout: sending", re.IGNORECASE)


def cuda(text: str, host: HostRequirements) -> Said:
    """`8` of device_count(), or an error with its number."""
    if TIMED_OUT.search(text):
        return Said(124, text)
    error = re.search(r"(?i)(?:error|cuInit)\D{0,12}(\d{1,3})\b:?[ \t]*(.*)", text)
    if error:
        return Said(0, f"failed cuInit {error[1]} {error[2]}\n")
    count = re.search(r"(?m)^\D*(\d{1,3})\s*$", text)
    if count is None:
        return Said(1, "", text)
    well = min(int(count[1]), len(host.gpus) or int(count[1]))
    return Said(0, f"driver 0\ncount {count[1]}\n" + "".join(f"well {at}\n" for at in range(well)))


def imported(text: str, _host: HostRequirements) -> Said:
    """torch.version.cuda, or the last line of a traceback."""
    value = text.strip().splitlines()[-1] if text.strip() else ""
    if re.fullmatch(r"None|\d+\.\d+", value):
        return Said(0, f"vllm imported\ncuda {value}\n")
    return Said(1, "", text)


def container(text: str, _host: HostRequirements) -> Said:
    """A list of `nvidia-smi -L` in a container, or docker's own words."""
    shown = re.findall(r"(?m)^GPU (\d+):", text)
    return Said(0, "".join(f"/dev/nvidia{at}\n" for at in shown)) if shown else Said(125, "", text)


def read(text: str, host: HostRequirements) -> Said:
    """What dd says at its end; all that is read are the weights of the plan."""
    found = re.search(r"(\d+) bytes.*copied, ([\d.]+) s", text)
    total = sum(one.size for one in host.weights.files or ()) if host.weights else 0
    if found is None:
        return Said(1, "", text)
    return Said(0, f"total {total // 1024}\ntimes 0 {found[2]}\nbytes {found[1]}\n")


TRIALS: Mapping[str, tuple[HostTrial, tuple[str, ...], Translate]] = {
    gpu_cuda_init.ID: (gpu_cuda_init, ("*cuda_init*", "*torch_cuda*", "*device_count*"), cuda),
    rt_import_smoke.ID: (rt_import_smoke, ("*import_vllm*", "*import_smoke*", "*python_-c_import*"), imported),
    rt_docker_gpu.ID: (rt_docker_gpu, ("docker_run*",), container),
    sto_read_rate.ID: (sto_read_rate, ("*dd_*", "read_rate*"), read),
}
NAMES = tuple(pattern for _, patterns, _ in TRIALS.values() for pattern in patterns)


def findings(check: str, hosts: Mapping[str, Mapping[str, str]], needs: Requirements) -> tuple[Finding, ...]:
    """What the trial of this name says of each host that has a file of it."""
    if check not in TRIALS:
        return ()
    trial, patterns, translate = TRIALS[check]
    said = []
    for one in needs.hosts:
        texts = [text for name, text in hosts.get(one.host, {}).items() if any(fnmatch(name, p) for p in patterns)]
        if texts:
            planned = one if one.gpus or one.processes.total else replace(one, gpus=(0,))  # the case is of a GPU host
            said.append(trial.judge(translate("\n".join(texts), planned), planned, needs))
    return tuple(said)
