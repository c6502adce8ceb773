"""The verbs: what each is called, means and takes; `launch/verbs/` does the work.

No positional arguments but a lab host's, and no short flags, on any task: invoke otherwise takes a mistyped flag
for a value, and `-h` for `--hosts`. Flags are text, checked by us, because invoke shows a traceback for a number
that is none.
"""

from __future__ import annotations

import inspect
import os
import signal
import sys
from pathlib import Path
from typing import Any

from invoke import Collection, Context, Task, task

from launch.flags import CHOICE, DECISIONS, DEPLOYED, HELP, INSTALL, LOGS, RECOVERY, SETTINGS

# invoke turns the writing of bytecode off, and every call would then compile bringup anew: 0.6 s of a processor.
sys.dont_write_bytecode = bool(os.environ.get("PYTHONDONTWRITEBYTECODE"))

ASKS = ("--help", "-h", "--list", "-l")
PROGRAM = Path(sys.argv[0])
if {"invoke", "inv"} & {PROGRAM.name, PROGRAM.parent.name} and {*ASKS, sys.argv[0]} & {*sys.argv[1:2], sys.argv[-1]}:
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # nothing is done then: `| head` ends it, untold


def verb(
    typed: str, means: str, shared: tuple[str, ...] = (), *, host: bool = False, **own: str | bool
) -> tuple[str, Task[Any]]:
    """Make the task `typed`, which calls the function of that name in `launch.verbs` with its flags.

    `shared` flags are empty text unless typed, `own` ones have the defaults given here; with `host` it takes the name
    of a host as its one argument that is not a flag: `lab.cut tray2`.
    """
    name = typed.replace(".", "_").replace("-", "_")

    def run(_: Context, **flags: Any) -> None:  # noqa: ANN401
        from launch.entry import run_verb

        if host and flags["host"].startswith("-"):  # invoke takes `--help` for a host
            more = "".join(f"\n  --{flag}=STRING   {_help(name, flag)}; default {value}" for flag, value in own.items())
            sys.stdout.write(f"Usage: invoke {typed} HOST\n\n{means}\n{more}\n")
            sys.exit(0 if flags["host"] in ASKS else 2)
        run_verb(name, flags)

    flags = {**dict.fromkeys(shared, ""), **own}
    run.__name__, run.__doc__ = name, means
    run.__signature__ = _signature(flags, host=host)  # type: ignore[attr-defined]
    helps = {
        flag.strip("_").replace("_", "-"): _help(name, flag.replace("_", "-")) for flag in flags
    }  # from_: a word of Python
    made: Task[Any] = task(
        positional=["host"] if host else [],
        auto_shortflags=False,
        help={flag: text for flag, text in helps.items() if text},
    )(run)
    return typed, made


def _signature(flags: dict[str, str | bool], *, host: bool) -> inspect.Signature:
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    first = [inspect.Parameter(name, kind) for name in ("_", "host") if name == "_" or host]
    return inspect.Signature([*first, *(inspect.Parameter(name, kind, default=value) for name, value in flags.items())])


def _help(verb_name: str, flag: str) -> str | None:
    return HELP.get(f"{verb_name}.{flag}", HELP.get(flag))


VERBS = (
    verb(
        "deploy",
        "Probe, check, plan, install, launch and prove a model on hosts; typed again, it changes nothing.",
        (*CHOICE, *SETTINGS, *DECISIONS, "timeout", "image_digest", "image_archive", "hooks"),
        **RECOVERY,
        dry_run=False,
        json=False,
    ),
    verb(
        "install",
        "Bring hosts to what playbooks and the plan of a model want of them; run again, it changes nothing.",
        (*CHOICE, *SETTINGS, *INSTALL),
        dry_run=False,
        diff=False,
        reboot=False,
        json=False,
    ),
    verb(
        "prefetch",
        "Bring a model's weights to hosts before a launch: once from outside, then from host to host, all verified.",
        (*CHOICE, *SETTINGS, "fetch", "from_", "limit_rate"),
        status=False,
        cancel=False,
        dry_run=False,
        json=False,
    ),
    verb(
        "jobs",
        "What runs detached on hosts and what has run there: since when, by whom, for what.",
        ("inventory",),
        hosts="all",
        running=False,
        json=False,
    ),
    verb(
        "plan",
        "What would run where on these hosts, and why; what else could, and what it would cost. Changes nothing.",
        (*CHOICE, *SETTINGS, "hardware", "replay", "output", "save", "compare", "svg", "html"),
        json=False,
    ),
    verb(
        "check",
        "Would this launch work on these hosts, and if not, what exactly must be done? Changes nothing.",
        (*CHOICE, *SETTINGS, *DECISIONS, "replay", "plan", "only", "skip"),
        active=False,
        json=False,
    ),
    verb(
        "memory",
        "What fills each GPU: weights, activations, cache; tokens, requests at once, and what would change it most.",
        (
            *("model", "hosts", "hardware", "nodes", "variant", "strategy", "recipes", "inventory", "context"),
            *("config", "replay"),
        ),
        json=False,
    ),
    verb(
        "probe",
        "What every host is: cores, NUMA, memory, disks, network, GPUs, software, deployments.",
        ("inventory", "save", "replay", "diff"),
        hosts="all",
        host_detail=False,
        raw=False,
        json=False,
    ),
    verb("status", "Is it serving, by proof? Exit 0 healthy, 3 unknown, 6 not serving.", **DEPLOYED, json=False),
    verb(
        "diagnose", "What failed first, on which host, and what to type.", ("replay", "capture"), **DEPLOYED, json=False
    ),
    verb("logs", "The last log lines of all ranks as one, merged by time.", **DEPLOYED, **LOGS),
    verb("history", "Who did what with a deployment, when, how it ended and what it changed.", **DEPLOYED, json=False),
    verb("rollback", "Back to a generation that hosts have stored: its own commands.", ("to", "timeout"), **DEPLOYED),
    verb("stop", "Stop all ranks of a deployment and prove on every host that nothing is left.", **DEPLOYED),
    verb("restart", "Stop the group and start the same generation again.", ("timeout",), **DEPLOYED),
    verb(
        "metrics",
        "What a deployment does right now: requests, KV cache, tokens a second, latencies; engine by engine.",
        ("seconds",),
        **DEPLOYED,
        json=False,
    ),
    verb(
        "metrics.export",
        "Write a scrape configuration and alert rules for Prometheus and a Grafana dashboard, for the real addresses.",
        ("output", "scrape", "ttft_p95", "itl_p95"),
        **DEPLOYED,
    ),
    verb(
        "bench",
        "Measure a deployment by vLLM's own benchmark or GuideLLM; the results stay with its generation.",
        (
            *("requests", "input_tokens", "output_tokens", "concurrency", "rate", "speed_bench", "subset"),
            *("guidellm", "compare"),
        ),
        **DEPLOYED,
        json=False,
    ),
    verb("bench.list", "The benchmarks of a deployment, the latest last.", **DEPLOYED, json=False),
    verb(
        "connect",
        "Print the exact settings of a client: claude-code, openai or curl.",
        ("client",),
        **DEPLOYED,
        json=False,
    ),
    verb("lora.list", "The LoRA adapters that each endpoint serves.", **DEPLOYED, json=False),
    verb(
        "lora.load",
        "Load an adapter behind every endpoint while it serves, and prove it by a completion.",
        ("adapter",),
        **DEPLOYED,
    ),
    verb("lora.unload", "Unload an adapter from every endpoint.", ("adapter",), **DEPLOYED),
    verb(
        "tokios.connect",
        "Run Tokios' connector beside the head's ranks, with the deployment's endpoint as its upstream.",
        ("token_file", "connector"),
        **DEPLOYED,
    ),
    verb("tokios.disconnect", "Stop Tokios' connector and remove it with its token.", **DEPLOYED),
    verb("unlock", "Break the lock of hosts and say whose it was.", ("hosts", "inventory")),
    verb("demo", "Two simulated GB200 trays, a simulated engine: deploy, status and down again, in under a minute."),
    verb(
        "hosts.list", "The hosts of a selection and how ssh would reach them.", ("inventory",), hosts="all", json=False
    ),
    verb(
        "hosts.check",
        "A fresh cluster, layer by layer, without a model: reach, ground, GPUs, limits, network. Keeps a dated record.",
        ("inventory", "replay", "record"),
        hosts="all",
        active=False,
        json=False,
    ),
    verb(
        "hosts.trust",
        "Show the host keys of hosts and record them in known_hosts.",
        ("hosts", "inventory"),
        replace=False,
        yes=False,
    ),
    verb(
        "preload",
        "Hold a launch's weights in GPU memory: a deployment of its own, for --weights-from daemon.",
        (*CHOICE, *SETTINGS, *DECISIONS, "timeout"),
        dry_run=False,
        json=False,
    ),
    verb("weights.list", "Weights by host: verified when, needed by whom.", hosts="all", inventory="", json=False),
    verb(
        "weights.verify",
        "Weights against their manifests: exit 4 when wrong.",
        ("model", "inventory"),
        hosts="all",
        digests=False,
        json=False,
    ),
    verb(
        "weights.gc",
        "Weights and caches that nothing stored needs: --yes removes them.",
        ("inventory",),
        hosts="all",
        yes=False,
        dry_run=False,
        json=False,
    ),
    verb("recipes.list", "The recipes, with their variants and hardware.", ("recipes",), json=False),
    verb(
        "recipes.show",
        "A recipe: the commands of every node for one choice, and what is contested, forbidden or refused in it.",
        ("model", "hardware", "nodes", "variant", "strategy", "load_balancing", "feature", "no_feature", "recipes"),
        ray=False,
        json=False,
    ),
    verb(
        "recipes.validate",
        "Would this vLLM take every command that the recipes can become? Exit 4 when it refuses one.",
        ("recipes", "vllm"),
        json=False,
    ),
    verb(
        "lab.up",
        "Make lab hosts tray1, tray2, ... as Linux namespaces on this machine (needs root); all simulated.",
        hosts="2",
        profile="cpu",
        systemd=False,
    ),
    verb("lab.down", "Remove the lab: processes, namespaces, links, mounts, files."),
    verb("lab.list", "The running lab and its hosts.", json=False),
    verb("lab.shell", "A shell on a lab host.", host=True),
    verb("lab.cut", "Pull the cables of a lab host.", host=True, network="both"),
    verb("lab.heal", "Plug the cables of a lab host in again.", host=True, network="both"),
    verb("lab.freeze", "Stop all processes of a lab host: it neither answers nor closes anything.", host=True),
    verb("lab.thaw", "Let a frozen lab host go on.", host=True),
    verb("lab.power-off", "Cut the power of a lab host: its disk stays.", host=True),
    verb("lab.power-on", "Boot a lab host again on the same disk.", host=True),
)


def _collected(verbs: tuple[tuple[str, Task[Any]], ...]) -> Collection:
    """Make `hosts.list` the task `list` of the collection `hosts`; a verb named like a collection is its default."""
    top = Collection()
    groups = {name: Collection(name) for name in sorted({typed.rpartition(".")[0] for typed, _ in verbs} - {""})}
    for typed, one in verbs:
        group, _, name = typed.rpartition(".")
        if typed in groups:
            groups[typed].add_task(one, name="show", default=True)
        else:
            (groups[group] if group else top).add_task(one, name=name)
    for group_of_verbs in groups.values():
        top.add_collection(group_of_verbs)
    return top


def _typed(words: list[str]) -> tuple[tuple[str, Task[Any]], ...]:
    """The verbs of a command line that begins with one, else all: invoke copies every flag of all tasks."""
    named = tuple(one for one in VERBS if one[0] in words)
    return named if words[:1] and words[0] in dict(VERBS) else VERBS


ns = _collected(_typed(sys.argv[1:]))
