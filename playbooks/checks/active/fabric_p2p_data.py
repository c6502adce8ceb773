"""Copies between every pair of planned GPUs of a host: do they end, is the data right, how fast are they."""

from __future__ import annotations

from statistics import median

from inventory.facts.base import Maybe, Unknown
from inventory.facts.gpu import commands
from playbooks.checks.active.base import Said
from playbooks.checks.active.cuda import CALLS, start
from playbooks.checks.base import ON_HOST, Priority, skip
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements, Requirements

ID = "fabric.p2p_data"
PRIORITY = Priority.P1
WHY = "where copies between GPUs go astray, all-reduce hangs or brings wrong numbers, and nothing says so"
DEADLINE_S = 300
PAIR_S = 10  # a copy of 64 MiB that takes longer hangs
SLOW = 0.5  # of what most pairs reach

# A pair that hangs ends the whole by SIGALRM: nothing else ends a call of the driver.
PROGRAM = (
    CALLS
    + f"\nPAIR_S = {PAIR_S}"
    + """
import signal, time
SIZE, TIMES = 64 << 20, 8
contexts = {index: context(index) for index in wanted}
for one in wanted:
    for other in wanted:
        if one == other:
            continue
        signal.alarm(PAIR_S)
        print("begin", one, other, flush=True)
        call("cuDeviceCanAccessPeer", ctypes.byref(number), one, other)
        pattern = 0x10001 * (1 + one) + 0x1000100 * (1 + other)
        call("cuCtxSetCurrent", contexts[one])
        source = room(SIZE)
        call("cuMemsetD32_v2", source, ctypes.c_uint(pattern), ctypes.c_size_t(SIZE // 4))
        call("cuCtxSynchronize")
        call("cuCtxSetCurrent", contexts[other])
        target = room(SIZE)
        call("cuMemsetD32_v2", target, ctypes.c_uint(0), ctypes.c_size_t(SIZE // 4))
        call("cuCtxSynchronize")
        copy = ("cuMemcpyPeer", target, contexts[other], source, contexts[one], ctypes.c_size_t(SIZE))
        call(*copy)
        call("cuCtxSynchronize")
        begun = time.monotonic()
        for _ in range(TIMES):
            call(*copy)
        call("cuCtxSynchronize")
        rate = SIZE * TIMES / max(time.monotonic() - begun, 1e-9) / 1e9
        back = ctypes.create_string_buffer(SIZE)
        call("cuMemcpyDtoH_v2", back, target, ctypes.c_size_t(SIZE))
        right = back.raw == pattern.to_bytes(4, sys.byteorder) * (SIZE // 4)
        call("cuMemFree_v2", target)
        call("cuCtxSetCurrent", contexts[one])
        call("cuMemFree_v2", source)
        way = "peer" if number.value else "host"
        print("pair", one, other, "right" if right else "wrong", "%.1f" % rate, way, flush=True)
signal.alarm(0)
for index in wanted:
    call("cuDevicePrimaryCtxRelease_v2", devices[index])
print("done", flush=True)
"""
)


def script(host: HostRequirements, needs: Requirements) -> str | Finding:
    if len(host.gpus) < 2:
        return skip(ID, host.host, "fewer than two planned GPUs here")
    if (host.gpu_profile or "").startswith("mi"):
        return skip(ID, host.host, "GPUs of AMD are not tried")
    return start(host, needs, PROGRAM) or skip(ID, host.host, "the plan names nothing that could run it here")


def judge(said: Maybe[Said], host: HostRequirements, _needs: Requirements) -> Finding:
    required = "every copy between two planned GPUs ends and brings what was sent"
    remedy = f"{ON_HOST}{commands.DISTANCES}; sudo dmesg | grep -iE 'xid|iommu' | tail  # see fabric.acs and gpu.xid"
    if isinstance(said, Unknown) or said.value("no-tool"):
        observed = str(said) if isinstance(said, Unknown) else f"there is no {said.value('no-tool')}"
        return Finding(ID, Status.UNKNOWN, host.host, observed, required, remedy)
    if said.out.strip() in {"simulated", "absent"}:
        return skip(
            ID, host.host, "simulated GPUs" if said.out.strip() == "simulated" else "the image is not there yet"
        )
    failed = said.value("failed")
    if failed and failed.split()[1:2] == ["2"]:
        return skip(ID, host.host, "a planned GPU is too full for the copies: see gpu.free_mem")
    pairs = [line.split() for line in said.values("pair")]
    wrong = [f"GPU {one} to {other}" for one, other, right, *_ in pairs if right != "right"]
    if wrong:
        return Finding(ID, Status.FAIL, host.host, f"wrong data: {', '.join(wrong)}", required, remedy)
    if failed or said.value("done") is None:
        begun = (said.values("begin") or ("no pair",))[-1].replace(" ", " to ")
        observed = f"{failed}" if failed else f"the copy from GPU {begun} did not end within {PAIR_S} s"
        return Finding(ID, Status.FAIL, host.host, observed, required, remedy)
    return rated(pairs, host.host, remedy)


def rated(pairs: list[list[str]], host: str, remedy: str) -> Finding:
    """No pair may be much slower than most of them; no figure of what they should reach is assumed."""
    rates = {(one, other): float(rate) for one, other, _, rate, _ in pairs}
    usual = median(rates.values())
    slow = [f"GPU {one} to {other}: {rate:g} GB/s" for (one, other), rate in rates.items() if rate < SLOW * usual]
    if slow:
        observed = f"{', '.join(slow[:4])}; most reach {usual:g} GB/s"
        return Finding(ID, Status.WARN, host, observed, "all pairs about as fast as each other", remedy)
    return Finding(ID, Status.PASS, host, f"{len(pairs)} copies are right, {usual:g} GB/s in the middle")
