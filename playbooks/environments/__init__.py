"""The Python environments that engines run in: one folder each, named `<distribution>-<version>`.

A folder holds `pyproject.toml` (what is wanted, and why), `lock.txt` (made from it by `relock.sh`) and, if need be,
`added/`: files that are laid into site-packages. The digest of all that ends up in it names the environment on a host.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from inventory.errors import BadInput

FOLDER = Path(__file__).parent
UV_LOCK = FOLDER / "uv.txt"
"""The uv that hosts without a way out are given."""
PYTHON_LOCK = FOLDER / "python.txt"
"""The Python that those of them are given that have none of the right version."""
PYTHON_RANGE = re.compile(r">=3\.(\d+),<3\.(\d+)")
PLATFORM = re.compile(r"platform_machine == '(\w+)'")


@dataclass(frozen=True, slots=True)
class EnvironmentDefinition:
    """All that decides what is installed. The same digest is the same packages, on whatever host."""

    name: str
    vllm: str  # the version that recipes pin
    says: str  # what `program --version` prints
    requires_python: str  # >=3.A,<3.B
    python_minors: tuple[int, ...]  # the same as a list, the oldest first
    lock: str  # requirements with hashes
    apart: tuple[str, ...]  # exact requirements that have no hash: they come from another index
    compiles: bool  # Python's own headers are needed at run time
    gpu_runtime: str | None  # the CUDA that the wheels are built for; None: no GPU is used
    size_bytes: int  # on disk, measured or estimated
    added: Mapping[str, bytes]  # files below site-packages
    digest: str  # 16 hexadecimal digits
    platforms: tuple[str, ...] | None = None  # x86_64, aarch64: what the lock was made for
    architectures: tuple[str, ...] | None = None  # compute capabilities that the wheels have kernels for
    program: str = "vllm"
    glibc: str | None = None  # the oldest that the wheels' tags allow


@cache
def load_environment(distribution: str, version: str) -> EnvironmentDefinition:
    """Read the environment that has `distribution` at `version`. Raises `BadInput` where there is none."""
    folder = FOLDER / f"{distribution}-{version}"
    if not (folder / "lock.txt").is_file():
        raise BadInput(
            f"there is no environment with {distribution} {version}",
            id="environment-unknown",
            observed=f"{distribution} {version}",
            required=f"one of {', '.join(environment_names())}",
            next_command=f"make {folder} as docs/reference/environments.md describes",
        )
    project = tomllib.loads((folder / "pyproject.toml").read_text())
    ours = project["tool"]["bringup"]
    requires_python = project["project"]["requires-python"]
    lock = (folder / "lock.txt").read_text()
    apart = tuple(ours["apart"])
    added = {str(file.relative_to(folder / "added")): file.read_bytes() for file in _files(folder / "added")}
    return EnvironmentDefinition(
        name=folder.name,
        vllm=ours["vllm"],
        says=ours["says"],
        program=ours.get("program", "vllm"),
        requires_python=requires_python,
        python_minors=_minors(requires_python),
        lock=lock,
        apart=apart,
        compiles=ours["compiles"],
        gpu_runtime=ours.get("gpu_runtime"),
        size_bytes=int(ours["size_gb"] * 1e9),
        added=added,
        digest=_digest(requires_python, lock, *apart, *added, *added.values()),
        platforms=tuple(PLATFORM.findall(" ".join(project["tool"]["uv"]["environments"]))),
        architectures=tuple(ours["architectures"]) if "architectures" in ours else None,
        glibc=ours.get("glibc"),
    )


def environment_names() -> tuple[str, ...]:
    return tuple(sorted(lock.parent.name for lock in FOLDER.glob("*/lock.txt")))


def _minors(requirement: str) -> tuple[int, ...]:
    found = PYTHON_RANGE.fullmatch(requirement)
    if not found:
        raise ValueError(f"requires-python is not written as >=3.A,<3.B: {requirement}")
    return tuple(range(int(found[1]), int(found[2])))


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)


def _digest(*parts: str | bytes) -> str:
    """Digest `parts` so that none can run into the next: 16 hexadecimal digits."""
    whole = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        whole.update(f"{len(data)} ".encode() + data)
    return whole.hexdigest()[:16]
