"""Python itself for hosts that have none of a range: an archive for each processor, pinned by its sum."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, unquote

from inventory.errors import CheckFailed
from playbooks.cargo import CargoFile
from playbooks.environments import PYTHON_LOCK
from playbooks.web import Web
from playbooks.wheelhouse.control import first_set, said
from playbooks.wheelhouse.index import Index, IndexFile

_BUILD = re.compile(
    r"(?P<sum>[0-9a-f]{64})  (?P<path>\S+/cpython-3\.(?P<minor>\d+)\.\d+\+\d+-(?P<machine>\w+)-unknown-\S+)"
)
MIRROR = "UV_PYTHON_INSTALL_MIRROR"
_UVS = (str(Path(sys.executable).with_name("uv")), "uv")


@dataclass(frozen=True, slots=True)
class PythonBuild:
    """CPython 3.`minor` for `machine`; `path` is below a mirror of such builds."""

    minor: int
    machine: str
    path: str
    sha256: str

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]


def builds(lock: Path | None = None) -> tuple[PythonBuild, ...]:
    """Those that are pinned. Raises `ValueError` for a line that is none."""
    lines = (lock or PYTHON_LOCK).read_text().splitlines()
    return tuple(_build(line) for line in lines if line.strip() and not line.startswith("#"))


def build_for(machine: str, minors: Sequence[int]) -> PythonBuild | None:
    """The pinned build for a processor and a range of Python; None: there is none."""
    return next((one for one in builds() if one.machine == machine and one.minor in minors), None)


def python_file(build: PythonBuild, mirror: str | None, web: Web, environ: Mapping[str, str]) -> CargoFile:
    """Where this machine has the archive from: `mirror`, else uv's own setting, else where its uv would fetch it.

    Raises `CheckFailed` where nobody tells, or the mirror does not answer.
    """
    base = (mirror or first_set(environ, MIRROR)).rstrip("/")
    if base.startswith(("file://", "/")):
        path = Path(base.removeprefix("file://")) / build.path
        if path.is_file():
            return CargoFile(build.name, path.stat().st_size, build.sha256, str(path))
        raise _unknown(build, f"no file {path}")
    url = f"{base}/{quote(build.path)}" if base else _of_uv(build)
    if url is None:
        raise _unknown(build, f"no mirrors: python:, no {MIRROR}, and no uv here that knows this build")
    found = Index(base, web).measured(IndexFile(build.name, url, build.sha256))
    return CargoFile(build.name, found.size or 0, build.sha256, found.url)


def _build(line: str) -> PythonBuild:
    found = _BUILD.fullmatch(line.strip())
    if found is None:
        raise ValueError(f"not a pinned build of Python: {line[:80]}")
    return PythonBuild(int(found["minor"]), found["machine"], found["path"], found["sum"])


def _of_uv(build: PythonBuild) -> str | None:
    """The address from which the uv of this machine would fetch the same build: it stands nowhere here."""
    words = ("python", "list", f"3.{build.minor}", "--all-versions", "--all-arches", "--only-downloads")
    told = next((text for uv in _UVS if (text := said((uv, *words, "--output-format", "json")))), "[]")
    urls = (one.get("url") or "" for one in json.loads(told))
    return next((url for url in urls if unquote(url).endswith(f"/{build.path}")), None)


def _unknown(build: PythonBuild, observed: str) -> CheckFailed:
    return CheckFailed(
        "a host has no Python that its environment can be made of, and this machine does not know where to get one",
        id="python-offline",
        observed=observed,
        required=f"a mirror that has {build.path}",
        next_command=f"set mirrors: python: in the inventory; or install python3.{build.minor} with its headers there",
    )
