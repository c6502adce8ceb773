"""What our ssh_config makes of the user's, as `ssh -G` sees it."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

from inventory.sshconfig import read
from inventory.transport.strictconfig import strict_arguments

if TYPE_CHECKING:
    from pathlib import Path


def seen_by_ssh(folder: Path, *arguments: str, answer: str = "") -> set[str]:
    options = read("tray1", arguments, answer)
    command = ["ssh", *strict_arguments(folder, options), "-G", "tray1"]
    return set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines())


def test_users_settings_cannot_weaken_ours_and_the_rest_of_them_counts(tmp_path: Path) -> None:
    users = tmp_path / "users config"
    users.write_text(
        "Host *\n  StrictHostKeyChecking no\n  BatchMode no\n  ForwardAgent yes\n  ServerAliveInterval 0\n"
        "Host tray1\n  HostName 10.1.2.3\n  Port 2222\n"
    )
    seen = seen_by_ssh(tmp_path, "-F", str(users), "-l", "me")
    assert {"stricthostkeychecking true", "batchmode yes", "forwardagent no", "serveraliveinterval 5"} <= seen
    assert {"hostname 10.1.2.3", "port 2222", "user me"} <= seen


def test_the_users_connect_timeout_is_kept(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("")
    seen = seen_by_ssh(tmp_path, "-F", str(tmp_path / "mine"), answer="connecttimeout 77\n")
    assert "connecttimeout 77" in seen
    assert "connecttimeout 10" in seen_by_ssh(tmp_path, "-F", str(tmp_path / "mine"))


def test_without_a_file_of_the_host_the_usual_ones_are_included(tmp_path: Path) -> None:
    strict_arguments(tmp_path, read("tray1", (), ""))
    included = [line for line in (tmp_path / "config").read_text().splitlines() if line.startswith("Include")]
    assert included[-1] == 'Include "/etc/ssh/ssh_config"'
    assert included[0].endswith('/.ssh/config"')
    assert "~" not in included[0]
