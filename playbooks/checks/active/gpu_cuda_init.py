"""Whether CUDA starts as a rank would start it, and gives a context on every planned GPU."""

from __future__ import annotations

import re

from inventory.facts.base import Maybe, Unknown
from inventory.facts.gpu import commands
from playbooks.checks.active.base import Said
from playbooks.checks.active.cuda import CALLS, start
from playbooks.checks.base import ON_HOST, Priority, skip
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements, Requirements

ID = "gpu.cuda_init"
PRIORITY = Priority.P0
WHY = "the driver can answer its tool and not CUDA: every rank then ends in its first second, or in its first minute"
DEADLINE_S = 90

PROGRAM = (
    CALLS
    + """
for index in wanted:
    context(index)
    place = room(1 << 20)
    call("cuMemsetD8_v2", place, ctypes.c_ubyte(1), ctypes.c_size_t(1 << 20))
    call("cuCtxSynchronize")
    call("cuMemFree_v2", place)
    call("cuDevicePrimaryCtxRelease_v2", devices[index])
    print("well", index, flush=True)
"""
)
# CUDA's codes: what each means here, and what helps. Names and numbers: cuda.h, CUresult.
MEANS = {
    -1: ("libcuda.so.1 cannot be loaded", f"{ON_HOST}ldconfig -p | grep libcuda.so  # install the driver's libraries"),
    46: ("a GPU is taken by one process alone (exclusive mode)", f"{ON_HOST}{commands.COMPUTE_MODE}"),
    100: ("no device is visible", f"{ON_HOST}ls -l /dev/nvidia*  # and CUDA_VISIBLE_DEVICES, the container's devices"),
    101: ("a planned GPU is not visible", f"{ON_HOST}{commands.LIST}  # and CUDA_VISIBLE_DEVICES"),
    802: ("the NVLink fabric is not up", f"{ON_HOST}{commands.FABRIC}  # see fabric.state"),
    803: (
        "another libcuda than the driver's is loaded",
        f"{ON_HOST}ldconfig -p | grep libcuda.so  # see gpu.compat_shadow",
    ),
    804: (
        "the driver is too old for this libcuda",
        "install a newer driver, or use a build for this one: see gpu.driver_min",
    ),
    999: ("often /dev/nvidia-uvm", f"{ON_HOST}sudo modprobe nvidia-uvm; ls -l /dev/nvidia-uvm"),
}
FULL = 2  # CUDA_ERROR_OUT_OF_MEMORY
FAILED = re.compile(r"(\S+) (-?\d+) (.*)")


def script(host: HostRequirements, needs: Requirements) -> str | Finding:
    if not host.gpus:
        return skip(ID, host.host, "the plan uses no GPU here")
    if (host.gpu_profile or "").startswith("mi"):
        return skip(ID, host.host, "GPUs of AMD: see rocm.kfd")
    return start(host, needs, PROGRAM) or skip(ID, host.host, "the plan names nothing that could run it here")


def judge(said: Maybe[Said], host: HostRequirements, _needs: Requirements) -> Finding:
    required = f"CUDA starts and gives a context on {len(host.gpus)} GPUs"
    look = f"{ON_HOST}sudo dmesg | grep -iE 'nvrm|xid' | tail -20"
    if isinstance(said, Unknown) or said.value("no-tool"):
        observed = str(said) if isinstance(said, Unknown) else f"there is no {said.value('no-tool')}"
        return Finding(ID, Status.UNKNOWN, host.host, observed, required, look)
    if said.out.strip() in {"simulated", "absent"}:
        return skip(
            ID, host.host, "simulated GPUs" if said.out.strip() == "simulated" else "the image is not there yet"
        )
    if said.status in {124, 137}:
        observed = f"CUDA did not answer within {DEADLINE_S} s"
        return Finding(ID, Status.FAIL, host.host, observed, required, look)
    failure = FAILED.fullmatch(said.value("failed") or "")
    if failure:
        return failed(failure[1], int(failure[2]), failure[3], host.host, required)
    count, well = said.value("count") or "none", len(said.values("well"))
    if said.status or well < len(host.gpus):
        observed = f"{well} of {len(host.gpus)} GPUs gave a context; {count} are visible: {said.complaint}"
        return Finding(ID, Status.FAIL, host.host, observed, required, look)
    return Finding(ID, Status.PASS, host.host, f"CUDA {said.value('driver')} started on {well} of {count} visible GPUs")


def failed(call: str, code: int, name: str, host: str, required: str) -> Finding:
    """By the code; that a GPU is full says nothing against CUDA."""
    if code == FULL:
        return skip(ID, host, "a planned GPU is too full for a context: see gpu.free_mem")
    meaning, remedy = MEANS.get(code, ("", f"{ON_HOST}sudo dmesg | grep -iE 'nvrm|xid' | tail -20"))
    observed = f"{call}: error {code} {name}" if code >= 0 else name
    return Finding(ID, Status.FAIL, host, f"{observed}: {meaning}" if meaning else observed, required, remedy)
