"""Whether a start failed because of what it found in its caches. Pure.

Only what names a cache, or what nothing but a file of one can say, counts: an error within a model's own code is no
reason to throw hours of compiling away. vLLM itself compiles again where an AOT artefact cannot be loaded (0.33.0,
compilation/decorators.py); what is left are artefacts below that level, as torch, Triton, FlashInfer and DeepGEMM load
them. Texts are those of known failures and of the loaders' own sources.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from launch.watching.phases import HEAD

_CACHE = r"(?:torch_compile_cache|torch_aot_compile|inductor_cache|/caches/[0-9a-f]{12}/)"
_WHOLE = (
    r"vLLM failed to compile the model\. The most likely reason",
    r"failed to get the hash of the compiled graph",
    r"Compile cache file corrupted",
    r"Bytes object is corrupted, checksum does not match",
    rf"{_CACHE}\S*: (?:file too short|invalid ELF header|undefined symbol|cannot open shared object file)",
    rf"(?:FileNotFoundError|No such file or directory)[^\n]*{_CACHE}",
    rf"(?:JSONDecodeError|UnpicklingError|BadZipFile|EOFError)[^\n]*{_CACHE}",
)
# A traceback through a file of a cache, and how it ended some lines further on.
_FRAME = re.compile(rf'File "[^"]*{_CACHE}')
_ENDS = re.compile(
    r"(?:AssertionError|ValueError: too many values|ImportError|EOFError|SyntaxError|ModuleNotFoundError|"
    r"_pickle\.UnpicklingError)"
)
_LOADERS = re.compile("|".join(_WHOLE))
NEAR = 40  # lines


@dataclass(frozen=True, slots=True)
class Poison:
    """The line that says so."""

    host: str
    line: str


def poison_of(host: str, lines: Iterable[str]) -> Poison | None:
    """The first line of a failed start's log that blames a cache."""
    frame = -NEAR
    for number, line in enumerate(lines):
        head = HEAD.match(line)
        text = head["text"] if head else line
        if _LOADERS.search(line) or (number - frame < NEAR and _ENDS.match(text.strip())):
            return Poison(host, line.strip()[:300])
        if _FRAME.search(line):
            frame = number
    return None
