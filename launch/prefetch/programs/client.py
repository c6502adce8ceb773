"""The download tool as a process of its own: watched by what arrives on the disk, held back, named when it fails."""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .ended import say_progress
from .folder import Folder

TOLD_EVERY_S = 2.0
LOOK_EVERY_S = 0.1
LAST_BYTES = 20_000


class Brake:
    """Holds a group of processes still while they are ahead of `rate` bytes a second."""

    def __init__(self, rate: int | None, there: int) -> None:
        self.rate, self.base, self.began, self.held = rate, there, time.monotonic(), False

    def look(self, there: int, group: int) -> None:
        if not self.rate:
            return
        ahead = there - self.base > self.rate * (time.monotonic() - self.began)
        if ahead != self.held:
            os.killpg(group, signal.SIGSTOP if ahead else signal.SIGCONT)
            self.held = ahead


class Download:
    """One run of a download tool; it ends with this process, whatever ends that."""

    def __init__(self, words: Sequence[str], env: Mapping[str, str], log: Path) -> None:
        self.log = log
        with log.open("wb") as out:
            self.process = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                env=dict(env),
                start_new_session=True,
                preexec_fn=die_with_parent,  # noqa: PLW1509  (no thread runs here)
            )

    def follow(self, folder: Folder, mine: Sequence[str], *, stall_s: float, rate: int | None) -> bool:
        """Wait for its end. False: it brought nothing for `stall_s` seconds and was ended."""
        last, moved, told, total = folder.there(mine), time.monotonic(), 0.0, folder.size_of(mine)
        brake = Brake(rate, last)
        try:
            while self.process.poll() is None:
                time.sleep(LOOK_EVERY_S)
                now, size = time.monotonic(), folder.there(mine)
                brake.look(size, self.process.pid)
                if size != last or brake.held:
                    last, moved = size, now
                if now - told > TOLD_EVERY_S:
                    told = now
                    say_progress(folder.work, size, total, 0, "fetching")
                folder.refuse_cancelled()
                if now - moved > stall_s:
                    return False
            return True
        finally:
            self.end()

    def end(self) -> None:
        for number in (signal.SIGCONT, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, number)
        self.process.wait()

    def said(self) -> str:
        with self.log.open("rb") as stream:
            stream.seek(max(0, self.log.stat().st_size - LAST_BYTES))
            return re.sub(rb"\x1b\[[0-9;]*[A-Za-z]", b"", stream.read()).decode(errors="replace")


def _token_of(folder: Folder) -> Path:
    """The token that came with the job, else the host's own."""
    ours = folder.work / "token"
    home = Path(os.environ.get("HF_HOME", "~/.cache/huggingface")).expanduser()
    return ours if ours.exists() else Path(os.environ.get("HF_TOKEN_PATH", home / "token"))


def die_with_parent() -> None:
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def hub_words(spec: dict[str, Any], folder: Folder, paths: Sequence[str]) -> list[str]:
    listed = folder.manifest
    place = ["--revision", listed["commit"], "--local-dir", str(folder.root)]
    return [*spec["hf"], "download", listed["repo"], *paths, *place]


def hub_env(spec: dict[str, Any], folder: Folder) -> dict[str, str]:
    """This process's own variables without those that would send the client elsewhere, or nowhere."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "HUGGING"))}
    env["HF_TOKEN_PATH"] = str(_token_of(folder))  # a file: nobody reads it in a list of processes
    env["HF_HOME"], env["HF_XET_CACHE"] = str(folder.work / "hf"), str(folder.work / "xet")
    env["HF_HUB_DOWNLOAD_TIMEOUT"] = env["HF_HUB_ETAG_TIMEOUT"] = "30"
    for name in ("HF_HUB_DISABLE_TELEMETRY", "HF_HUB_DISABLE_PROGRESS_BARS", "NO_COLOR", "DO_NOT_TRACK"):
        env[name] = "1"
    if spec["endpoint"]:
        env["HF_ENDPOINT"] = spec["endpoint"]
    if spec["proxy"]:
        env["http_proxy"] = env["https_proxy"] = spec["proxy"]
        env["no_proxy"] = spec["no_proxy"]
    return env
