"""The hub's real client for lab hosts: this machine makes it once, hosts get a copy where a prefetch looks for it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from inventory.lab import access
from inventory.lab.state import Lab
from launch.prefetch.tools import CLIENT
from playbooks.environments import FOLDER, load_environment
from playbooks.steps.python_env import MARKER

PYTHON = "/usr/bin/python3"
"""What lab hosts have too."""


def made_here() -> Path:
    """The folder of the client. Skips the test where it cannot be installed."""
    folder = Path("/tmp") / f"bringup-hub-client-{load_environment(*CLIENT).digest}"
    if (folder / MARKER).exists():
        return folder
    uv = shutil.which("uv")
    if uv is None or not Path(PYTHON).exists():
        pytest.skip(f"the hub's client cannot be installed here: uv is {uv}, and {PYTHON} may be missing")
    work = folder.with_name(f"{folder.name}.{os.getpid()}")
    lock = FOLDER / "-".join(CLIENT) / "lock.txt"
    install = [uv, "pip", "install", "-q", "--python", f"{work}/bin/python", "--require-hashes", "--no-deps"]
    install += ["-r", str(lock)]
    for argv in ([uv, "venv", "-q", "--relocatable", "--python", PYTHON, str(work)], install):
        done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=120)
        if done.returncode:
            shutil.rmtree(work, ignore_errors=True)
            pytest.skip(f"the hub's client cannot be installed here: {done.stderr.strip()[-200:]}")
    (work / MARKER).write_text(json.dumps({"digest": load_environment(*CLIENT).digest, "vllm": ""}))
    try:
        work.replace(folder)
    except OSError:  # another process was first
        shutil.rmtree(work, ignore_errors=True)
    return folder


def give(lab: Lab) -> None:
    """Put it onto every host of a lab."""
    folder = made_here()
    at = f"/var/lib/bringup/tools/envs/{load_environment(*CLIENT).digest}"
    for host in lab.hosts:
        with subprocess.Popen(["tar", "-C", str(folder), "-cf", "-", "."], stdout=subprocess.PIPE) as packed:
            argv = access.ssh(lab, host.name, [f"mkdir -p {at} && tar -C {at} -xf -"])
            subprocess.run(argv, stdin=packed.stdout, check=True)
