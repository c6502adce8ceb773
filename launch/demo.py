"""The quick look: two simulated GB200 trays and the stand-in engine, from nothing to status and down again.

Nothing here is hardware or vLLM, and everything that is said says so; the code between the hosts and the operator is
the product's own.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

from inventory.errors import BadInput
from inventory.lab import lifecycle
from launch import lab
from launch.console.report import Report

ROOT = Path(__file__).resolve().parents[1]
NAME = "demo"
MODEL = "deepseek-v4-pro"
HOSTS = "tray1,tray2"


def run(report: Report) -> int:
    """Show a deploy, its status, and a second plan that is empty. The lab is gone afterwards, whatever happens."""
    began = time.monotonic()
    report.say("SIMULATED: two GB200 trays as Linux namespaces, a stand-in engine that is not vLLM", style="bold")
    with suppress(BadInput):  # one that was killed could not clean up, and no verb but this knows of it
        lifecycle.down(NAME)
        report.say("a demo that was left behind has been taken down")
    made = lab.up(2, "gb200", name=NAME)
    try:
        code = _tour(str(made.inventory), report)
    finally:
        lifecycle.down(NAME)
    report.say(f"the lab is gone; that was SIMULATED and took {time.monotonic() - began:.0f} s")
    report.say("next, for real, on this machine without a GPU: sh playbooks/bootstrap.sh deploy")
    return code


def _tour(inventory: str, report: Report) -> int:
    for words in (
        f"deploy --model {MODEL} --hosts {HOSTS} --timeout 60",
        f"deploy --model {MODEL} --hosts {HOSTS} --dry-run",
    ):
        _typed(report, inventory, words)
    return _typed(report, inventory, "status")


def _typed(report: Report, inventory: str, words: str) -> int:
    """Run the command that is shown, as an operator would; returns its exit code."""
    report.say(f"\n$ invoke {words}", style="cyan")
    argv = [sys.executable, "-m", "invoke", *words.split()]
    return subprocess.run(argv, cwd=ROOT, env={**os.environ, "BRINGUP_INVENTORY": inventory}, check=False).returncode
