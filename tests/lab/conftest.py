"""Labs for tests: each has a name of its own and is taken down again, whatever happens to the test."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest

from inventory.errors import BadInput, CheckFailed
from inventory.lab import access, lifecycle, prerequisites
from inventory.lab.state import Lab

MakeLab = Callable[..., Lab]


@pytest.fixture(scope="module", autouse=True)
def own_state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keys and records that verbs keep on the control machine, beside none of another run's or of a person's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


@pytest.fixture(scope="session")
def machine_carries_labs() -> None:
    try:
        prerequisites.check()
    except CheckFailed as error:
        pytest.skip(f"no lab on this machine: {error.message} ({error.observed})")


@pytest.fixture(scope="module")
def make_lab(machine_carries_labs: None) -> Iterator[MakeLab]:  # noqa: ARG001  (asked first)
    made: list[str] = []

    def make(hosts: int, profile: str = "cpu", **options: Any) -> Lab:  # noqa: ANN401  (those of `up`)
        made.append(f"test-{os.getpid()}-{len(made)}")
        return lifecycle.up(hosts, profile, name=made[-1], **options)

    yield make
    for name in made:
        with suppress(BadInput):  # the test took it down itself
            lifecycle.down(name)


def on(lab: Lab, host: str, command: str, *, timeout_s: float = 30) -> subprocess.CompletedProcess[str]:
    """Run a shell command on a lab host by OpenSSH."""
    argv = ["ssh", "-o", "ConnectTimeout=3", *access.ssh(lab, host, [command])[1:]]
    return subprocess.run(argv, capture_output=True, text=True, timeout=timeout_s, check=False)
