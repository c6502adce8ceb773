"""An ssh_config of ours in front of the user's, for every ssh process that we start and those that it starts.

ssh hands `-F` on to the processes of jump hosts, but not `-o`: only a file makes those check keys strictly and ask
nothing, too. The first value that ssh reads wins, so the user's own files follow by `Include`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from inventory.sshpaths import expand_home

if TYPE_CHECKING:
    from pathlib import Path

    from inventory.sshconfig import SshOptions

ALIVE_S, ALIVE_COUNT = 5, 3
CONNECT_S = 10

_USUAL = ("~/.ssh/config", "/etc/ssh/ssh_config")


def strict_arguments(folder: Path, options: SshOptions) -> tuple[str, ...]:
    """Write the file into `folder`; returns the ssh arguments, before the target, that use it."""
    words = options.arguments
    included: tuple[str, ...] = _USUAL
    if words[:1] == ("-F",):
        included, words = words[1:2], words[2:]
    path = folder / "config"
    path.write_text(_text(included, options.connect_timeout or CONNECT_S))
    return ("-F", str(path), *words)


def strict_options(options: SshOptions) -> tuple[str, ...]:
    """The same as ssh arguments, for a host without jump hosts: no file is needed."""
    settings = _settings(options.connect_timeout or CONNECT_S)
    return tuple(word for setting in settings for word in ("-o", setting.replace(" ", "=", 1)))


def _text(included: tuple[str, ...], connect_s: int) -> str:
    lines = [*_settings(connect_s), *(f'Include "{expand_home(path)}"' for path in included)]
    return "\n".join(lines) + "\n"


def _settings(connect_s: int) -> tuple[str, ...]:
    return (
        "BatchMode yes",
        "StrictHostKeyChecking yes",
        "UpdateHostKeys no",
        f"ConnectTimeout {connect_s}",
        f"ServerAliveInterval {ALIVE_S}",
        f"ServerAliveCountMax {ALIVE_COUNT}",
        "ForwardAgent no",
        "ForwardX11 no",
        "PermitLocalCommand no",
        "LogLevel INFO",
    )
