"""Ask a hub, from this machine, what a revision is: its commit, and the sizes and sums of its files."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import urlsplit

from inventory.errors import BringupError, CheckFailed
from inventory.secret import Url
from launch.prefetch.job import REFUSALS
from launch.prefetch.manifest import Manifest, ManifestFile, is_inside
from launch.prefetch.programs.naming import named
from launch.prefetch.source import DEFAULT_HUB

if TYPE_CHECKING:
    from inventory.secret import Secret

TIMEOUT_S = 20.0
TRIES = 4
AGAIN = frozenset({"hub-rate-limited", "hub-unavailable"})
LONGEST_WAIT_S = 30.0


def resolve(repo: str, revision: str, *, endpoint: Url | None = None, token: Secret | None = None) -> Manifest:
    """The manifest of `repo` at `revision` (a commit, branch or tag). Raises `CheckFailed` with a named reason."""
    from huggingface_hub import HfApi

    where = endpoint.reveal() if endpoint else DEFAULT_HUB
    api = HfApi(endpoint=where, token=token.reveal() if token else False, library_name="bringup")
    for number in range(1, TRIES + 1):
        try:
            told = api.model_info(repo, revision=revision, files_metadata=True, timeout=TIMEOUT_S)
        except Exception as error:  # noqa: BLE001  (whatever its HTTP library raises: each becomes a named outcome)
            failure = failed(error, repo, revision, endpoint, token)
            if failure.id not in AGAIN or number == TRIES:
                raise failure from None
            time.sleep(_wait(error, number))
        else:
            files = tuple(_file(one, repo) for one in told.siblings or ())
            return Manifest(repo, str(told.sha), files, source=str(endpoint or DEFAULT_HUB))
    raise AssertionError("the last try returns or raises")


def failed(error: Exception, repo: str, revision: str, endpoint: Url | None, token: Secret | None) -> BringupError:
    """What went wrong, in the words that hosts use too; never with the token in it."""
    from huggingface_hub import errors

    said = f"{type(error).__name__}: {error}"
    user = urlsplit(endpoint.reveal()).netloc.rpartition("@")[0] if endpoint else ""
    for secret in (token.reveal() if token else "", user):
        said = said.replace(secret, "***") if secret else said
    kinds = (
        (errors.GatedRepoError, "hub-gated"),
        (errors.RevisionNotFoundError, "hub-revision-gone"),
        (errors.OfflineModeIsEnabled, "hub-unreachable"),
    )
    name = next((name for kind, name in kinds if isinstance(error, kind)), None)
    status = getattr(getattr(error, "response", None), "status_code", None)
    name = name or _of_status(status) or named(said)[0]
    name = "hub-unreachable" if name == "fetch-failed" else name
    refusal = next(one for one in REFUSALS if one.id == name)
    seen = next((line for line in said.splitlines() if line.strip()), said)
    return CheckFailed(
        re.sub(r"th(e|is) host", "this machine", refusal.message),
        id=name,
        observed=f"{repo} at {revision[:12]} on {endpoint or DEFAULT_HUB}: {seen[:200]}",
        required=refusal.required,
        next_command=_NEXT.get(name, refusal.next_command.replace("HOST", "this machine")),
    )


_NEXT = {
    "hub-unreachable": "curl -sSIL -m 20 the hub's address; or, from a folder here: --fetch push --from FOLDER",
    "clock-wrong": "here: date -u; timedatectl status; set the clock and type the same command again",
    "hub-certificate": "curl -sSIL -m 20 the hub's address; or, from a folder here: --fetch push --from FOLDER",
}


def _of_status(status: int | None) -> str | None:
    if status is None:
        return None
    named_ones = {401: "hub-unauthorized", 403: "hub-gated", 404: "hub-not-found", 429: "hub-rate-limited"}
    return named_ones.get(status, "hub-unavailable" if status >= 500 else None)


def _wait(error: Exception, number: int) -> float:
    headers = getattr(getattr(error, "response", None), "headers", {})
    wanted = str(headers.get("retry-after", ""))
    return min(float(wanted) if wanted.isdecimal() else 2.0 ** (number - 1), LONGEST_WAIT_S)


def _file(told: Any, repo: str) -> ManifestFile:  # noqa: ANN401  (the library's)
    path, size = str(told.rfilename), told.size
    if not is_inside(path) or not isinstance(size, int):
        _refuse(repo, path)
    sha256 = told.lfs.sha256 if told.lfs else None
    return ManifestFile(path, told.lfs.size if told.lfs else size, sha256, None if sha256 else told.blob_id)


def _refuse(repo: str, path: str) -> NoReturn:
    raise CheckFailed(
        "the hub lists a file that cannot be one of a model",
        id="hub-listing",
        observed=f"{path!r} in {repo}",
        required="paths below the model's folder, with sizes",
        next_command="look at the model's page on the hub, or at the mirror that is asked",
    )
