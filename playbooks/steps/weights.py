"""A model folder, complete when its manifest is there: the program that fills the folder writes it last."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from inventory.quoting import quote, quote_all
from playbooks.plan import ABSENT, Phase, Step

MANIFEST = ".bringup-manifest.json"
MAKE_DEADLINE_S = 300.0
DOWNLOAD_DEADLINE_S = 24 * 3600.0


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
        script=_run((python,), words, program),
        summary=f"make random weights for {checkpoint.repo}",
        why="the trial model has no weights to download: every host makes the same random ones",
        deadline_s=MAKE_DEADLINE_S,
    )


def downloaded_weights(
    checkpoint: Checkpoint,
    *,
    hf: Sequence[str],
    python: Sequence[str],
    endpoint: str | None,
    manifest_program: str,
) -> Step:
    """A checkpoint downloaded by the engine's own `hf`, then listed with sizes and sha256.

    `hf` and `python`: the words that start them, of an environment or of an image.
    """
    endpoint_line = f"export HF_ENDPOINT={quote(endpoint)}\n" if endpoint else ""
    download = quote_all(
        [
            *(*hf, "download", checkpoint.repo, "--revision", checkpoint.commit),
            *("--local-dir", checkpoint.folder),
        ]
    )
    words = quote_all([checkpoint.folder, checkpoint.repo, checkpoint.commit])
    return _step(
        checkpoint,
        script=f"{endpoint_line}{download}\n{_run(python, words, manifest_program)}",
        summary=f"download {checkpoint.repo} at {checkpoint.commit[:12]}",
        why="a launch never downloads: weights are on every host, complete, before any rank starts",
        deadline_s=DOWNLOAD_DEADLINE_S,
    )


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
        script=f"mkdir -p -- {folder}\n{script}",
        summary=summary,
        deadline_s=deadline_s,
    )
