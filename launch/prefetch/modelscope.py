"""Ask ModelScope what a model's files are; it tells the sha256 of each."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote as percent

from inventory.errors import BringupError, CheckFailed
from launch.prefetch.job import REFUSALS
from launch.prefetch.manifest import Manifest, ManifestFile, is_inside
from launch.prefetch.programs.naming import CERTIFICATES, named
from launch.prefetch.source import DEFAULT_MODELSCOPE
from playbooks.web import StatusError, Web

BRANCH = "master"
NAMES = {401: "hub-unauthorized", 403: "hub-gated", 404: "hub-not-found", 429: "hub-rate-limited"}


def resolve(repo: str, commit: str, *, endpoint: str = DEFAULT_MODELSCOPE, revision: str = BRANCH) -> Manifest:
    """The files of `repo` there; `commit` is the name that they get here: its own commits are not the hub's.

    Raises `CheckFailed` with a named reason.
    """
    url = f"{endpoint}/api/v1/models/{percent(repo)}/repo/files?Revision={percent(revision)}&Recursive=true"
    try:
        told = json.loads(Web().read(url).body)
        files = tuple(_file(one) for one in told["Data"]["Files"] if one.get("Type") != "tree")
    except StatusError as error:
        raise _failed(NAMES.get(error.status, "hub-unavailable"), repo, f"HTTP {error.status} of {endpoint}") from None
    except (ValueError, KeyError, TypeError) as error:
        raise _failed("hub-unavailable", repo, f"{endpoint} answers with something else: {error!r:.120}") from None
    except BringupError as error:
        name, _ = named(error.observed)
        raise _failed(name if name in CERTIFICATES else "hub-unreachable", repo, error.observed) from None
    return Manifest(repo, commit, files, source=f"{endpoint} {revision}")


def urls_of(manifest: Manifest, *, endpoint: str = DEFAULT_MODELSCOPE, revision: str = BRANCH) -> dict[str, str]:
    base = f"{endpoint}/api/v1/models/{percent(manifest.repo)}/repo?Revision={percent(revision)}&FilePath="
    return {one.path: base + percent(one.path, safe="") for one in manifest.files}


def _file(told: Any) -> ManifestFile:  # noqa: ANN401  (JSON of a server)
    path, size, sha256 = told["Path"], told["Size"], told["Sha256"]
    if not is_inside(path) or not isinstance(size, int) or len(sha256) != 64:
        raise ValueError(f"a file {path!r} of {size!r} bytes with the sum {sha256!r}")
    return ManifestFile(path, size, sha256)


def _failed(name: str, repo: str, observed: str) -> BringupError:
    refusal = next(one for one in REFUSALS if one.id == name)
    return refusal.error(CheckFailed, "this machine", f"{repo}: {observed}")
