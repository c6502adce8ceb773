"""The `vllm serve` commands of a Markdown text: those of its code blocks, and options that stand in its prose."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass

BLOCK = re.compile(r"^```[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`(--?[A-Za-z][^`\n]*[ =][^`\n]+)`")
VARIABLE = re.compile(r"(?:^export |[\s`])(VLLM_[A-Z0-9_]+=\w+)", re.MULTILINE)


@dataclass(frozen=True)
class Command:
    """`argv` without `vllm serve`; `env` is what the same block exports."""

    argv: tuple[str, ...]
    env: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        return shlex.join(self.argv)


def commands(text: str) -> list[Command]:
    found = [command for block in BLOCK.findall(text) for command in _of_block(block)]
    prose = BLOCK.sub("", text)
    options = {fragment for fragment in INLINE.findall(prose) if "…" not in fragment and " / " not in fragment}
    found += [Command(("model", *_words(fragment))) for fragment in sorted(options)]
    return list(dict.fromkeys(found))


def variables(text: str) -> set[tuple[str, str]]:
    """Every `VLLM_NAME=value` of the text."""
    pairs = (one.partition("=") for one in VARIABLE.findall(text))
    return {(name, value) for name, _, value in pairs}


def _of_block(block: str) -> list[Command]:
    env = tuple((name, value) for name, value in sorted(variables(block)))
    found = []
    for line in block.replace("\\\n", " ").splitlines():
        words = _words(line)
        if words[:2] == ["vllm", "serve"]:
            found.append(Command(tuple(words[2:]), env))
        elif words[:2] == ["docker", "run"]:
            image = next(i for i, word in enumerate(words) if word.startswith("vllm/vllm-openai"))
            found.append(Command(tuple(words[image + 1 :])))
        elif line.startswith("# --"):
            found.append(Command(("model", *_words(line[2:]))))
        elif line.startswith("--"):
            found.append(Command(("model", *words)))
    return found


def _words(line: str) -> list[str]:
    """Shell words; JSON may stand unquoted in a table, and arithmetic is worked out for the second node."""
    line = line.replace("$((4 * NODE_RANK))", "4").partition(" #")[0]
    if "{" in line and "'" not in line:
        line = re.sub(r"({.*})", r"'\1'", line)
    try:
        return shlex.split(line)
    except ValueError:
        return line.split()
