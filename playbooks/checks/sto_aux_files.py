"""The small files beside the weights: without one of them a start that must not download ends."""

from __future__ import annotations

from inventory.facts.host import HostFacts, WeightFolder
from playbooks.checks.base import Priority
from playbooks.checks.stored import WEIGHT_SUFFIXES, complete_folder, expected_files
from playbooks.finding import Finding, Status
from playbooks.requirements import HostRequirements

ID = "sto.aux_files"
PRIORITY = Priority.P1
WHY = "offline, a missing configuration or tokenizer file is looked for at the hub, and the start ends there"

_REQUIRED = "config.json, a tokenizer and every other small file of the repository"
_TOKENIZERS = (
    "tokenizer.json",
    "tokenizer.model",
    "tokenizer_config.json",
    "tekken.json",
    "tiktoken.model",
    "vocab.json",
)


def check(facts: HostFacts, needs: HostRequirements) -> Finding:
    folder = complete_folder(ID, facts, needs, _REQUIRED)
    if isinstance(folder, Finding):
        return folder
    lacks = missing(folder, needs)
    if not lacks:
        return Finding(ID, Status.PASS, facts.host, "configuration, tokenizer and the other small files are there")
    offline = dict(needs.env).get("HF_HUB_OFFLINE", "0").lower() in {"1", "true", "yes", "on"}
    observed = f"{', '.join(lacks)} missing in {folder.path or 'the folder'}"
    observed += ", and ranks start offline" if offline else "; ranks would fetch it"
    remedy = "the same deploy again after removing .bringup-manifest.json there: it fetches what is missing"
    return Finding(ID, Status.FAIL if offline else Status.WARN, facts.host, observed, _REQUIRED, remedy)


def missing(folder: WeightFolder, needs: HostRequirements) -> tuple[str, ...]:
    there = {one.path for one in folder.files}
    expected = expected_files(needs.weights, folder) if needs.weights else None
    listed = [one.path for one in expected or () if not one.path.endswith(WEIGHT_SUFFIXES)]
    lacks = [path for path in dict.fromkeys(("config.json", *listed)) if path not in there]
    has_tokenizer = any(path.rpartition("/")[2] in _TOKENIZERS or path.endswith(".tiktoken") for path in there)
    return (*lacks, *(() if has_tokenizer else ("a tokenizer",)))
