"""Service manager, container engines, Python tools, and what bringup itself installed."""

from __future__ import annotations

import re

from inventory.facts.answers import Answers, Item
from inventory.facts.base import Maybe, Unknown
from inventory.facts.gpu.nvidia_services import read_toolkit
from inventory.facts.host import Environment, Software, Weights
from inventory.facts.jsontext import Fields, parse_object
from inventory.facts.system import is_simulated, word

VERSION = re.compile(r"\d+(?:\.\d+)+\S*")
PINNED = re.compile(r"([A-Za-z0-9][\w.-]*?)(?:\s*==\s*|-(?=\d))([^\s;]+)")
TABLE_HEAD = re.compile(r"\s*Package\s+Version\b")
ROW = re.compile(r"([A-Za-z0-9][\w.-]*)\s+(\d\S*)")
SYSTEMD_ANSWERS = frozenset({"running", "degraded", "starting", "initializing", "maintenance", "stopping"})


def read_software(answers: Answers) -> Maybe[Software]:
    asked = answers.item("software.systemd")
    environments = read_environments(answers)
    weights = read_weights(answers)
    if isinstance(asked, Unknown):
        return asked
    if isinstance(environments, Unknown):
        return environments
    if isinstance(weights, Unknown):
        return weights
    docker = docker_info(answers)
    return Software(
        systemd=systemd_version(answers),
        container="lab" if is_simulated(answers) else word(answers, "system.container") or None,
        docker=docker.text("ServerVersion") or None,
        podman=version(answers, "containers.podman"),
        python=version(answers, "software.python"),
        uv=version(answers, "software.uv"),
        environments=environments,
        weights=weights,
        pip=version(answers, "software.pip"),
        container_toolkit=read_toolkit(answers),
        docker_runtimes=tuple(sorted(docker.object("Runtimes").members)) or None,
        compilers=compilers(answers),
        cdi_specs=tuple(line for line in word(answers, "containers.cdi").splitlines() if line.startswith("/")),
    )


def version(answers: Answers, name: str) -> str | None:
    match = VERSION.search(word(answers, name))
    return match[0] if match else None


def docker_info(answers: Answers) -> Fields:
    """What `docker info` says; nothing without a daemon, which is needed to run containers."""
    return parse_object(word(answers, "docker.info")) or Fields({})


def systemd_version(answers: Answers) -> str | None:
    """Only where systemd is PID 1 and answers: the program alone starts no unit."""
    if word(answers, "software.systemd-state") not in SYSTEMD_ANSWERS:
        return None
    match = re.match(r"systemd (\S+)", word(answers, "software.systemd"))
    return match[1] if match else None


def folder_fault(answers: Answers, name: str) -> Unknown | None:
    """Why the folder's listing cannot be believed; a folder that is not there is an answer."""
    item = answers.item(name)
    if isinstance(item, Unknown):
        return item
    return item.reason if item.status != 0 and not item.missing_file else None


def compilers(answers: Answers) -> tuple[str, ...] | None:
    item = answers.item("software.compilers")
    return None if isinstance(item, Unknown) else tuple(line for line in item.text.splitlines() if line[:1] == "/")


def read_environments(answers: Answers) -> Maybe[tuple[Environment, ...]]:
    fault = folder_fault(answers, "state.environments-folder")
    if fault:
        return fault
    installed = {folder: item.text for folder, item in answers.pages("state.packages")}
    pages = answers.pages("state.environment")
    return tuple(environment(folder, item, installed.get(folder, "")) for folder, item in pages)


def environment(folder: str, item: Item, installed: str = "") -> Environment:
    """An environment is complete when its marker, written last, can be read."""
    marker = parse_object(item.text) if item.status == 0 else None
    fields = marker or Fields({})
    return Environment(
        digest=folder.rstrip("/").rpartition("/")[2],
        vllm_version=fields.text("vllm"),
        complete=marker is not None,
        simulated=fields.flag("simulated"),
        python=next((line.removeprefix("python ") for line in installed.splitlines() if line[:7] == "python "), None),
        packages=parse_packages(installed),
    )


def parse_packages(text: str) -> tuple[tuple[str, str], ...]:
    """`name==version` of `pip freeze`, the table of `pip list`, or `name-version` of folders *.dist-info.

    Names as pip compares them.
    """
    is_table = TABLE_HEAD.match(text) is not None
    found = ((ROW if is_table else PINNED).match(line.strip()) for line in text.splitlines())
    pairs = ((re.sub(r"[-_.]+", "-", match[1]).lower(), match[2]) for match in found if match)
    return tuple(sorted(dict.fromkeys(pairs)))


def read_weights(answers: Answers) -> Maybe[tuple[Weights, ...]]:
    """Complete weight folders; one without a manifest is still being fetched and is left out."""
    fault = folder_fault(answers, "state.weights-folder")
    pages = (weights_of(item) for _, item in answers.pages("state.weights") if item.status == 0)
    return fault or tuple(one for one in pages if one)


def weights_of(item: Item) -> Weights | None:
    manifest = parse_object(item.text)
    if manifest is None:
        return None
    sizes = [file.number("size") for file in manifest.objects("files")]
    return Weights(
        repo=manifest.text("repo"),
        commit=manifest.text("commit"),
        bytes=sum(size or 0 for size in sizes),
        files=len(sizes),
        simulated=manifest.flag("simulated"),
    )
