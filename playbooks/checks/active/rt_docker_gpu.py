"""Whether a container of the planned image, with the planned arguments, sees the GPUs."""

from __future__ import annotations

import re
from collections.abc import Sequence

from inventory.facts.base import Maybe, Unknown
from inventory.quoting import quote_all
from playbooks.checks.active.base import Said
from playbooks.checks.base import ON_HOST, Priority, skip
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements, Requirements

ID = "rt.docker_gpu"
PRIORITY = Priority.P0
WHY = "docker without the vendor's runtime starts containers that see no GPU"
DEADLINE_S = 120

# What the kernel shows of GPUs: of NVIDIA a device a GPU, of AMD a render node each.
_DEVICES = "ls -d /dev/nvidia[0-9]* /dev/dri/renderD* 2>/dev/null"
_ONE_VALUE = (
    "--name",
    "--restart",
    "-p",
    "--publish",
    "--stop-timeout",
    "--entrypoint",
    "--cidfile",
    "-w",
    "--workdir",
)
_SWITCHES = ("-d", "--detach", "-i", "-t", "-it", "--interactive", "--tty", "--init", "--rm")


def script(host: HostRequirements, needs: Requirements) -> str | Finding:
    container = needs.container
    if container is None or container.image is None or container.arguments is None or not host.gpus:
        return skip(ID, host.host, "the plan runs no container with GPUs here")
    image = container.started_by or container.image + (f"@{container.digest}" if container.digest else "")
    engine = container.engine
    words = ["--rm", "--pull", "never", *kept(container.arguments), "--entrypoint", "/bin/sh", image, "-c", _DEVICES]
    return (
        f"command -v {engine} >/dev/null || {{ echo no-tool {engine}; exit 0; }}\n"
        f"{engine} image inspect {quote_all([image])} >/dev/null 2>&1 || {{ echo absent; exit 0; }}\n"
        f"{engine} run {quote_all(words)} </dev/null\n"
    )


def kept(arguments: Sequence[str]) -> list[str]:
    """The arguments that decide what the container sees, without those that name, publish or keep it."""
    words: list[str] = []
    skipped = False
    for word in arguments:
        name, equals, _ = word.partition("=")
        if skipped:
            skipped = False
        elif name in _ONE_VALUE:
            skipped = not equals
        elif word not in _SWITCHES:
            words.append(word)
    return words


def judge(said: Maybe[Said], host: HostRequirements, _needs: Requirements) -> Finding:
    required = f"a container that sees {len(host.gpus)} GPUs"
    remedy = f"{ON_HOST}install the vendor's container toolkit, sudo nvidia-ctk runtime configure, restart docker"
    if isinstance(said, Unknown) or said.value("no-tool"):
        observed = str(said) if isinstance(said, Unknown) else f"there is no {said.value('no-tool')}"
        return Finding(ID, Status.UNKNOWN, host.host, observed, required, remedy)
    if said.out.strip() == "absent":
        return skip(ID, host.host, "the image is not there yet")
    nvidia = set(re.findall(r"(?m)^/dev/nvidia\d+$", said.out))
    seen = len(nvidia or set(re.findall(r"(?m)^/dev/dri/renderD\d+$", said.out)))
    if seen >= len(host.gpus):
        return Finding(ID, Status.PASS, host.host, f"a container sees {seen} GPUs")
    observed = f"a container sees {seen} GPUs" + (f": {said.complaint}" if said.status else "")
    return Finding(ID, Status.FAIL, host.host, observed, required, remedy)
