"""A wheel made on the spot: what installs real wheels is tried with one, without an index."""

from __future__ import annotations

import hashlib
import zipfile
from dataclasses import dataclass
from pathlib import Path

METADATA = "Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
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
