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

# What the hub's client says when it gives up, in the order of what decides. Tried against huggingface_hub 2.4.
SAID = (
    ("disk-full", r"No space left on device|Disk quota exceeded|os error 28"),
    ("clock-wrong", r"certificate is not yet valid|certificate has expired"),  # OpenSSL; below: rustls, for hf-xet
    ("clock-wrong", r"certificate not valid yet|certificate expired|NotValidYet|certificate: Expired|CertExpired"),
    ("hub-certificate", r"CERTIFICATE_VERIFY_FAILED|certificate verify failed|invalid peer certificate|UnknownIssuer"),
    ("hub-gated", r"403 Forbidden|Access denied|requires approval|GatedRepo|Cannot access gated repo"),
    ("hub-unauthorized", r"401 Unauthorized|401 Client Error|Invalid (user )?(token|credentials)"),
    ("hub-revision-gone", r"Revision not found|RevisionNotFound"),
    ("hub-not-found", r"404 Not Found|404 Client Error|File not found|EntryNotFound|' not found\."),
    ("hub-rate-limited", r"429 Too Many|429 Client Error|[Rr]ate.?limit"),
    ("hub-unavailable", r"\b50[0-9] (Server|Internal|Bad|Service|Gateway)|Server error '5"),
    ("hub-unreachable", r"ConnectError|ConnectTimeout|not known|Connection refused|unreachable|timed out|resolution"),
    ("hub-unreachable", r"nternet connection|peer closed connection|Consistency check failed"),
)
NO_USE_AGAIN = frozenset(
    {
        *("disk-full", "clock-wrong", "hub-certificate", "hub-gated", "hub-unauthorized"),
        *("hub-revision-gone", "hub-not-found"),
    }
)


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


def named(said: str) -> tuple[str, str]:
    """The id of what a download tool gave up for, and its own line about it."""
    for name, pattern in SAID:
        found = re.search(rf"[^\r\n]*(?:{pattern})[^\r\n]*", said)
        if found:
            return name, found[0].strip()
    lines = [one.strip() for one in said.splitlines() if one.strip()]
    return "fetch-failed", lines[-1] if lines else "the download tool said nothing"


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
