"""A wheel made on the spot: what installs real wheels is tried with one, without an index."""

from __future__ import annotations

import hashlib
import os
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

METADATA = "Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
UV_VERSION = "0.0.1"
WHEEL = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


@dataclass(frozen=True, slots=True)
class Wheel:
    requirement: str
    sha256: str


def make_wheel(folder: Path, name: str, version: str, *, module: str, program: str | None = None) -> Wheel:
    """Write a wheel of one module `name` with the source `module`; `program` becomes a command that calls its main."""
    info = f"{name}-{version}.dist-info"
    files = {
        f"{name}.py": module,
        f"{info}/METADATA": METADATA.format(name=name, version=version),
        f"{info}/WHEEL": WHEEL,
    }
    if program:
        files[f"{info}/entry_points.txt"] = f"[console_scripts]\n{program} = {name}:main\n"
    record = "".join(f"{path},,\n" for path in files) + f"{info}/RECORD,,\n"
    path = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for inner, text in (files | {f"{info}/RECORD": record}).items():
            archive.writestr(inner, text)
    return Wheel(f"{name}=={version}", hashlib.sha256(path.read_bytes()).hexdigest())


def make_uv_wheel(folder: Path, uv: Path) -> Wheel:
    """A wheel that carries the real program `uv` of this machine, laid out like the published one."""
    path = folder / f"uv-{UV_VERSION}-py3-none-manylinux_2_17_x86_64.manylinux2014_x86_64.whl"
    info = f"uv-{UV_VERSION}.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"uv-{UV_VERSION}.data/scripts/uv", uv.read_bytes())
        archive.writestr(f"{info}/METADATA", METADATA.format(name="uv", version=UV_VERSION))
        archive.writestr(f"{info}/WHEEL", WHEEL)
    return Wheel(f"uv=={UV_VERSION}", hashlib.sha256(path.read_bytes()).hexdigest())


def real_uv() -> Path | None:
    """The program itself, behind the shims of version managers; None: it is not here."""
    folders = [*map(Path, os.environ.get("PATH", "").split(":")), Path(os.path.realpath(sys.executable)).parent]
    found = [Path(os.environ["UV"])] if os.environ.get("UV") else []
    return next((one for one in [*found, *(folder / "uv" for folder in folders)] if _is_program(one)), None)


def _is_program(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"
