"""Which files of an index a target can install: the tags of wheels (PEP 425, 600) and markers of locks (PEP 508). Pure.

The target is another machine than this one, so nothing here asks the running interpreter what it is.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable
from dataclasses import dataclass

WHEEL = re.compile(
    r"(?P<name>[^-]+)-(?P<version>[^-]+)(?:-(?P<build>\d[^-]*))?"
    r"-(?P<pythons>[^-]+)-(?P<abis>[^-]+)-(?P<platforms>[^-]+)\.whl"
)
_OLD_NAMES = {"manylinux1": (2, 5), "manylinux2010": (2, 12), "manylinux2014": (2, 17)}
_MANYLINUX = re.compile(r"manylinux_(\d+)_(\d+)_(\w+)")
_CPYTHON = re.compile(r"cp3(\d+)")
_COMPARED: dict[type[ast.cmpop], Callable[..., bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}


@dataclass(frozen=True, slots=True)
class Target:
    """CPython 3.`minor` on Linux, `machine` x86_64 or aarch64, with glibc of (major, minor).

    `python_given`: that CPython is not there yet, and comes along.
    """

    minor: int
    machine: str
    glibc: tuple[int, int]
    python_given: bool = False

    def __str__(self) -> str:
        return f"cp3{self.minor}-{self.machine}-glibc{self.glibc[0]}.{self.glibc[1]}"


def normal(name: str) -> str:
    """The one spelling of a distribution's name (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def fitness(filename: str, target: Target) -> tuple[int, ...] | None:
    """How well a wheel suits, larger is better; None: it cannot be installed there, or is no wheel."""
    parts = WHEEL.fullmatch(filename)
    if parts is None:
        return None
    platform = max((_platform(one, target) for one in parts["platforms"].split(".")), default=-1)
    python = _python(parts["pythons"].split("."), parts["abis"].split("."), target.minor)
    if platform < 0 or python < 0:
        return None
    build = re.match(r"\d+", parts["build"] or "")
    return python, platform, int(build[0]) if build else 0


def _python(pythons: list[str], abis: list[str], minor: int) -> int:
    """-1: not for this Python; higher for wheels that are built for it alone."""
    own = f"cp3{minor}"
    if own in pythons and own in abis:
        return 1000
    found = -1
    for python in pythons:
        built = _CPYTHON.fullmatch(python)
        if "abi3" in abis and built and int(built[1]) <= minor:
            found = max(found, 100 + int(built[1]))
        if "none" in abis and (python in {"py3", own} or _is_older(python, minor)):
            found = max(found, 10 if python == own else 1)
    return found


def _is_older(python: str, minor: int) -> bool:
    told = re.fullmatch(r"py3(\d+)", python)
    return told is not None and int(told[1]) <= minor


def _platform(tag: str, target: Target) -> int:
    """-1: not for this platform; higher for what needs a newer glibc, as pip prefers it."""
    if tag == "any":
        return 0
    modern = _MANYLINUX.fullmatch(tag)
    if modern:
        needs, machine = (int(modern[1]), int(modern[2])), modern[3]
    else:
        old, _, machine = tag.partition("_")
        if old == "linux":
            return 1 if machine == target.machine else -1
        if old not in _OLD_NAMES:
            return -1
        needs = _OLD_NAMES[old]
    return 10 + needs[1] if machine == target.machine and needs <= target.glibc else -1


def holds(marker: str, target: Target) -> bool:
    """Whether an environment marker is true there; it may only use what a target tells.

    Raises `ValueError` for anything else.
    """
    return _value(ast.parse(marker, mode="eval").body, target)


def _value(node: ast.expr, target: Target) -> bool:
    if isinstance(node, ast.BoolOp):
        values = [_value(one, target) for one in node.values]
        return all(values) if isinstance(node.op, ast.And) else any(values)
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _COMPARED:
        left, right = node.left, node.comparators[0]
        if isinstance(left, ast.Name) and isinstance(right, ast.Constant) and isinstance(right.value, str):
            return _compared(left.id, type(node.ops[0]), right.value, target)
    raise ValueError(f"a marker that is not understood: {ast.unparse(node)}")


def _compared(name: str, compare: type[ast.cmpop], wanted: str, target: Target) -> bool:
    if name in {"python_version", "python_full_version"}:
        width = 2 if name == "python_version" else 3
        ours = (3, target.minor, 0)[:width]
        theirs = (*map(int, wanted.split(".")), 0, 0, 0)[:width]
        return bool(_COMPARED[compare](ours, theirs))
    told = {
        "sys_platform": "linux",
        "platform_system": "Linux",
        "os_name": "posix",
        "platform_machine": target.machine,
        "implementation_name": "cpython",
        "platform_python_implementation": "CPython",
    }
    if name not in told or compare not in {ast.Eq, ast.NotEq}:
        raise ValueError(f"a marker that is not understood: {name}")
    return bool(_COMPARED[compare](told[name], wanted))
