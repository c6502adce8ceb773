"""Login shells and what they say unasked."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from inventory.errors import HostUnreachable

if TYPE_CHECKING:
    from collections.abc import Callable

    from inventory.transport.framed import FramedTransport
    from tests.sshd.conftest import Server

pytestmark = [pytest.mark.sshd, pytest.mark.parametrize("kind", ["ssh", "openssh"])]

NOISY = """#!/bin/sh
printf 'Welcome to tray1!\\nbringup-0123 begin\\nno newline'
echo 'a warning' >&2
{shell} -c "$SSH_ORIGINAL_COMMAND"
status=$?
echo 'logout'
exit $status
"""


def forced(folder: Path, text: str) -> str:
    """A ForceCommand that runs this shell script in place of the login shell."""
    program = folder / "login"
    program.write_text(text)
    program.chmod(0o755)
    return f"ForceCommand {program}"


@pytest.mark.parametrize("shell", ["sh", "bash", "zsh", "fish", "tcsh"])
def test_noise_of_any_login_shell_stays_apart(
    make_server: Callable[..., Server],
    login: Callable[..., FramedTransport],
    tmp_path: Path,
    kind: str,
    shell: str,
) -> None:
    if not shutil.which(shell):
        pytest.skip(f"no {shell} here")
    server = make_server(forced(tmp_path, NOISY.format(shell=shell)))
    transport = login(server.host(kind))
    completed = transport.run("echo out; echo err >&2; exit 5", timeout=30)
    assert (completed.stdout, completed.stderr, completed.exit_status) == (b"out\n", b"err\n", 5)
    assert completed.noise.startswith(b"Welcome to tray1!\nbringup-0123 begin\nno newline")
    transport.put(b"\0\xff", str(tmp_path / "file"))
    assert transport.get(str(tmp_path / "file")) == b"\0\xff"


def test_a_login_that_runs_no_shell_says_what_it_said(
    make_server: Callable[..., Server], login: Callable[..., FramedTransport], tmp_path: Path, kind: str
) -> None:
    text = "#!/bin/sh\necho 'This account is currently not available.'\nexit 1\n"
    transport = login(make_server(forced(tmp_path, text)).host(kind))
    with pytest.raises(HostUnreachable, match="does not run /bin/sh") as caught:
        transport.run("echo never", timeout=20)
    assert caught.value.id == "no-shell"
    assert "This account is currently not available." in caught.value.observed
