"""The folder of weights that a plan means, and facts that nobody asked for. Shared by checks; not a check itself."""

from __future__ import annotations

from inventory.facts.base import Maybe, Unknown, Why, is_known
from inventory.facts.host import Caches, Environment, HostFacts, StoredFile, WeightFolder
from playbooks.checks.base import skip, unread
from playbooks.finding import Finding
from playbooks.requirements import ExpectedWeights, HostRequirements

WEIGHT_SUFFIXES = (".safetensors", ".bin", ".gguf", ".pt", ".pth")


def missing_fact(check: str, host: str, fact: Unknown, required: str, look: str) -> Finding:
    """Unknown where the host did not tell, skipped where an older answer was never asked."""
    if fact.why is Why.NOT_ASKED:
        return skip(check, host, "this answer of the host is of a time before it was asked")
    return unread(check, host, fact, required, look)


def folder_of(facts: HostFacts, weights: ExpectedWeights) -> Maybe[WeightFolder] | None:
    """The folder of the planned weights; None: it is not there. A plan without a path means the only one."""
    folders = facts.weight_folders
    if not is_known(folders):
        return folders
    if weights.path is None:
        return folders[0] if folders else None
    return next((one for one in folders if one.path == weights.path), None)


def expected_files(weights: ExpectedWeights, folder: WeightFolder) -> tuple[StoredFile, ...] | None:
    """What must be there: the plan's list, else the host's own; None: nobody knows yet."""
    if weights.files is not None:
        return tuple(StoredFile(one.path, one.size, one.sha256) for one in weights.files)
    return folder.manifest


def will_fetch(needs: HostRequirements, folder: WeightFolder | None) -> bool:
    """Whether the plan still fetches the weights: it does where no manifest says that they are complete."""
    planned = any(one.purpose == "weights" for one in needs.space)
    return planned and (folder is None or folder.manifest is None)


def complete_folder(check: str, facts: HostFacts, needs: HostRequirements, required: str) -> WeightFolder | Finding:
    """The folder that ranks will read, or the finding that says why there is nothing to look at yet."""
    if needs.weights is None:
        return skip(check, facts.host, "the plan names no weights")
    folder = folder_of(facts, needs.weights)
    if isinstance(folder, Unknown):
        return missing_fact(check, facts.host, folder, required, "on the host: ls -lL " + (needs.weights.path or "."))
    if will_fetch(needs, folder):
        return skip(check, facts.host, "the plan has yet to fetch the weights")
    if folder is None:
        return skip(check, facts.host, "the folder of the weights is not there: see sto.complete")
    return skip(check, facts.host, "these weights are simulated") if folder.simulated else folder


def planned_caches(caches: Caches, needs: HostRequirements) -> Caches:
    """The caches that ranks of the plan would use, where each build has a folder of its own; else all of them.

    Of a build that has no folder yet they are empty.
    """
    folder = dict(needs.env).get("VLLM_CACHE_ROOT", "").rpartition("/")[0]
    above, _, name = folder.rpartition("/")
    known = {one.path: one for one in caches.folders}
    if not caches.folders or above not in {path.rpartition("/")[0] for path in known}:
        return caches
    if folder not in known:
        return Caches(empty=True, artefacts=(), stamp=None)
    ours = tuple(path for path in caches.artefacts if path.startswith(f"{name}/"))
    return Caches(caches.empty, ours, known[folder].stamp, known[folder].environment)


def planned_environment(facts: HostFacts, digest: str | None, version: str) -> Environment | None:
    """The environment that ranks would run in, if it is there: by digest, by version, or the only one."""
    if not is_known(facts.software):
        return None
    there = facts.software.environments
    if digest:
        return next((one for one in there if one.digest == digest), None)
    return next((one for one in there if not version or not one.digest or one.vllm_version == version), None)
