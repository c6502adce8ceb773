"""What an inventory says: `Host` and `Inventory`, which the rest works with, and the shape of `hosts.yaml`.

`Host` validates whatever makes it (YAML, an Ansible inventory, the command line), so that no name, user or
address that ssh or a shell could read as something else exists further inside.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from inventory import names
from inventory.errors import raise_all
from inventory.quoting import quote
from inventory.secret import Url
from inventory.select import HELP, Listed, select

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from inventory.errors import BringupError

DEFAULT_STATE_DIR = "/var/lib/bringup"


def _url(value: Url) -> Url:
    names.url(value.reveal())
    return value


def _number_as_text(value: object) -> object:
    return str(value) if type(value) is int else value


HostName: TypeAlias = Annotated[str, AfterValidator(names.host_name)]
Address: TypeAlias = Annotated[str, AfterValidator(names.address)]
FabricAddress: TypeAlias = Annotated[str, AfterValidator(names.fabric_address)]
Interface: TypeAlias = Annotated[str, AfterValidator(names.interface)]
User: TypeAlias = Annotated[str, AfterValidator(names.user)]
Port: TypeAlias = Annotated[int, AfterValidator(names.port)]
FilePath: TypeAlias = Annotated[str, AfterValidator(names.file_path)]
Jump: TypeAlias = Annotated[str, AfterValidator(names.jump)]
StateDir: TypeAlias = Annotated[str, AfterValidator(names.state_dir)]
Registry: TypeAlias = Annotated[str, AfterValidator(names.registry)]
HttpUrl: TypeAlias = Annotated[Url, AfterValidator(_url)]
KeyPlace: TypeAlias = Annotated[str, AfterValidator(names.key_place)]
Fingerprint: TypeAlias = Annotated[str, AfterValidator(names.fingerprint)]
Variable: TypeAlias = Annotated[str, AfterValidator(names.variable)]
VariableValue: TypeAlias = Annotated[str, BeforeValidator(_number_as_text), AfterValidator(names.variable_value)]
TransportName: TypeAlias = Literal["auto", "ssh", "openssh", "local"]


class Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True, defer_build=True)


class Repository(Strict):
    """A repository of packages of the operating system: its address, and the one key that may sign it.

    `key`: a file of this machine, or the address of one. Nothing is taken from a repository without `fingerprint`.
    """

    url: HttpUrl
    key: KeyPlace | None = None
    fingerprint: Fingerprint | None = None


def _repository(value: object) -> object:
    return {"url": value} if isinstance(value, (str, Url)) else value


PackageSource: TypeAlias = Annotated[Repository, BeforeValidator(_repository)]


class Mirrors(Strict):
    """Where downloads come from instead of the public places; None: the public place.

    There is no public place for the repositories at the end: without an address nothing is installed from them.
    """

    pypi: HttpUrl | None = None  # index of Python packages
    torch: HttpUrl | None = None  # index of PyTorch's own wheels
    python: HttpUrl | None = None  # builds of Python that are complete in one folder
    hub: HttpUrl | None = None  # model hub endpoint
    registry: Registry | None = None  # host[:port][/path] of a container registry
    cuda: PackageSource | None = None  # folder with a folder for each system: ubuntu2404/x86_64
    nvidia_container: PackageSource | None = None  # of the container toolkit, where `cuda` does not have it
    rocm: PackageSource | None = None
    amdgpu: PackageSource | None = None

    @property
    def repositories(self) -> dict[str, Repository]:
        """Those of packages that have an address, by name."""
        return {name: value for name, value in self if isinstance(value, Repository)}


class Settings(Strict):
    """What hosts, groups and defaults may say. None and empty: not said here."""

    user: User | None = None
    port: Port | None = None
    identity_file: FilePath | None = None
    jump: Jump | None = None
    ssh_config: FilePath | None = None
    transport: TransportName | None = None
    fabric_interface: Interface | None = None
    state_dir: StateDir | None = None
    mirrors: Mirrors = Mirrors()
    proxy: HttpUrl | None = None
    no_proxy: tuple[str, ...] = ()
    internet: bool | None = None
    env: dict[Variable, VariableValue] = {}


class HostEntry(Settings):
    """One entry below `hosts:`."""

    address: Address | None = None
    fabric_address: FabricAddress | None = None


class GroupEntry(Strict):
    """One entry below `groups:`; `hosts` is a selection of hosts of this file."""

    hosts: str | tuple[str, ...] = ()
    children: tuple[HostName, ...] = ()
    vars: Settings = Settings()


class Hook(Strict):
    """A command that may follow a deploy. `run`: a program and its words; `always`: without being named too."""

    run: tuple[str, ...] = Field(min_length=1)
    always: bool = False
    deadline_s: float = Field(default=300.0, gt=0)


class InventoryFile(Strict):
    """`hosts.yaml` as it is written."""

    defaults: Settings | None = None
    hosts: dict[str, HostEntry | None] | None = None
    groups: dict[HostName, GroupEntry | None] | None = None
    hooks: dict[HostName, Hook] | None = None


def _address_of(data: dict[str, Any]) -> str:
    return str(data.get("name", ""))


def _transport_of(data: dict[str, Any]) -> TransportName:
    return "local" if data.get("name") in names.LOCAL_NAMES else "auto"


class Host(Strict):
    """One host with everything decided. None: what ssh's own configuration says.

    `address` is what ssh is given (a name of ssh_config, DNS or an IP address). `fabric_address` and
    `fabric_interface` are where ranks talk to each other, None: found by probing. `internet`: whether it reaches the
    sources of downloads itself, None: it is tried. `env` is added to the environment of everything that bringup starts.
    """

    name: HostName
    address: Address = Field(default_factory=_address_of)
    user: User | None = None
    port: Port | None = None
    identity_file: FilePath | None = None
    jump: Jump | None = None
    ssh_config: FilePath | None = None
    transport: TransportName = Field(default_factory=_transport_of)
    fabric_address: FabricAddress | None = None
    fabric_interface: Interface | None = None
    state_dir: StateDir = DEFAULT_STATE_DIR
    mirrors: Mirrors = Mirrors()
    proxy: HttpUrl | None = None
    no_proxy: tuple[str, ...] = ()
    internet: bool | None = None
    env: tuple[tuple[Variable, VariableValue], ...] = ()


def make_host(name: str, *layers: Settings) -> Host:
    """The host `name` with what `layers` say, later ones first; `mirrors` and `env` are merged key by key."""
    said: dict[str, Any] = {}
    mirrors: dict[str, Any] = {}
    env: dict[str, str] = {}
    for layer in layers:
        said |= {key: getattr(layer, key) for key in layer.model_fields_set if getattr(layer, key) is not None}
        mirrors |= {key: value for key, value in layer.mirrors if value is not None}
        env |= layer.env
    if name in names.LOCAL_NAMES:  # only its own entry can send this machine through ssh
        own = layers[-1].transport if layers and isinstance(layers[-1], HostEntry) else None
        said["transport"] = own or "local"
    return Host(name=name, **{**said, "mirrors": Mirrors(**mirrors), "env": tuple(env.items())})


def _nobody_asks_ssh(_name: str) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Inventory:
    """All hosts and groups, in the order of the file; `groups` maps each to the hosts in it and below it.

    `defaults` also hold for selected hosts that are not listed. `refused`: hosts that are listed but cannot be used,
    with the reason, raised when they are selected. `warnings`: what an operator should know, one line each.
    `mentions` tells whether ssh_config says something of a name.
    """

    hosts: dict[str, Host] = field(default_factory=dict)
    groups: dict[str, tuple[str, ...]] = field(default_factory=dict)
    defaults: Settings = field(default_factory=Settings)
    source: Path | None = None
    warnings: tuple[str, ...] = ()
    refused: dict[str, BringupError] = field(default_factory=dict)
    mentions: Callable[[str], bool] = _nobody_asks_ssh
    hooks: dict[str, Hook] = field(default_factory=dict)

    def resolve(self, selection: str) -> tuple[Host, ...]:
        """The hosts that `selection` names (see `inventory.select`), each once and in its order.

        A host that is not listed is what ssh says of it, with the inventory's defaults. Raises `BadInput`.
        """
        edit = f"${{EDITOR:-vi}} {quote(self.source)}" if self.source else HELP
        listed = Listed({**self.hosts, **self.refused}, self.groups, self.mentions, edit)
        chosen = select(selection, listed)
        raise_all([self.refused[name] for name in chosen if name in self.refused])
        return tuple(self.hosts.get(name) or make_host(name, self.defaults) for name in chosen)
