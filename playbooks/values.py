"""Named values that an entry may have in its texts, as `{{name}}`: a closed list of facts, and the playbook's settings.

A name that is none of them is refused when the playbook is read; a value that is unknown on a host when it is planned.
Other braces, `{{.Server}}` or `{{ name }}`, are text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any, TypeVar

from inventory.facts.base import Maybe, Unknown, Why, is_known
from playbooks.amd_values import AMD_VALUES, rpm_version
from playbooks.entry import VALUE, Entry
from playbooks.situation import DEBIAN_NAMES, NOT_PLANNED, Situation

E = TypeVar("E", bound=Entry)


class ValueUnknown(Exception):
    """A value that no fact tells on this host."""

    def __init__(self, name: str, reason: Unknown) -> None:
        super().__init__(f"{name}: {reason}")
        self.name = name
        self.reason = reason


def _system(part: str) -> Callable[[Situation], Maybe[str]]:
    return lambda at: str(getattr(at.facts.system, part)) if is_known(at.facts.system) else at.facts.system


def _debian_arch(at: Situation) -> Maybe[str]:
    if not is_known(at.architecture):
        return at.architecture
    return DEBIAN_NAMES.get(at.architecture, at.architecture)


def _driver(at: Situation) -> Maybe[str]:
    if not is_known(at.facts.gpus):
        return at.facts.gpus
    return at.facts.gpus.driver or Unknown(Why.EMPTY, "no driver is loaded")


def _cuda_os(at: Situation) -> Maybe[str]:
    """The folder of a system in NVIDIA's repository: ubuntu2404, debian12, rhel9."""
    system = at.facts.system
    if not is_known(system):
        return system
    if not system.id or not system.version:
        return Unknown(Why.EMPTY, "os-release has no ID or no VERSION_ID")
    if system.family == "rhel":
        return f"rhel{system.version.partition('.')[0]}"
    return f"{system.id}{system.version.replace('.', '')}"


def _cuda_arch(at: Situation) -> Maybe[str]:
    """sbsa: servers with Arm processors, other boards have a folder of their own there."""
    return "sbsa" if at.architecture == "aarch64" else at.architecture


def _next_kernel(at: Situation) -> Maybe[str]:
    """That the next boot takes: the newest in /boot; where there is none, that which runs."""
    driver = at.facts.driver
    if not is_known(driver):
        return driver
    return driver.next_kernel or VALUES["kernel"](at)


def _driver_branch(at: Situation) -> Maybe[str]:
    """580 of the setting driver=580.95.05."""
    return at.settings.get("driver", "").partition(".")[0] or Unknown(Why.NOT_ASKED, "the setting driver has no value")


def _toolkit_series(at: Situation) -> Maybe[str]:
    """13-0, as the names of CUDA's packages have it, of what the pinned build was made for."""
    if at.needs is None:
        return NOT_PLANNED
    runtime = next((one.gpu_runtime for one in at.needs.hosts if one.host == at.facts.host), None)
    parts = (runtime or "").split(".")
    return "-".join(parts[:2]) if len(parts) > 1 else Unknown(Why.EMPTY, "the plan does not tell its CUDA")


def _imex_lines(at: Situation) -> Maybe[str]:
    """The trays of an NVLink domain, one a line: those of the setting, else of the launch."""
    given = at.settings.get("imex_nodes", "").split()
    return "\n".join(given) if given else _addresses(at)


def _addresses(at: Situation) -> Maybe[str]:
    """Of all hosts of the launch, one a line."""
    if at.needs is None:
        return NOT_PLANNED
    found = [one.address for one in at.needs.hosts]
    return "\n".join(map(str, found)) if all(found) else Unknown(Why.EMPTY, "an address of a host is not known")


def _reserved_ports(at: Situation) -> Maybe[str]:
    """What is reserved already, by whomever, and the fixed ports of the launch."""
    if at.needs is None:
        return NOT_PLANNED
    if not is_known(at.facts.network):
        return at.facts.network
    ours = next((one.ports for one in at.needs.hosts if one.host == at.facts.host), ())
    there = {port for first, last in at.facts.network.reserved_ports for port in range(first, last + 1)}
    return _ranges(sorted(there | set(ours)))


def _ranges(numbers: list[int]) -> str:
    """As the kernel writes them: `8000,13345-13346`."""
    breaks = [index + 1 for index, (a, b) in enumerate(pairwise(numbers)) if b != a + 1]
    runs = [numbers[a:b] for a, b in pairwise([0, *breaks, len(numbers)]) if numbers]
    return ",".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


VALUES: Mapping[str, Callable[[Situation], Maybe[str]]] = {
    "kernel": _system("kernel"),
    "login_user": _system("user"),
    "os_id": _system("id"),
    "os_version": _system("version"),
    "arch": _system("architecture"),
    "debian_arch": _debian_arch,
    "driver_version": _driver,
    "host_addresses": _addresses,
    "reserved_ports": _reserved_ports,
    "next_kernel": _next_kernel,
    "cuda_os": _cuda_os,
    "cuda_arch": _cuda_arch,
    "driver_branch": _driver_branch,
    "cuda_series": _toolkit_series,
    "imex_lines": _imex_lines,
    "rpm_kernel": lambda at: rpm_version(VALUES["kernel"](at)),
    "rpm_next_kernel": lambda at: rpm_version(_next_kernel(at)),
    **AMD_VALUES,
}


def named(entry: Entry) -> frozenset[str]:
    """The names that stand in the entry's texts."""
    return frozenset(name for text in _texts(entry.model_dump()) for name in VALUE.findall(text))


def filled(entry: E, at: Situation) -> E:
    """The entry with its values; itself where it has none. Raises `ValueUnknown`, pydantic's error for one unfit."""
    if not named(entry):
        return entry
    return type(entry).model_validate(_filled(entry.model_dump(), at))


def given(entry: E, settings: Mapping[str, str]) -> E:
    """The entry with those of its values that are settings."""
    if not named(entry) & settings.keys():
        return entry
    return type(entry).model_validate(_replaced(entry.model_dump(), settings))


def _filled(data: Any, at: Situation) -> Any:  # noqa: ANN401  (any data of a model)
    values: dict[str, str] = {}
    for name in {name for text in _texts(data) for name in VALUE.findall(text)}:
        value = at.settings[name] if name in at.settings else VALUES[name](at)
        if isinstance(value, Unknown):
            raise ValueUnknown(name, value)
        values[name] = value
    return _replaced(data, values)


def _texts(data: object) -> list[str]:
    if isinstance(data, str):
        return [data]
    if isinstance(data, Mapping):
        return [text for pair in data.items() for part in pair for text in _texts(part)]
    return [text for part in data for text in _texts(part)] if isinstance(data, (list, tuple)) else []


def _replaced(data: Any, values: Mapping[str, str]) -> Any:  # noqa: ANN401
    if isinstance(data, str):
        return VALUE.sub(lambda found: values.get(found[1], found[0]), data)
    if isinstance(data, Mapping):
        return {_replaced(key, values): _replaced(value, values) for key, value in data.items()}
    return type(data)(_replaced(part, values) for part in data) if isinstance(data, (list, tuple)) else data
