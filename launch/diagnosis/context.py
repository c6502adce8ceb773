"""What else a capture says of a failure: who holds the port, whether the lock is stale, whose the address is. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from types import MappingProxyType

from launch.diagnosis import processes, quotes
from launch.diagnosis.attempt import READY
from launch.diagnosis.capture import Capture, Kind, Source
from launch.diagnosis.silence import is_headless
from launch.diagnosis.table import Role
from launch.diagnosis.told import Found

Tell = Callable[[Found, Capture, Sequence[Source]], Found]
PORT = re.compile(r"(?:\bport:? |', |tcp://\S+:|\]:)(\d{2,5})\b")
MEANINGS = MappingProxyType(
    {
        "48": "an error of two bits in its memory",
        "64": "its memory could not take a bad row out of use",
        "74": "an NVLink error",
        "79": "it has fallen off the bus",
        "94": "a contained memory error",
        "95": "an uncontained memory error",
        "119": "its GSP firmware does not answer",
        "120": "its GSP firmware failed",
        "149": "an NVLink error of the fabric",
        "154": "it asks for a recovery action",
    }
)
"""Of the Xid codes in the table, in NVIDIA's terms."""


def told(found: Found, capture: Capture, sources: Sequence[Source]) -> Found:
    """`found` with what the capture adds to it."""
    tell = TELLS.get(found.id)
    return _with(tell(found, capture, sources) if tell else found, *quotes.beside(found, capture))


def _with(found: Found, *details: str) -> Found:
    return replace(found, details=(*found.details, *(one for one in details if one)))


def _xid(found: Found, _: Capture, __: Sequence[Source]) -> Found:
    code = found.groups.get("code", "")
    return _with(found, f"Xid {code}: {MEANINGS[code]}" if code in MEANINGS else "")


def _leftovers(found: Found, capture: Capture, _: Sequence[Source]) -> Found:
    """Engines that still run there, by pid, and the GPUs that they hold."""
    left = processes.engines(capture, found.host)
    owners = processes.gpu_owners(capture, found.host)
    names = ", ".join(f"{one.pid} ({one.command[:60]})" for one in left)
    held = ", ".join(f"{pid} holds {memory}" for pid, memory in owners)
    return _with(
        found, f"still running on {found.host}: {names}" if left else "", f"GPU memory: {held}" if held else ""
    )


def _port(found: Found, capture: Capture, sources: Sequence[Source]) -> Found:
    address = found.groups.get("addr", "")
    port = address.rpartition(":")[2] or next(
        (match[1] for one in found.evidence if (match := PORT.search(one.text))), ""
    )
    holder = processes.listener(capture, found.host, port) if port else ""
    return _leftovers(_with(found, f"port {port} is held by {holder}" if holder else ""), capture, sources)


def _address(found: Found, capture: Capture, _: Sequence[Source]) -> Found:
    address = (found.groups.get("address") or found.groups.get("addr", "").rpartition(":")[0]).strip("[]")
    owner = capture.owner_of(address)
    if owner and owner != found.host:
        return _with(found, f"{address} belongs to {owner}, not to {found.host}")
    return found


def _printed(found: Found, _: Capture, __: Sequence[Source]) -> Found:
    """A program of the protocol took the first four letters of what was printed for a length."""
    length = int(found.groups.get("length", 0))
    text = length.to_bytes(4, "big").decode("ascii", errors="replace") if 0 < length < 1 << 32 else ""
    return _with(found, f"the length {length} is the text {text!r}" if text.isprintable() and text else "")


def _head(found: Found, _: Capture, sources: Sequence[Source]) -> Found:
    """How far the host with the server was when this one gave up."""
    logs = [one for one in sources if one.kind is Kind.LOG and one.lines and one.host != found.host]
    heads = [
        one for one in logs if any("APIServer" in line.process for line in one.lines) and not is_headless(one.lines)
    ]
    return _with(found, *[f"{one.host}'s last line: {one.lines[-1].raw.strip()[:200]}" for one in heads[:2]])


def _missing(found: Found, capture: Capture, sources: Sequence[Source]) -> Found:
    """The last line of each other host: one of them holds the ranks that never came."""
    logs = {one.host: one.lines[-1] for one in sources if one.kind is Kind.LOG and one.lines and one.host != found.host}
    told = [f"{host}'s last line: {line.raw.strip()[:200]}" for host, line in sorted(logs.items())]
    silent = [host for host in capture.hosts if host not in {*logs, found.host}]
    return _with(found, *told[:4], f"no log of {', '.join(silent)}" if silent else "")


def _lock(found: Found, capture: Capture, _: Sequence[Source]) -> Found:
    """A compiler that runs makes it a wait; none, where that was looked for, makes the lock stale."""
    if not processes.was_asked(capture, found.host):
        return _with(found, "whether a compiler runs was not looked at")
    building = processes.compilers(capture, found.host)
    ages = (re.search(r"age(?:_s)?\D{0,3}(\d+)", text) for text in capture.texts(found.host, "stat*"))
    age = next((match[1] for match in ages if match), "")
    old = f", {age} s old" if age else ""
    if building:
        return replace(
            _with(
                found, f"compiling: {building[0].command[:80]} (pid {building[0].pid}) runs; the lock is in use{old}"
            ),
            severity="info",
        )
    return _with(found, f"the lock is stale{old}: no compiler runs on {found.host}")


def _cold(found: Found, capture: Capture, _: Sequence[Source]) -> Found:
    """Many ranks in one second with a cold cache: they raced for one kernel, and no hardware failed."""
    times = Counter(int(one.at) for one in found.evidence if one.at is not None)
    together = f"{found.count} times by {max(len(found.processes), 1)} processes" + (
        " in the same second" if len(times) == 1 and found.count > 1 else ""
    )
    cold = any(re.match(r"\s*0 files", text) for text in capture.texts(found.host, "cache*"))
    return _with(found, together, "its caches were empty before" if cold else "")


def _waiting(found: Found, _: Capture, sources: Sequence[Source]) -> Found:
    """Before it was ready an engine may wait; afterwards a worker hangs."""
    number = found.evidence[0].line if found.evidence else 0
    ready = [
        line.number
        for one in sources
        if one.host == found.host
        for line in one.lines
        if READY.search(line.text) and line.number < number
    ]
    if ready:
        return replace(_with(found, "it was ready before: the worker hangs"), severity="error", role=Role.SYMPTOM)
    return _with(found, "it was not ready yet: loading, compiling and capturing take this long")


def _by_plan(found: Found, capture: Capture, _: Sequence[Source]) -> Found:
    """TCP is a failure only where the plan counts on RDMA."""
    if capture.plan.get("rdma"):
        return replace(_with(found, "the plan counts on RDMA"), severity="error")
    return found


def _switches(found: Found, capture: Capture, _: Sequence[Source]) -> Found:
    seen = [
        text for text in capture.texts(found.host, "lspci*") if re.search(r"NVSwitch|\[0680\]|Bridge: NVIDIA", text)
    ]
    if seen:
        return replace(_with(found, "this host has NVSwitches"), severity="error", role=Role.CAUSE)
    return found


def _driver(found: Found, capture: Capture, _: Sequence[Source]) -> Found:
    def lines() -> Iterator[str]:
        for text in capture.texts(found.host, "proc_driver*"):
            if match := re.search(r"Kernel Module\s+(?:for \S+\s+)?([\d.]+)", text):
                yield f"the loaded module is {match[1]}"
        for text in capture.texts(found.host, "apt_history*", "dpkg*"):
            if match := re.search(r"(?:lib)?nvidia[\w-]*(?::\w+)? \([^)]*\)", text):
                yield f"upgraded: {match[0]}"

    return _with(found, *lines())


def _kfd(found: Found, capture: Capture, _: Sequence[Source]) -> Found:
    owner = next(
        (match[0] for text in capture.texts(found.host, "stat*") if (match := re.search(r"gid=\d+", text))), ""
    )
    return _with(found, f"the device belongs to {owner}" if owner else "")


def _refused(found: Found, _: Capture, sources: Sequence[Source]) -> Found:
    """The reason of a refused configuration stands in the indented lines below it."""
    first = found.evidence[0]
    lines = next((one.lines for one in sources if one.name == first.file), ())
    below = [one.text for one in lines if first.line < one.number <= first.line + 12]
    reasons = (text.strip() for text in takewhile(lambda text: text.startswith(" "), below))
    return _with(found, *[one for one in reasons if not one.startswith("For further information")][:4])


TELLS: Mapping[str, Tell] = MappingProxyType(
    {
        "F-XID": _xid,
        "F-READY-TIMEOUT": _leftovers,
        "F-FREE-MEM": _leftovers,
        "F-CUDA-OOM": _leftovers,
        "F-RANK-UNEXPECTED": _leftovers,
        "F-EADDRINUSE": _port,
        "F-CANNOT-ASSIGN": _address,
        "F-AITER-LOCK": _lock,
        "F-SFTP-NOISE": _printed,
        "F-HEADLESS-JOIN": _head,
        "F-CLIENTS-MISSING": _missing,
        "F-CUDA-INVALID-COLD": _cold,
        "F-SHM-BROADCAST": _waiting,
        "F-NET-SOCKET": _by_plan,
        "F-GDR-OFF": _by_plan,
        "F-FM-NOTHING": _switches,
        "F-NVML-MISMATCH": _driver,
        "F-KFD": _kfd,
        "E-PYDANTIC": _refused,
    }
)
