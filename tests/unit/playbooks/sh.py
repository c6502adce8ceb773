"""Run a script in a real POSIX shell: what reaches a host is tried, not compared with what we think it does."""

from __future__ import annotations

import subprocess


def sh(script: str, *, timeout: float = 20) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["/bin/sh", "-s"], input=script, capture_output=True, text=True, timeout=timeout, check=False)
