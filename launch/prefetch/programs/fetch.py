"""Bring this host's share of a revision into its folder, and verify it: `python3 -m programs.fetch SPEC.json`.

Goes on where it was cut off. A file that is not as listed is thrown away and fetched again, that file alone. SPEC: see
`launch/prefetch/job.py`, which writes it.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any, NoReturn

from .client import Download, hub_env, hub_words
from .ended import Ended, say
from .folder import CANCEL, FULL, Folder, write
from .naming import NO_USE_AGAIN, named
from .verify import faults

OFTEN = 3
LEAST_TO_TELL = 50_000_000
"""Bytes."""
LONGEST_PAUSE_S = 60.0


def fetch(spec: dict[str, Any], folder: Folder, mine: Sequence[str]) -> None:
    """Until all of `mine` is here and right. Raises `Ended`."""
    bad: dict[str, int] = {}
    failures = 0
    while True:
        _throw_away_wrong(folder, mine, bad)
        missing = [path for path in mine if not folder.is_verified(path)]
        if not missing:
            return
        for path in missing:
            if bad.get(path, 0) >= OFTEN:
                raise Ended("weights-changed", f"{path} came {bad[path]} times and was never as the source listed it")
        refuse_full_disk(folder, missing, spec)
        before = folder.there(mine)
        failure = _tried(spec, folder, mine, missing)
        if failure is None:
            continue
        failures = 1 if folder.there(mine) > before else failures + 1
        say(f"{failure.name}: {failure.seen}")
        if failure.name in NO_USE_AGAIN or failures >= spec["tries"]:
            raise failure
        time.sleep(min(spec["pause_s"] * 2 ** (failures - 1), LONGEST_PAUSE_S))


def _throw_away_wrong(folder: Folder, mine: Sequence[str], bad: dict[str, int]) -> None:
    for path, fault in faults(folder, [one for one in mine if (folder.root / one).exists()]).items():
        say(f"{path} {fault}: it is fetched again")
        folder.forget(path)
        bad[path] = bad.get(path, 0) + 1


def _tried(spec: dict[str, Any], folder: Folder, mine: Sequence[str], missing: Sequence[str]) -> Ended | None:
    """One run of the download tool. Returns why it did not bring everything."""
    hub = spec["origin"] == "hub"
    words = hub_words(spec, folder, missing) if hub else _own_words(spec, folder, missing)
    download = Download(words, hub_env(spec, folder) if hub else os.environ, folder.work / "log")
    if not download.follow(folder, mine, stall_s=spec["stall_s"], rate=spec["rate"]):
        name, seen = named(download.said())
        stalled = Ended("hub-stalled", f"no byte came for {spec['stall_s']:g} s")
        return stalled if name == "fetch-failed" else Ended(name, seen)  # it was still trying
    if download.process.returncode == 0 and all((folder.root / path).exists() for path in missing):
        return None
    return Ended(*named(download.said()))


def _own_words(spec: dict[str, Any], folder: Folder, paths: Sequence[str]) -> list[str]:
    pulls = [[spec["urls"][p], str(folder.root / p), str(folder.part(p)), folder.files[p]["size"]] for p in paths]
    told = {"pulls": pulls, "token": str(folder.work / "token"), "proxy": spec["proxy"]}
    write(folder.work / "pull.json", json.dumps(told))
    return [sys.executable, "-m", f"{__package__}.pull", str(folder.work / "pull.json")]


def refuse_full_disk(folder: Folder, missing: Sequence[str], spec: dict[str, Any]) -> None:
    left = folder.size_of(missing) - folder.there(missing)
    free = shutil.disk_usage(folder.root).free
    if left + spec["keep_free"] > free:
        raise Ended("disk-full", f"{free / 1e9:.2f} GB are free, {left / 1e9:.2f} GB are still to come")


def link(spec: dict[str, Any], folder: Folder, mine: Sequence[str]) -> None:
    """Files of a disk that all hosts see: here as links to it. One host reads them all, the others trust it."""
    for path in mine:
        target, here = Path(spec["from"]) / path, folder.root / path
        here.parent.mkdir(parents=True, exist_ok=True)
        if not here.is_symlink() or here.readlink() != target:
            new = folder.work / "link"
            new.unlink(missing_ok=True)
            new.symlink_to(target)
            new.replace(here)
        if spec["trusted"] and here.exists():
            folder.trust(path)
    verified(folder, mine)


def verified(folder: Folder, mine: Sequence[str]) -> None:
    """Everything is here and right. Raises `Ended`; what is wrong is thrown away, what is right is kept."""
    for path in mine:
        folder.take_part(path)
    wrong = faults(folder, mine)
    for path in wrong:
        folder.forget(path)
    for path, fault in wrong.items():
        raise Ended("weights-incomplete", f"{path} {fault}; {len(wrong)} of {len(mine)} files in all")


def _locked(folder: Folder) -> IO[str]:
    """One process at a time fills a folder."""
    stream = (folder.work / "lock").open("w")
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise Ended("prefetch-running", f"another process fills {folder.root}") from None
    return stream


def work(spec: dict[str, Any]) -> None:
    folder = Folder(spec["folder"], spec["manifest"])
    mine = list(folder.files) if spec["mine"] is None else spec["mine"]
    began, before = time.monotonic(), folder.there(mine)
    with _locked(folder):
        (folder.work / CANCEL).unlink(missing_ok=True)
        if not all(folder.is_verified(path) for path in mine):
            folder.keep()
            folder.unsealed()
        {"link": link, "none": lambda _, *rest: verified(*rest)}.get(spec["origin"], fetch)(spec, folder, mine)
        if all(folder.is_verified(path) for path in folder.files):
            folder.seal()
        write(folder.work / "done", spec["run"])
        _keep_rate(spec, folder.there(mine) - before, time.monotonic() - began)


def _keep_rate(spec: dict[str, Any], size: int, seconds: float) -> None:
    """What came from outside, and how fast: the next plan says by it how long it will take."""
    if spec["rate_file"] and size > LEAST_TO_TELL and seconds > 1:
        write(Path(spec["rate_file"]), f"{size / seconds:.0f}\n")


def main() -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # cleans up as any end does
    spec = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    try:
        work(spec)
    except Ended as error:
        _end(error)
    except OSError as error:
        _end(Ended("disk-full" if error.errno in FULL else "fetch-failed", error))
    finally:
        (Path(spec["folder"]) / ".cache/bringup/token").unlink(missing_ok=True)


def _end(error: Ended) -> NoReturn:
    say(f"outcome\t{error.name} {error.seen}")
    sys.exit(1)


if __name__ == "__main__":
    main()
