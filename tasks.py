"""The verbs: one thin function each, which names the flags; `launch/verbs.py` does the work.

No positional arguments but a lab host's, and no short flags, on any task: invoke otherwise takes a mistyped flag
for a value, and `-h` for `--hosts`. Flags are text, checked by us, because invoke shows a traceback for a number
that is none.
"""
# ruff: noqa: FBT001, FBT002, PLR0913, PLR0917  (the parameters are the flags, nothing here reads them)

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from functools import partial, wraps
from typing import Any

from invoke import Collection, Context, task

from launch.flags import HELP


def verb(function: Callable[..., None], *, positional: tuple[str, ...] = ()) -> Any:  # noqa: ANN401  (invoke is untyped)
    """Make a task that calls the function of the same name in `launch.verbs` with the given flags."""

    @wraps(function)
    def run(_: Context, **flags: Any) -> None:  # noqa: ANN401
        from launch.entry import run_verb

        if any(flags[name].startswith("-") for name in positional):  # invoke takes `--help` for a host
            sys.exit(
                f"usage: invoke {function.__name__.replace('_', '.', 1).replace('_', '-')} HOST\n\n{function.__doc__}"
            )
        run_verb(function.__name__, flags)

    names = [name.replace("_", "-") for name in list(inspect.signature(function).parameters)[1:]]
    known = {name: f"{function.__name__}.{name}" if f"{function.__name__}.{name}" in HELP else name for name in names}
    helps = {name: HELP[key] for name, key in known.items() if key in HELP}
    return task(positional=list(positional), auto_shortflags=False, help=helps)(run)


on_host = partial(verb, positional=("host",))
"""A task with one argument that is not a flag: `lab.cut tray2`."""


@verb
def deploy(
    _: Context,
    model: str = "",
    hosts: str = "",
    name: str = "",
    variant: str = "",
    strategy: str = "",
    port: str = "",
    rpc_port: str = "",
    recipes: str = "",
    inventory: str = "",
    accept_unknown: str = "",
    override: str = "",
    because: str = "",
    timeout: str = "",
    dry_run: bool = False,
    json: bool = False,
) -> None:
    """Probe, check, plan, install, launch and prove a model on hosts; typed again, it changes nothing."""


@verb
def check(
    _: Context,
    model: str = "",
    hosts: str = "",
    name: str = "",
    variant: str = "",
    strategy: str = "",
    port: str = "",
    rpc_port: str = "",
    recipes: str = "",
    inventory: str = "",
    accept_unknown: str = "",
    override: str = "",
    because: str = "",
    replay: str = "",
    json: bool = False,
) -> None:
    """Would this launch work on these hosts, and if not, what exactly must be done? Changes nothing."""


@verb
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


@verb
def status(_: Context, hosts: str = "all", name: str = "", inventory: str = "", json: bool = False) -> None:
    """Is it serving, by proof? Are all ranks there? Exit 0 healthy, 3 unknown, 6 not serving."""


@verb
def logs(_: Context, hosts: str = "all", name: str = "", lines: str = "", inventory: str = "") -> None:
    """The last log lines of every host's ranks."""


@verb
def stop(_: Context, hosts: str = "all", name: str = "", inventory: str = "") -> None:
    """Stop all ranks of a deployment and prove on every host that nothing is left."""


@verb
def restart(_: Context, hosts: str = "all", name: str = "", inventory: str = "", timeout: str = "") -> None:
    """Stop the group and start the same generation again."""


@verb
def unlock(_: Context, hosts: str = "", inventory: str = "") -> None:
    """Break the lock of hosts and say whose it was."""


@verb
def demo(_: Context) -> None:
    """Two simulated GB200 trays, a simulated engine: deploy, status and down again, in under a minute."""


@verb
def hosts_list(_: Context, hosts: str = "all", inventory: str = "", json: bool = False) -> None:
    """The hosts of a selection and how ssh would reach them."""


@verb
def hosts_trust(_: Context, hosts: str = "", inventory: str = "", replace: bool = False, yes: bool = False) -> None:
    """Show the host keys of hosts and record them in known_hosts."""


@verb
def recipes_list(_: Context, recipes: str = "", json: bool = False) -> None:
    """The recipes, with their variants and hardware."""


@verb
def recipes_show(
    _: Context,
    model: str = "",
    hardware: str = "",
    nodes: str = "",
    variant: str = "",
    strategy: str = "",
    recipes: str = "",
    json: bool = False,
) -> None:
    """A recipe: the commands of every node for one choice, and what is contested, forbidden or refused in it."""


@verb
def recipes_validate(_: Context, recipes: str = "", vllm: str = "", json: bool = False) -> None:
    """Would this vLLM take every command that the recipes can become? Exit 4 when it refuses one."""


@verb
def lab_up(_: Context, hosts: str = "2", profile: str = "cpu", systemd: bool = False) -> None:
    """Make lab hosts tray1, tray2, ... as Linux namespaces on this machine (needs root); all simulated."""


@verb
def lab_down(_: Context) -> None:
    """Remove the lab: processes, namespaces, links, mounts, files."""


@verb
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


ns = Collection(deploy, check, probe, status, logs, stop, restart, unlock, demo)
ns.add_collection(_group("hosts", hosts_list, hosts_trust))
ns.add_collection(_group("recipes", recipes_list, recipes_show, recipes_validate))
ns.add_collection(_group("lab", lab_up, lab_down, lab_list, lab_shell, *LAB_FAULTS))
