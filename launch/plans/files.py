"""A plan as files for people who run it by hand: a script per host, or a compose file per host. Pure."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from inventory.errors import BadInput
from inventory.quoting import quote, quote_all
from launch.building.unit import by_option
from launch.placing.placement import Binding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from launch.plans.document import Host, LaunchPlan

SERVICE = "vllm"
NOFILE = 1048576
GRACE = "120s"  # a stop of many ranks takes longer than the ten seconds of docker


def scripts(plan: LaunchPlan) -> Iterator[tuple[str, str]]:
    """(file name, text) for each host: as it is, the script becomes the engine on that host."""
    _refuse_assumed(plan, "shell")
    for host in plan.hosts:
        yield f"{plan.name}-{host.node_rank}-{host.name}.sh", _script(plan, host)


def _script(plan: LaunchPlan, host: Host) -> str:
    env = [quote(f"{key}={value}") for key, value in host.env]
    words = [quote_all(group) for group in by_option(host.argv)]
    notes = [f"# {line}" for line in _notes(plan, host)]
    if any(mark in line for line in (*env, *words) for mark in "$`"):
        notes.append("# shellcheck disable=SC2016  # these words are meant as they are")
    return "\n".join(["#!/bin/sh", *notes, "exec env -i \\", " \\\n".join(f"  {line}" for line in env + words), ""])


def _notes(plan: LaunchPlan, host: Host) -> Iterator[str]:
    yield f"{plan.name}: {host.name}, node {host.node_rank} of {len(plan.hosts)}; plan {plan.inputs.digest}."
    yield f"Weights: {plan.model.repository} at {plan.model.commit or 'a commit that nothing pins'}."
    if plan.engine.by_hand:
        yield f"bringup installs nothing for it: {host.argv[0]} must be vLLM {plan.engine.vllm}."
    if any(one.decision == "API key" and one.chosen != "none" for one in plan.reasons):
        yield "The API key is not written here: VLLM_API_KEY must be set in it for clients to be asked for one."
    for obstacle in plan.obstacles:
        yield f"Not by bringup: {obstacle.message} [{obstacle.id}]"
    if len(plan.hosts) > 1:
        yield "Start all hosts within five minutes of each other; stop all when one stops."


def compose_files(plan: LaunchPlan) -> Iterator[tuple[str, str]]:
    """(file name, text) for each host. JSON, which every YAML reader takes: nothing in it needs YAML's quoting.

    Raises `BadInput` where the recipe names no image: a stock tag such as `latest` moves.
    """
    _refuse_assumed(plan, "compose")
    if plan.engine.image is None:
        raise BadInput(
            "there is no compose file without an image",
            id="image-none",
            observed=f"{plan.model.recipe} names no image for {plan.layout.hardware}",
            required="docker_image in the recipe, of the model or the variant: a stock tag moves",
            next_command="the same command with --output shell",
        )
    for host in plan.hosts:
        text = json.dumps(_compose(plan, host, plan.engine.image), indent=2, ensure_ascii=False)
        yield f"{plan.name}-{host.node_rank}-{host.name}.compose.yaml", text + "\n"


def _compose(plan: LaunchPlan, host: Host, image: str) -> dict[str, object]:
    """`$` is doubled: compose would put its own variables there."""
    amd = any("AMD" in gpu.name for gpu in host.gpus)
    env = {key: value.replace("$", "$$") for key, value in host.env if key != "PATH"}
    service: dict[str, Any] = {
        "image": image,
        "container_name": plan.name,
        "network_mode": "host",
        "ipc": "host",
        "stop_grace_period": GRACE,
        "ulimits": {"memlock": -1, "nofile": NOFILE},
        "environment": env,
        "volumes": [f"{path}:{path}" for path in _mounts(host)],
        "entrypoint": ["vllm", "serve"],
        "command": [word.replace("$", "$$") for word in host.argv[2:]],
        **(_amd() if amd else _nvidia()),
    }
    if host.pins.binding is Binding.NUMA_BIND:
        service["cap_add"] = ["SYS_NICE"]
    if len(plan.hosts) > 1 and host.nics:
        service["cap_add"] = [*service.get("cap_add", ()), "IPC_LOCK"]
        service["devices"] = [*service.get("devices", ()), "/dev/infiniband"]
    return {"name": plan.name, "services": {SERVICE: service}}


def _mounts(host: Host) -> list[str]:
    """The weights and the caches at the same paths as on the host."""
    home = dict(host.env)["HOME"]
    return [path for path in (host.argv[2], home) if path.startswith("/")]


def _nvidia() -> dict[str, object]:
    device = {"driver": "nvidia", "count": "all", "capabilities": ["gpu"]}
    return {"deploy": {"resources": {"reservations": {"devices": [device]}}}}


def _amd() -> dict[str, object]:
    return {
        "devices": ["/dev/kfd", "/dev/dri"],
        "group_add": ["video"],
        "security_opt": ["seccomp=unconfined"],
    }


def _refuse_assumed(plan: LaunchPlan, output: str) -> None:
    if plan.inputs.assumed:
        raise BadInput(
            f"--output {output} needs hosts",
            id="flag-value",
            observed="--hardware: the hosts are assumed, and their addresses too",
            required="--hosts, or --replay with a bundle of their facts",
            next_command="the same command with --hosts in place of --hardware",
        )


def bundle(files: Iterator[tuple[str, str]]) -> Iterator[str]:
    """Several files as one text: of one file its text alone, else each behind a line with its name."""
    found = list(files)
    if len(found) == 1:
        yield found[0][1].rstrip("\n")
        return
    for name, text in found:
        yield f"# ==> {name} <=="
        yield text.rstrip("\n")
        yield ""
