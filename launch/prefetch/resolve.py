"""The manifest of what is wanted: from a host that has it, from the hub, from ModelScope, or of a folder."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from inventory.errors import BadInput, ChangeFailed, CheckFailed
from inventory.quoting import quote
from inventory.secret import Url
from launch.prefetch import hub, modelscope
from launch.prefetch.job import laid_down
from launch.prefetch.look import Seen
from launch.prefetch.manifest import Manifest, ManifestFile, is_inside
from launch.prefetch.programs.ended import Ended
from launch.prefetch.programs.listing import listed
from launch.prefetch.source import DEFAULT_MODELSCOPE, Fetch, Origin, Source

if TYPE_CHECKING:
    from inventory.fleet import Fleet
    from inventory.schema import Host
    from inventory.secret import Secret
    from inventory.transport.base import Transport
    from launch.prefetch.wanted import WantedWeights

LIST_S = 24 * 3600.0
MAIN = "main"


def endpoint_of(host: Host) -> Url | None:
    """The hub that a host asks: the inventory's, else HF_ENDPOINT of this machine; None: the public one."""
    told = os.environ.get("HF_ENDPOINT", "").strip().rstrip("/")
    return host.mirrors.hub or (Url(told) if told else None)


def modelscope_endpoint() -> str:
    return os.environ.get("MODELSCOPE_ENDPOINT", "").strip().rstrip("/") or DEFAULT_MODELSCOPE


def resolved(
    wanted: WantedWeights, source: Source, fetch: Fetch, fleet: Fleet, seen: Mapping[str, Seen], token: Secret | None
) -> Manifest:
    """Nobody outside is asked where a host has all of the pinned commit, verified. Raises why there is none."""
    for one in seen.values():
        if one.manifest and one.manifest.commit == wanted.commit and one.is_complete(one.manifest):
            return one.manifest
    if source.origin is Origin.HUB:
        host = next(iter(fleet.hosts.values()))
        return hub.resolve(wanted.repo, wanted.commit or MAIN, endpoint=endpoint_of(host), token=token)
    if wanted.commit is None:
        raise _commit_open(wanted.repo, source)
    if source.origin is Origin.MODELSCOPE:
        return modelscope.resolve(wanted.repo, wanted.commit, endpoint=modelscope_endpoint())
    assert source.folder  # noqa: S101  (what a folder is)
    if fetch is Fetch.PUSH:
        return _listed_here(wanted.repo, wanted.commit, source.folder)
    return _listed_there(wanted.repo, wanted.commit, source.folder, fleet, seen)


def _commit_open(repo: str, source: Source) -> BadInput:
    return BadInput(
        f"no commit is pinned for the weights of {repo}",
        id="commit-open",
        observed=f"neither the recipe nor --revision names one, and {source} has no commits of the hub",
        required="a commit of 40 hexadecimal digits, which names the folder on the hosts",
        next_command="the same command with --revision COMMIT, as the model's page on the hub shows it",
    )


def _listed_here(repo: str, commit: str, folder: str) -> Manifest:
    try:
        files = listed(Path(folder))
    except Ended as error:
        raise _folder_refused(error.name, error.seen, folder, "this machine") from None
    except OSError as error:
        raise _folder_refused("folder-unreadable", str(error), folder, "this machine") from None
    return _manifest(repo, commit, files, folder)


def _listed_there(repo: str, commit: str, folder: str, fleet: Fleet, seen: Mapping[str, Seen]) -> Manifest:
    """Read by the first host that has it: all of it, once."""
    host = next((name for name, one in seen.items() if one.has_source), None)
    if host is None:
        raise _folder_refused("folder-unreadable", "no such folder on any of the hosts", folder, ", ".join(seen))
    script = f"""work=$(mktemp -d) && trap 'rm -rf -- "$work"' EXIT
mkdir -p "$work/bin/programs"
{laid_down()}cd "$work/bin"
python3 -m programs.listing {quote(folder)}
"""

    def one(transport: Transport) -> tuple[int, str, str]:
        done = transport.run(script, timeout=LIST_S)
        return done.exit_status, done.text, done.stderr.decode(errors="replace")

    answer = fleet.each(one, [host])[host]
    if not isinstance(answer, tuple):
        raise answer
    status, text, said = answer
    if status != 0:
        name, _, detail = said.strip().rpartition("\n")[2].removeprefix("outcome\t").partition(" ")
        known = name in {"lfs-pointer", "folder-empty"}
        raise _folder_refused(name if known else "folder-unreadable", detail or said[-200:], folder, host)
    return _manifest(repo, commit, json.loads(text), folder)


def _manifest(repo: str, commit: str, files: list[dict[str, object]], folder: str) -> Manifest:
    made = tuple(ManifestFile(str(one["path"]), int(str(one["size"])), str(one["sha256"])) for one in files)
    wrong = next((one.path for one in made if not is_inside(one.path)), None)
    if wrong is not None:
        raise _folder_refused("folder-unreadable", f"a file with the name {wrong!r}", folder, "")
    return Manifest(repo, commit, made, source=folder)


def _folder_refused(name: str, observed: str, folder: str, where: str) -> CheckFailed:
    messages = {
        "lfs-pointer": ("a file is an LFS pointer, not the file", "git lfs pull in that folder"),
        "folder-empty": ("the folder has no file: a mount that did not happen looks like this", f"findmnt -T {folder}"),
        "folder-unreadable": ("the folder cannot be read", f"ls -la {folder}"),
    }
    message, command = messages[name]
    if name == "lfs-pointer":
        return CheckFailed(message, id="lfs-pointer", observed=observed, required="whole files", next_command=command)
    return CheckFailed(
        message,
        id="folder-unreadable",
        observed=f"{folder} on {where or 'a host'}: {observed}",
        required="a folder with all files of the model, readable",
        next_command=command,
    )


def failed_at(host: str, observed: str) -> ChangeFailed:
    return ChangeFailed(
        "weights are not complete on the host although everything was done",
        id="weights-incomplete",
        observed=observed,
        required="every file of the manifest with its sum",
        next_command="type the same command again: only what is missing is fetched",
        host=host,
    )
