"""Two hosts that are this machine, each with a state dir of its own, and `install` as an operator types it."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from inventory import fanout
from inventory.errors import BringupError
from inventory.transport.base import Completed, Stream
from inventory.transport.local import LocalTransport
from launch.flags import CHOICE, INSTALL, SETTINGS
from launch.verbs import installing

BOOK = """\
about: two files, a link and a command
settings:
  word: {about: what a file says, default: first}
steps:
  - {id: folder, kind: directory, why: w, path: BASE/f, phase: prepare}
  - {id: text, kind: file, why: w, path: BASE/f/text, content: "it is {{word}}\\n"}
  - {id: link, kind: symlink, why: w, path: BASE/link, target: BASE/f}
  - id: made
    kind: command
    why: w
    phase: services
    run: [cp, BASE/f/text, BASE/made]
    unless: [cmp, BASE/f/text, BASE/made]
    follows: [text]
"""


@dataclass
class Sent:
    """All scripts that went to hosts, by host."""

    scripts: dict[str, list[str]] = field(default_factory=dict)

    @property
    def text(self) -> str:
        return "\n".join(script for scripts in self.scripts.values() for script in scripts)


class Recording(LocalTransport):
    def __init__(self, host: str, sent: Sent) -> None:
        super().__init__(host)
        self._sent = sent

    def run(self, script: str, *, timeout: float, sudo: bool = False, on_stdout: Stream | None = None) -> Completed:
        self._sent.scripts.setdefault(self.host, []).append(script)
        return super().run(script, timeout=timeout, sudo=sudo, on_stdout=on_stdout)


@dataclass
class Operator:
    """`base`: what the playbook is about. `sent`: since the last command."""

    base: Path
    book: Path
    sent: Sent

    def install(self, **flags: str | bool) -> int:
        """The exit code; errors as the operator gets them."""
        self.sent.scripts.clear()
        text = dict.fromkeys((*CHOICE, *SETTINGS, *INSTALL), "")
        switches = dict.fromkeys(("dry_run", "diff", "reboot", "json"), False)
        given = {"hosts": "a", "playbook": str(self.book), **flags}
        if given.get("apply"):
            given |= {"hosts": "", "playbook": ""}
        return installing.install(**{**text, **switches, **given})  # type: ignore[arg-type]

    def refused(self, **flags: str | bool) -> BringupError:
        with pytest.raises(BringupError) as caught:
            self.install(**flags)
        return caught.value


@pytest.fixture
def operator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Operator:
    if os.getuid() != 0:
        pytest.skip("entries of playbooks are root's business")
    hosts = "".join(f"  {name}: {{transport: local, state_dir: {tmp_path}/{name}-state}}\n" for name in "ab")
    (tmp_path / "hosts.yaml").write_text(f"hosts:\n{hosts}")
    monkeypatch.setenv("BRINGUP_INVENTORY", f"{tmp_path}/hosts.yaml")
    base = tmp_path / "base"
    base.mkdir()
    book = tmp_path / "book.yaml"
    book.write_text(BOOK.replace("BASE", str(base)))
    sent = Sent()
    recording: Callable[..., Recording] = lambda host, **_: Recording(host.name, sent)  # noqa: E731
    monkeypatch.setattr(fanout, "choose", recording)
    return Operator(base, book, sent)
