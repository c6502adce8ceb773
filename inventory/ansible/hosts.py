"""From the variables of an Ansible host to a `Host`, or the reason why there is none."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from pydantic import ValidationError

from inventory.ansible import sshargs
from inventory.document import short
from inventory.errors import BadInput
from inventory.quoting import quote
from inventory.schema import Host
from inventory.secret import HIDDEN
from inventory.yamlfile import Tagged

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

NAMES: Final[dict[str, tuple[str, ...]]] = {
    "address": ("ansible_host", "ansible_ssh_host"),
    "port": ("ansible_port", "ansible_ssh_port"),
    "user": ("ansible_user", "ansible_ssh_user"),
    "identity_file": ("ansible_ssh_private_key_file", "ansible_private_key_file"),
    "connection": ("ansible_connection",),
    **{
        name: (f"bringup_{name}",)
        for name in ("transport", "jump", "ssh_config", "fabric_address", "fabric_interface", "state_dir", "proxy")
    },
}
"""Settings of `Host` and the variables that say them, the first that is there counting."""

_ARGUMENTS: Final = ("ansible_ssh_args", "ansible_ssh_common_args", "ansible_ssh_extra_args")
_PASSWORD: Final = re.compile(r"ansible_(?:\w+_)?pass(?:word)?")
_CONNECTIONS: Final[dict[str, str | None]] = {
    "ssh": None,
    "smart": None,
    "paramiko": None,
    "paramiko_ssh": None,
    "local": "local",
}


@dataclass(slots=True)
class Translator:
    """Makes hosts; `notes` collects what was left out, with the hosts that it was left out for."""

    source: Path
    notes: dict[str, list[str]] = field(default_factory=dict)

    def host(self, name: str, variables: Mapping[str, object]) -> Host:
        """The host that the variables describe; raises `BadInput` when a variable that counts cannot be used."""
        said: dict[str, object] = dict(self._texts(name, variables))
        for variable in variables:
            if _PASSWORD.fullmatch(variable):
                self.note(name, "passwords are not used: keys log in, and sudo must not ask")
        self._connect(name, said)
        self._complete(name, said)
        try:
            return Host.model_validate({"name": name, **said})
        except ValidationError as error:
            first = error.errors()[0]
            key = str(first["loc"][0])
            shown = HIDDEN if key == "proxy" else str(said.get(key, name))
            required = first["msg"].removeprefix("Value error, ")
            raise self.refusal(name, _variable(key, variables), shown, required) from None

    def note(self, host: str, text: str) -> None:
        hosts = self.notes.setdefault(text, [])
        if host not in hosts:
            hosts.append(host)

    def refusal(self, name: str, variable: str, observed: str, required: str) -> BadInput:
        return BadInput(
            f"{variable} of this host in {self.source} cannot be used",
            id="ansible-inventory",
            observed=short(observed),
            required=required,
            next_command=f"ansible-inventory -i {quote(self.source)} --host {quote(short(name))}",
            host=short(name),
        )

    def _texts(self, name: str, variables: Mapping[str, object]) -> Iterator[tuple[str, str]]:
        for variable in _ARGUMENTS:
            if variables.get(variable) is not None:
                yield from self._reach(name, variable, variables[variable])
        for key, choices in NAMES.items():
            present = [one for one in choices if variables.get(one) is not None]
            if present:
                yield key, self._text(name, present[0], variables[present[0]])

    def _reach(self, name: str, variable: str, value: object) -> Iterator[tuple[str, str]]:
        text = self._text(name, variable, value)
        try:
            found, unused = sshargs.read(text)
        except ValueError as error:
            raise self.refusal(name, variable, text, str(error)) from None
        for one in unused:
            self.note(name, f"the ssh argument {one} is not used; ssh_config can say it")
        yield from found.items()

    def _text(self, name: str, variable: str, value: object) -> str:
        if isinstance(value, Tagged):
            if value.tag != "!unsafe":
                raise self.refusal(name, variable, f"a value with the tag {value.tag}", "a plain value")
            value = value.text
        if isinstance(value, bool) or not isinstance(value, (str, int)):
            raise self.refusal(name, variable, type(value).__name__, "text or a number")
        text = str(value)
        if re.search(r"\{[{%]", text):
            raise self.refusal(name, variable, f"the template {text}", "a plain value: templates are not evaluated")
        if text.startswith("$ANSIBLE_VAULT"):
            raise self.refusal(name, variable, "an encrypted value", "a plain value")
        return text

    def _connect(self, name: str, said: dict[str, object]) -> None:
        connection = str(said.pop("connection", "ssh"))
        if connection.rpartition(".")[2] not in _CONNECTIONS:
            raise self.refusal(name, "ansible_connection", connection, f"one of {', '.join(_CONNECTIONS)}")
        transport = _CONNECTIONS[connection.rpartition(".")[2]]
        if transport:
            said.setdefault("transport", transport)

    def _complete(self, name: str, said: dict[str, object]) -> None:
        """Ports become numbers, and paths beside the inventory whole."""
        port = said.get("port")
        if port is not None:
            if not re.fullmatch(r"[0-9]{1,5}", str(port)):
                raise self.refusal(name, "ansible_port", str(port), "a TCP port, 1 to 65535")
            said["port"] = int(str(port))
        for key in ("identity_file", "ssh_config"):
            path = str(said.get(key, "/"))
            if not path.startswith(("/", "~")):
                said[key] = str(self.source.parent.absolute() / path)


def _variable(key: str, variables: Mapping[str, object]) -> str:
    return next((one for one in (*NAMES.get(key, ()), *_ARGUMENTS) if one in variables), key)
