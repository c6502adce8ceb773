"""Makes an environment of the stand-in engine: `bin/vllm`, `bin/python`, `lib` and `bringup-env.json`.

    python -m launch.standin.make_env DIRECTORY VERSION

The folder can be moved and copied: nothing in it names where it lies.
"""

from __future__ import annotations

import compileall
import json
import os
import py_compile
import shutil
import subprocess
import sys
from pathlib import Path

LAUNCH = Path(__file__).parents[1]
MARKER = "bringup-env.json"
FORMAT_VERSION = 1
# Not the virtual environment's own: a host of the lab has another /root and /home than this machine.
PYTHONS = ("/usr/bin/python3", "/usr/local/bin/python3")
OLDEST = (3, 11)
MAKERS = (Path(__file__).name, "make_schema.py", "dump_parser.py")  # not needed on a host
BOOT = '''\
"""SIMULATED: the stand-in engine of bringup, not vLLM."""

import sys

sys.modules["ssl"] = None  # asyncio asks for it; it is not used and costs a third of the start
sys.path.insert(0, __file__.rpartition("/")[0])

from launch.standin.main import main

raise SystemExit(main(sys.argv[1:], "{version}"))
'''
VLLM = """\
#!/bin/sh
# SIMULATED: the stand-in engine of bringup, not vLLM.
here=${0%/*}
exec "$here/python" -I -S "$here/../lib/standin.py" "$@"
"""


def build(directory: Path, version: str, *, digest: str = "") -> Path:
    """Make the environment in `directory` and return it. `digest` defaults to the folder's name.

    Raises `LookupError` when there is no option schema of `version`, or no Python of at least 3.11 for a host.
    """
    schema = LAUNCH / "vllm_args" / f"{version}.json"
    if not schema.is_file():
        known = ", ".join(sorted(path.stem for path in schema.parent.glob("*.json")))
        raise LookupError(f"no option schema of vLLM {version}; there are {known}")
    (directory / "bin").mkdir(parents=True, exist_ok=True)
    copy_engine(directory / "lib", schema)
    (directory / "lib" / "standin.py").write_text(BOOT.replace("{version}", version), encoding="utf-8")
    script = directory / "bin" / "vllm"
    script.write_text(VLLM, encoding="utf-8")
    script.chmod(0o755)
    (directory / "bin" / "python").unlink(missing_ok=True)
    (directory / "bin" / "python").symlink_to(python_of_hosts())
    compileall.compile_dir(directory / "lib", quiet=1, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
    write_marker(directory, {"digest": digest or directory.name, "vllm": version, "simulated": True})
    return directory


def copy_engine(lib: Path, schema: Path) -> None:
    """The engine and the option parser, in the packages that they have here."""
    for package in ("", "standin", "vllm_args"):
        target = lib / "launch" / package
        target.mkdir(parents=True, exist_ok=True)
        for source in [LAUNCH / "__init__.py"] if not package else sorted((LAUNCH / package).glob("*.py")):
            if source.name not in MAKERS:
                shutil.copyfile(source, target / source.name)
    shutil.copyfile(schema, lib / "launch" / "vllm_args" / schema.name)


def python_of_hosts() -> str:
    """A Python that hosts have: the system's, else the one that runs this."""
    for candidate in (*PYTHONS, os.path.realpath(sys.executable)):
        if Path(candidate).exists() and new_enough(candidate):
            return candidate
    raise LookupError(f"no Python of at least {OLDEST[0]}.{OLDEST[1]} was found for hosts")


def new_enough(python: str) -> bool:
    code = f"import sys; sys.exit(sys.version_info < {OLDEST!r})"
    return subprocess.run([python, "-I", "-S", "-c", code], check=False).returncode == 0


def write_marker(directory: Path, facts: dict[str, object]) -> None:
    """Written last: with it the environment is complete."""
    text = json.dumps({"format_version": FORMAT_VERSION, **facts})
    half = directory / f".{MARKER}.part"
    half.write_text(text + "\n", encoding="utf-8")
    half.rename(directory / MARKER)


if __name__ == "__main__":
    build(Path(sys.argv[1]), sys.argv[2])
