"""A model folder, complete when its manifest is there: the program that fills the folder writes it last."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from inventory.quoting import quote, quote_all
from playbooks.plan import ABSENT, Change, Phase, Step

MANIFEST = ".bringup-manifest.json"
MAKE_DEADLINE_S = 300.0


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A repository at a pinned commit, and the folder on the host that holds it."""

    repo: str
    commit: str
    folder: str


def made_weights(checkpoint: Checkpoint, *, python: str, program: str, arguments: tuple[str, ...]) -> Step:
    """A tiny random model, made on the host by `program` (Python source)."""
    words = quote_all(
        [
            *("--target", checkpoint.folder, "--repo", checkpoint.repo, "--commit", checkpoint.commit),
            *arguments,
        ]
    )
    return _step(
        checkpoint,
        script=f"mkdir -p -- {quote(checkpoint.folder)}\n{_run((python,), words, program)}",
        summary=f"make random weights for {checkpoint.repo}",
        why="the trial model has no weights to download: every host makes the same random ones",
        deadline_s=MAKE_DEADLINE_S,
    )


def prefetched_weights(checkpoint: Checkpoint) -> Step:
    """A checkpoint that a prefetch brings before the changes of its phase are made: no script of one host can."""
    return _step(
        checkpoint,
        script=_BY_PREFETCH,
        summary=f"fetch {checkpoint.repo} at {checkpoint.commit[:12]}, once, and spread it",
        why="a launch never downloads: weights are on every host, verified, before any rank starts",
        deadline_s=MAKE_DEADLINE_S,
    )


def is_prefetched(change: Change) -> bool:
    return change.script == _BY_PREFETCH


_BY_PREFETCH = "echo 'weights come by a prefetch, which has not been made' >&2; exit 1"


def _run(python: Sequence[str], words: str, program: str) -> str:
    return f"{quote_all(python)} - {words} <<'END_OF_PROGRAM'\n{program}END_OF_PROGRAM\n"


def _step(checkpoint: Checkpoint, *, script: str, summary: str, why: str, deadline_s: float) -> Step:
    folder = quote(checkpoint.folder)
    return Step(
        id=f"weights {checkpoint.repo}",
        phase=Phase.PREFETCH,
        why=why,
        probe=(
            f"if [ -e {folder}/{MANIFEST} ]; then printf complete; "
            f"elif [ -e {folder} ]; then printf partial; else printf {ABSENT}; fi"
        ),
        wanted="complete",
        script=script,
        summary=summary,
        deadline_s=deadline_s,
    )
