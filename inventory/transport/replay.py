"""A host of saved answers: for tests, and for looking again at what a host said without asking it."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inventory.errors import BadInput
from inventory.transport import filescripts
from inventory.transport.base import Completed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from inventory.transport.base import Stream

FORMAT_VERSION = 1
_PARTS = ("stdout", "stderr", "noise")


class ReplayTransport:
    """Answers each script with what `save` stored for it below `folder`, and refuses every other one."""

    def __init__(self, host: str, folder: Path) -> None:
        self._host = host
        self._folder = folder

    @property
    def host(self) -> str:
        return self._host

    def run(self, script: str, *, timeout: float, sudo: bool = False, on_stdout: Stream | None = None) -> Completed:
        """The saved answer; `timeout` means nothing here, and a stream comes as one piece."""
        del timeout
        answer = _place(self._folder, script, sudo=sudo)
        if not answer.is_dir():
            raise self._refused(f"no answer to the script {answer.name}")
        completed = _load(answer)
        if on_stdout and completed.stdout:
            on_stdout(completed.stdout)
        return completed

    def put(self, data: bytes, path: str, *, mode: int = 0o600) -> None:
        raise self._refused(f"writing {path} ({len(data)} bytes, mode {mode:o}): saved answers cannot change")

    def append(self, pieces: Iterable[bytes], path: str, *, deadline_s: float) -> None:
        del pieces
        raise self._refused(f"writing {path} (within {deadline_s:g} s): saved answers cannot change")

    def get(self, path: str) -> bytes:
        completed = self.run(filescripts.get_script(path), timeout=filescripts.CHUNK_DEADLINE_S)
        if completed.exit_status != 0:
            raise filescripts.get_failed(self._host, path, completed)
        return completed.stdout

    def close(self) -> None:
        """Nothing is open."""

    def _refused(self, observed: str) -> BadInput:
        return BadInput(
            "these saved answers do not hold that one",
            id="replay",
            observed=observed,
            required=f"a folder below {self._folder} that was saved for exactly this script",
            next_command="save the answers again with this version, or ask the host itself",
            host=self._host,
        )


def save(folder: Path, script: str, completed: Completed, *, sudo: bool = False) -> Path:
    """Store the answer to `script` below `folder`, as readable files; returns where."""
    answer = _place(folder, script, sudo=sudo)
    answer.mkdir(parents=True, exist_ok=True)
    (answer / "script").write_bytes(script.encode("utf-8", errors="surrogateescape"))
    for part in _PARTS:
        (answer / part).write_bytes(getattr(completed, part))
    facts = {
        "format_version": FORMAT_VERSION,
        "exit_status": completed.exit_status,
        "seconds": completed.seconds,
        "sudo": sudo,
    }
    (answer / "answer.json").write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
    return answer


def _place(folder: Path, script: str, *, sudo: bool) -> Path:
    text = script.encode("utf-8", errors="surrogateescape")
    return folder / hashlib.sha256((b"sudo\n" if sudo else b"user\n") + text).hexdigest()[:24]


def _load(answer: Path) -> Completed:
    facts: dict[str, Any] = json.loads((answer / "answer.json").read_text(encoding="utf-8"))
    parts = {part: (answer / part).read_bytes() for part in _PARTS}
    return Completed(exit_status=int(facts["exit_status"]), seconds=float(facts["seconds"]), **parts)
