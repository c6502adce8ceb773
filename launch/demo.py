"""The quick look: two simulated GB200 trays and the stand-in engine, from nothing to status and down again.

Nothing here is hardware or vLLM, and everything that is said says so; the code between the hosts and the operator is
the product's own.
"""

from __future__ import annotations

import time
from contextlib import suppress

from inventory.errors import BadInput, ExitCode
from inventory.lab import lifecycle
from launch import lab
from launch.report import Report
from launch.verbs import deploying, running

NAME = "demo"
MODEL = "deepseek-v4-pro"
HOSTS = "tray1,tray2"


def run(report: Report) -> ExitCode:
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


def _tour(inventory: str, report: Report) -> ExitCode:
    flags = dict.fromkeys(
        ("name", "variant", "strategy", "port", "rpc_port", "recipes", "accept_unknown", "override", "because"), ""
    )
    for dry_run in (False, True):
        _typed(report, f"deploy --model {MODEL} --hosts {HOSTS}" + (" --dry-run" if dry_run else ""))
        deploying.deploy(
            model=MODEL, hosts=HOSTS, inventory=inventory, dry_run=dry_run, json=False, timeout="60", **flags
        )
    _typed(report, "status")
    return running.status(hosts="all", name="", inventory=inventory, json=False)


def _typed(report: Report, words: str) -> None:
    report.say(f"\n$ invoke {words}", style="cyan")
