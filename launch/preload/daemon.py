"""The command of `vllm preload` for every host of a launch, and what makes its engines take the weights from it. Pure.

Read in the source of 0.33.0 (entrypoints/cli/preload.py, model_executor/model_loader/weight_cache): a daemon for each
GPU holds the loaded, quantised shard of its rank and hands it to engines of the same user by CUDA IPC. It takes the
engine's options, not the server's, and joins its peers on a port of its own. vLLM counts what the daemon holds to the
engine's share of the GPU (v1/worker/utils.py, request_memory), so the engine's options stay as they are.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from inventory.errors import CheckFailed
from launch.building.unit import by_option
from launch.choosing.hardware import CPU
from launch.request import refused
from launch.vllm_args.parse import load

if TYPE_CHECKING:
    from launch.building.command import HostCommand
    from launch.choosing.choice import Choice

HAVE_IT = frozenset({"0.33.0"})
"""Versions whose source has been read and has the command; 0.32.0 has none."""
SUFFIX = "-weights"
SERVERS_OWN = frozenset({"headless", "api_server_count", "config", "grpc", "enable_log_requests", "shutdown_timeout"})
MODES = frozenset({"data_parallel_multi_port_external_lb", "data_parallel_external_lb", "load_format"})
LOADS = ("--load-format", "--model-loader-extra-config")


def weights_name(deployment: str) -> str:
    """The deployment that holds the weights of another one."""
    return f"{deployment}{SUFFIX}"


def socket_dir(cache_dir: str) -> str:
    """Where daemons and engines of a host meet: short, because the path of a Unix socket has 107 characters at most."""
    return f"{cache_dir.rpartition('/')[0]}/ipc"


def daemon_command(command: HostCommand, version: str, *, sockets: str, master_port: int) -> HostCommand:
    """What holds the weights of `command`'s ranks. `master_port`: where all daemons meet; those of a draft, one on."""
    dropped = _servers_flags(version)
    words: list[str] = []
    for group in by_option(command.argv)[1:]:
        if group[0].partition("=")[0] not in dropped:
            words += group
    own = ["--weight-cache-socket-dir", sockets, "--weight-cache-master-port", str(master_port)]
    argv = (command.argv[0], "preload", "--model", command.argv[2], *words, *own)
    return replace(command, argv=argv, api_key=None, stamp=None)


@cache
def _servers_flags(version: str) -> frozenset[str]:
    """Flags of the server's options in the schema of `version`, which `preload` does not take."""
    options = load(version)["options"]
    names = {name for name, one in options.items() if one["group"] == "Frontend" or name in SERVERS_OWN | MODES}
    return frozenset(flag for name in names for flag in options[name]["flags"])


def from_daemon(argv: Sequence[str], sockets: str) -> tuple[str, ...]:
    """The engine's words, with the weights from the daemon; without one it fails and says so."""
    words = [word for group in by_option(argv)[1:] if group[0].partition("=")[0] not in LOADS for word in group]
    extra = json.dumps({"socket_dir": sockets, "fallback": False})
    return (*argv[:3], *words, LOADS[0], "ipc_cache", LOADS[1], extra)


def refuse_unsupported(choice: Choice, commands: Sequence[HostCommand], *, image: bool) -> None:
    """Raise `CheckFailed` for a launch whose weights no daemon can hold."""
    why = next(iter(_unsupported(choice, commands, image=image)), None)
    if why:
        raise CheckFailed(
            f"no daemon can hold the weights of {choice.slug} here",
            id="preload-unsupported",
            observed=why,
            required=f"vLLM {', '.join(sorted(HAVE_IT))} from wheels, on GPUs of NVIDIA or AMD, without sleep mode",
            next_command="the same deploy without --weights-from: weights are loaded from disk",
        )


def _unsupported(choice: Choice, commands: Sequence[HostCommand], *, image: bool) -> list[str]:
    found = []
    if choice.vllm not in HAVE_IT:
        found.append(f"vLLM {choice.vllm} has no `vllm preload` that was read")
    if choice.hardware == CPU:
        found.append("weights are handed over as handles of CUDA memory, and these hosts have no GPU")
    if image:
        found.append("the engine runs in a container, and the daemon would be in another one")
    if any("--enable-sleep-mode" in command.argv for command in commands):
        found.append("sleep mode must not be used with weights that another process holds")
    return found


def is_daemon(typed: str) -> bool:
    """The value of --weights-from. Raises `BadInput` for anything but disk and daemon."""
    if typed not in {"", "disk", "daemon"}:
        raise refused("weights-from", typed, "disk, or daemon")
    return typed == "daemon"
