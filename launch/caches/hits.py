"""What the log of a start says of its caches: which rank found its compiled code, and which compiled it anew. Pure.

Lines of vLLM 0.33.0 (compilation/decorators.py, compilation/backends.py); 0.32.0 has the same ones. FlashInfer's
autotune tells its file but not whether it was used.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

_RANK = re.compile(r"/rank_(?P<rank>\d+)_(?P<dp>\d+)(?:/|\b)")
_AOT_HIT = re.compile(r"Directly load AOT compilation from path (?P<path>\S+)")
_AOT_MISS = re.compile(r"saved AOT compiled function to (?P<path>\S+)")
_UNUSABLE = re.compile(r"Compiling model again due to a load failure from (?P<path>\S+), reason: (?P<why>.*)")
_FOLDER = re.compile(r"Using cache directory: (?P<path>\S+) for vLLM's torch\.compile")
_GRAPH_HIT = re.compile(r"Directly load the compiled graph\(s\) for compile range")
_GRAPH_MISS = re.compile(r"Compiling a graph for compile range .* takes|Cache the graph of compile range")

Rank = tuple[int, int]  # within its group, global data-parallel index


@dataclass(slots=True)
class CacheHits:
    """Reads the log of one host. `found`: by rank, whether it loaded all that it needed; `unusable`: why it did not."""

    found: dict[Rank, bool] = field(default_factory=dict)
    unusable: dict[Rank, str] = field(default_factory=dict)
    _rank_of: dict[str, Rank] = field(default_factory=dict)  # by process, for lines without a path

    def feed(self, process: str, text: str) -> None:
        """Read the text of one line of `process`."""
        if "ompil" not in text:
            return
        if bad := _UNUSABLE.search(text):
            self._note(bad["path"], hit=False)
            if rank := _rank(bad["path"]):
                self.unusable[rank] = bad["why"][:200]
        elif hit := _AOT_HIT.search(text):
            self._note(hit["path"], hit=True)
        elif miss := _AOT_MISS.search(text):
            self._note(miss["path"], hit=False)
        elif folder := _FOLDER.search(text):
            if rank := _rank(folder["path"]):
                self._rank_of[process] = rank
        elif process in self._rank_of and (_GRAPH_HIT.search(text) or _GRAPH_MISS.search(text)):
            self._tell(self._rank_of[process], hit=_GRAPH_MISS.search(text) is None)

    def _note(self, path: str, *, hit: bool) -> None:
        if rank := _rank(path):
            self._tell(rank, hit=hit)

    def _tell(self, rank: Rank, *, hit: bool) -> None:
        """One part that was compiled anew makes the rank cold."""
        self.found[rank] = self.found.get(rank, True) and hit

    @property
    def is_warm(self) -> bool | None:
        """Whether all ranks that told anything found everything; None: none did, for example without compilation."""
        return all(self.found.values()) if self.found else None


def _rank(path: str) -> Rank | None:
    found = _RANK.search(path)
    return (int(found["rank"]), int(found["dp"])) if found else None


def sentence(hits: Mapping[str, CacheHits]) -> str:
    """What is to be said of all hosts of a gang; empty where no rank told anything."""
    found = {rank: hit for one in hits.values() for rank, hit in one.found.items()}
    if not found:
        return ""
    cold = [rank for rank, hit in found.items() if not hit]
    if not cold:
        return f"compiled code was found for all {len(found)} rank(s)"
    told = f"compiled code was found for {len(found) - len(cold)} of {len(found)} rank(s); compiled anew: {named(cold)}"
    why = next((reason for one in hits.values() for reason in one.unusable.values()), "")
    return f"{told} ({why})" if why else told


def named(ranks: Iterable[Rank]) -> str:
    """`rank_0_8` and its like, as vLLM names the folders; the first four."""
    words = [f"rank_{rank}_{dp}" for rank, dp in sorted(ranks)]
    return ", ".join(words[:4]) + (f" and {len(words) - 4} more" if len(words) > 4 else "")
