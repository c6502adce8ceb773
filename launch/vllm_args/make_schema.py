"""Makes `<version>.json`, the option schema of one vLLM, from its published wheel.

    uv run python -m launch.vllm_args.make_schema --wheel vllm-0.33.0-*.whl --python ENV/bin/python

prints it. `ENV` is any environment with vLLM's Python dependencies (that of the CPU build serves for other
versions too): the wheel's own parser is built there, from the unpacked wheel, and walked by `dump_parser.py`.
Nothing of the wheel's compiled code runs. One option or class a line, for diffs.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

DUMPER = Path(__file__).with_name("dump_parser.py")
SECTIONS = ("options", "configs", "enums", "registries")


def unpack(wheel: Path, target: Path) -> None:
    """Unpack all but the compiled libraries: they are most of the size and need a GPU's runtime."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(target, [name for name in archive.namelist() if ".so" not in Path(name).suffixes])


def dump(python: Path, unpacked: Path) -> dict[str, Any]:
    """Run the dumper. Its environment is clean: a `VLLM_` variable of ours would change defaults."""
    out = unpacked / "schema.json"
    env = {"PATH": os.environ["PATH"], "HOME": str(unpacked), "PYTHONPATH": str(unpacked)}
    env |= {"VLLM_TARGET_DEVICE": "cpu", "VLLM_NO_USAGE_STATS": "1", "HF_HUB_OFFLINE": "1"}
    subprocess.run([str(python), str(DUMPER), str(out)], check=True, env=env, stdout=sys.stderr, timeout=600)
    found: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
    return found


def version_of(wheel: Path) -> str:
    found = re.match(r"vllm-([0-9][^-+]*)", wheel.name)
    if not found:
        raise SystemExit(f"{wheel.name} is not named like a vLLM wheel")
    return found[1]


def text_of(version: str, wheel: Path, found: dict[str, Any]) -> str:
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    head = {"format_version": 1, "vllm": version, "wheel": {"name": wheel.name, "sha256": digest}}
    lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in head.items()]
    lines += [f'"{name}": {{\n{entries(found[name])}\n}}' for name in SECTIONS]
    lines += ['"env": [\n' + ",\n".join(map(json.dumps, found["env"])) + "\n]"]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def entries(section: dict[str, Any]) -> str:
    return ",\n".join(f" {json.dumps(name)}: {json.dumps(section[name])}" for name in sorted(section))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--wheel", type=Path, required=True)
    parser.add_argument("--python", type=Path, required=True)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bringup-schema-") as folder:
        unpack(arguments.wheel, Path(folder))
        found = dump(arguments.python, Path(folder))
    sys.stdout.write(text_of(version_of(arguments.wheel), arguments.wheel, found))


if __name__ == "__main__":
    main()
