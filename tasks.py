"""The verbs: one thin function each, which names the flags; `launch/verbs/` does the work.

No positional arguments but a lab host's, and no short flags, on any task: invoke otherwise takes a mistyped flag
for a value, and `-h` for `--hosts`. Flags are text, checked by us, because invoke shows a traceback for a number
that is none.
"""
# ruff: noqa: FBT001, FBT002, PLR0913, PLR0917  (the parameters are the flags, nothing here reads them)

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable
from functools import wraps
from typing import Any

from invoke import Collection, Context, task

from launch.flags import CHOICE, DECISIONS, HELP, INSTALL, SETTINGS

# invoke turns the writing of bytecode off, and every call would then compile bringup anew: 0.6 s of a processor.
sys.dont_write_bytecode = bool(os.environ.get("PYTHONDONTWRITEBYTECODE"))


def verb(*shared: str, positional: tuple[str, ...] = ()) -> Callable[[Callable[..., None]], Any]:
    """Make tasks that call the function of the same name in `launch.verbs`, with its own and the `shared` flags."""

    def decorate(function: Callable[..., None]) -> Any:  # noqa: ANN401  (invoke is untyped)
        @wraps(function)
        def run(_: Context, **flags: Any) -> None:  # noqa: ANN401
            from launch.entry import run_verb

            if any(flags[name].startswith("-") for name in positional):  # invoke takes `--help` for a host
                typed = function.__name__.replace("_", ".", 1).replace("_", "-")
                sys.exit(f"usage: invoke {typed} HOST\n\n{function.__doc__}")
            run_verb(function.__name__, flags)

        run.__signature__ = _signature(function, shared)  # type: ignore[attr-defined]
        names = [name.replace("_", "-") for name in list(run.__signature__.parameters)[1:]]  # type: ignore[attr-defined]
        known = {name: f"{function.__name__}.{name}" for name in names}
        helps = {name: HELP.get(known[name], HELP.get(name)) for name in names if name in HELP or known[name] in HELP}
        return task(positional=list(positional), auto_shortflags=False, help=helps)(run)

    return decorate


def _signature(function: Callable[..., None], shared: tuple[str, ...]) -> inspect.Signature:
    context, *own = inspect.signature(function).parameters.values()
    flags = [inspect.Parameter(name, context.kind, default="", annotation="str") for name in shared]
    return inspect.Signature([context, *flags, *own])


on_host = verb(positional=("host",))
"""A task with one argument that is not a flag: `lab.cut tray2`."""


@verb(*CHOICE, *SETTINGS, *DECISIONS)
def deploy(
    _: Context,
    timeout: str = "",
    image_digest: str = "",
    image_archive: str = "",
    dry_run: bool = False,
    json: bool = False,
) -> None:
    """Probe, check, plan, install, launch and prove a model on hosts; typed again, it changes nothing."""


@verb(*CHOICE, *SETTINGS, *INSTALL)
def install(_: Context, dry_run: bool = False, diff: bool = False, reboot: bool = False, json: bool = False) -> None:
    """Bring hosts to what playbooks and the plan of a model want of them; run again, it changes nothing."""


@verb()
def jobs(_: Context, hosts: str = "all", inventory: str = "", running: bool = False, json: bool = False) -> None:
    """What runs detached on hosts and what has run there: since when, by whom, for what."""


@verb(*CHOICE, *SETTINGS, "hardware", "replay", "output", "save", "compare", "svg", "html")
def plan(_: Context, json: bool = False) -> None:
    """What would run where on these hosts, and why; what else could, and what it would cost. Changes nothing."""


@verb(*CHOICE, *SETTINGS, *DECISIONS)
def check(
    _: Context,
    replay: str = "",
    plan: str = "",
    only: str = "",
    skip: str = "",
    active: bool = False,
    json: bool = False,
) -> None:
    """Would this launch work on these hosts, and if not, what exactly must be done? Changes nothing."""


@verb("model", "hosts", "hardware", "nodes", "variant", "strategy", "recipes", "inventory")
def memory(_: Context, context: str = "", config: str = "", replay: str = "", json: bool = False) -> None:
    """What fills each GPU: weights, activations, cache; tokens, requests at once, and what would change it most."""


@verb()
def probe(
    _: Context,
    hosts: str = "all",
    inventory: str = "",
    host_detail: bool = False,
    save: str = "",
    raw: bool = False,
    replay: str = "",
    diff: str = "",
    json: bool = False,
) -> None:
    """What every host is: cores, NUMA, memory, disks, network, GPUs, software, deployments."""


@verb()
def status(_: Context, hosts: str = "all", name: str = "", inventory: str = "", json: bool = False) -> None:
    """Is it serving, by proof? Are all ranks there? Exit 0 healthy, 3 unknown, 6 not serving."""


@verb()
def logs(_: Context, hosts: str = "all", name: str = "", lines: str = "", inventory: str = "") -> None:
    """The last log lines of every host's ranks."""


@verb()
def stop(_: Context, hosts: str = "all", name: str = "", inventory: str = "") -> None:
    """Stop all ranks of a deployment and prove on every host that nothing is left."""


@verb()
def restart(_: Context, hosts: str = "all", name: str = "", inventory: str = "", timeout: str = "") -> None:
    """Stop the group and start the same generation again."""


@verb()
def unlock(_: Context, hosts: str = "", inventory: str = "") -> None:
    """Break the lock of hosts and say whose it was."""


@verb()
def demo(_: Context) -> None:
    """Two simulated GB200 trays, a simulated engine: deploy, status and down again, in under a minute."""


@verb()
def hosts_list(_: Context, hosts: str = "all", inventory: str = "", json: bool = False) -> None:
    """The hosts of a selection and how ssh would reach them."""


@verb()
def hosts_check(
    _: Context,
    hosts: str = "all",
    inventory: str = "",
    replay: str = "",
    record: str = "",
    active: bool = False,
    json: bool = False,
) -> None:
    """A fresh cluster, layer by layer, without a model: reach, ground, GPUs, limits, network. Keeps a dated record."""


@verb()
def hosts_trust(_: Context, hosts: str = "", inventory: str = "", replace: bool = False, yes: bool = False) -> None:
    """Show the host keys of hosts and record them in known_hosts."""


@verb()
def recipes_list(_: Context, recipes: str = "", json: bool = False) -> None:
    """The recipes, with their variants and hardware."""


@verb("model", "hardware", "nodes", "variant", "strategy", "load_balancing", "feature", "no_feature", "recipes")
def recipes_show(_: Context, ray: bool = False, json: bool = False) -> None:
    """A recipe: the commands of every node for one choice, and what is contested, forbidden or refused in it."""


@verb()
def recipes_validate(_: Context, recipes: str = "", vllm: str = "", json: bool = False) -> None:
    """Would this vLLM take every command that the recipes can become? Exit 4 when it refuses one."""


@verb()
def lab_up(_: Context, hosts: str = "2", profile: str = "cpu", systemd: bool = False) -> None:
    """Make lab hosts tray1, tray2, ... as Linux namespaces on this machine (needs root); all simulated."""


@verb()
def lab_down(_: Context) -> None:
    """Remove the lab: processes, namespaces, links, mounts, files."""


@verb()
def lab_list(_: Context, json: bool = False) -> None:
    """The running lab and its hosts."""


@on_host
def lab_shell(_: Context, host: str) -> None:
    """A shell on a lab host."""


@on_host
def lab_cut(_: Context, host: str, network: str = "both") -> None:
    """Pull the cables of a lab host."""


@on_host
def lab_heal(_: Context, host: str, network: str = "both") -> None:
    """Plug the cables of a lab host in again."""


def _lab_fault(name: str, text: str) -> Any:  # noqa: ANN401
    def fault(_: Context, host: str) -> None: ...

    fault.__name__, fault.__doc__ = name, text
    return on_host(fault)


LAB_FAULTS = (
    lab_cut,
    lab_heal,
    _lab_fault("lab_freeze", "Stop all processes of a lab host: it neither answers nor closes anything."),
    _lab_fault("lab_thaw", "Let a frozen lab host go on."),
    _lab_fault("lab_power_off", "Cut the power of a lab host: its disk stays."),
    _lab_fault("lab_power_on", "Boot a lab host again on the same disk."),
)


def _group(name: str, *tasks: Any) -> Collection:  # noqa: ANN401
    """Make `hosts.list` of `hosts_list`."""
    group = Collection(name)
    for one in tasks:
        group.add_task(one, name=one.name.removeprefix(f"{name}_").replace("_", "-"))
    return group


ns = Collection(deploy, install, jobs, plan, check, memory, probe, status, logs, stop, restart, unlock, demo)
ns.add_collection(_group("hosts", hosts_list, hosts_check, hosts_trust))
ns.add_collection(_group("recipes", recipes_list, recipes_show, recipes_validate))
ns.add_collection(_group("lab", lab_up, lab_down, lab_list, lab_shell, *LAB_FAULTS))
