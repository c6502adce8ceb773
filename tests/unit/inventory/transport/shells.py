"""Shells and sets of programs that a host may have, to run framed scripts on this machine as if it were one."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from inventory.transport.base import Completed
from inventory.transport.framing import Unframer, frame, new_marker

if TYPE_CHECKING:
    from pathlib import Path

SHELLS = ("dash", "bash", "busybox")
TOOLS = ("sh", "cat", "sleep", "setsid", "ls", "ps", "mktemp", "base64", "wc", "chmod", "mv", "rm")


def shell(name: str, folder: Path) -> Path:
    """The program `name` under the name sh, as it is /bin/sh of some distribution."""
    program = shutil.which(name)
    if program is None:
        pytest.skip(f"no {name} here")
    link = folder / name / "sh"
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(program)
    return link


def programs(folder: Path, *names: str) -> str:
    """A PATH with only these programs."""
    folder.mkdir()
    for name in names:
        if program := shutil.which(name):
            (folder / name).symlink_to(program)
    return str(folder)


def run_framed(
    script: str, *, sh: str | Path = "/bin/sh", path: str = os.environ["PATH"], timeout: float = 20, sudo: bool = False
) -> tuple[Completed, Unframer]:
    """Run `script` as a transport would, with `sh` in place of /bin/sh and `path` as PATH."""
    marker = new_marker()
    text = frame(script, marker=marker, timeout=timeout, sudo=sudo).replace(b"/bin/sh", os.fsencode(sh))
    done = subprocess.run(
        [str(sh), "-s"], input=text, capture_output=True, check=False, env={"PATH": path}, timeout=timeout + 30
    )
    out, err = Unframer(marker), Unframer(marker)
    out.feed(done.stdout)
    err.feed(done.stderr)
    assert out.status is not None, done.stderr
    return Completed(out.status, out.body, err.body, out.noise, 0.0), out
