"""Names that changed between versions of vLLM, put into the form that the pinned one takes; each with a note.

The data is `translations.yaml`. What it does not have stays as it is, and `check` refuses it with the nearest names.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from inventory import yamlfile
from launch.vllm_args.check import unread
from launch.vllm_args.parse import load, loose_json

FILE = Path(__file__).parent / "translations.yaml"


class Rule(BaseModel):
    """`source`: an option (`--a`, `--a value`, `--a.key`, `--a.key value`) or a variable (`NAME`, `NAME=value`)."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    source: str = Field(alias="from")
    to: str
    version: tuple[str, ...]
    evidence: str

    @property
    def is_env(self) -> bool:
        return not self.source.startswith("-")

    @property
    def form(self) -> tuple[str, str, str | None]:
        """Option or variable, key of a JSON option or "", value or None for any."""
        name, _, value = self.source.partition("=" if self.is_env else " ")
        flag, _, key = name.partition(".")
        return flag, key, value or None

    def __str__(self) -> str:
        return f"{self.source} became {self.to or 'nothing'}: {self.evidence}"


class File(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    translations: tuple[Rule, ...]


@dataclass(frozen=True, slots=True)
class Translated:
    """A command that says the same in the words of the pinned version. `notes`: one line for each change."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    notes: tuple[str, ...]


@functools.cache
def rules(version: str) -> tuple[Rule, ...]:
    plain = version.partition("+")[0]
    return tuple(one for one in yamlfile.load(FILE).validate(File).translations if plain in one.version)


def translate(argv: Sequence[str], env: Mapping[str, str], version: str) -> Translated:
    """Apply every rule of `version`; variables that it does not read stay, with a note. Raises `UnknownVersion`."""
    words, kept, notes = list(argv), dict(env), []
    for rule in rules(version):
        changed = _variable(rule, words, kept) if rule.is_env else _option(rule, words, version)
        notes += [str(rule)] if changed else []
    notes += [f"{one.token}: {one.reason}" for one in unread(kept, version)]
    return Translated(tuple(words), kept, tuple(notes))


def _variable(rule: Rule, words: list[str], env: dict[str, str]) -> bool:
    name, _, value = rule.form
    if name not in env or value not in {None, env[name]}:
        return False
    del env[name]
    if rule.to and rule.to.split()[0] not in words:  # what the recipe says itself is more exact
        words += rule.to.split()
    return True


def _option(rule: Rule, words: list[str], version: str) -> bool:
    before = list(words)
    words[:] = [word for group in _groups(words) for word in _rewritten(rule, group, version)]
    return words != before


def _groups(words: Sequence[str]) -> Iterator[list[str]]:
    """Each option with its values; what stands in front of the first is a group too."""
    group: list[str] = []
    for word in words:
        if word.startswith("--") or (word.startswith("-") and not word[1:2].isdigit()):
            yield group
            group = []
        group.append(word)
    yield group


def _rewritten(rule: Rule, group: list[str], version: str) -> list[str]:
    if not group or not group[0].startswith("-"):
        return group
    flag, key, wanted = rule.form
    name, equals, attached = group[0].partition("=")
    own, _, own_key = name.partition(".")
    values = [attached] if equals else group[1:]
    if _dest(own, version) != _dest(flag, version):
        return group
    if key and not own_key:
        return _inside(rule, group, values)
    if own_key != key or (wanted is not None and [one.lower() for one in values] != [wanted]):
        return group
    return rule.to.split() if wanted is not None or not rule.to else [*rule.to.split(), *values]


def _inside(rule: Rule, group: list[str], values: list[str]) -> list[str]:
    """The key as part of a JSON value: `to` is the same option with another key, or nothing."""
    _, key, wanted = rule.form
    try:
        node: Any = json.loads(values[0]) if len(values) == 1 else None
    except ValueError:
        node = None
    if not isinstance(node, dict) or key not in node or wanted not in {None, json.dumps(node[key]).strip('"')}:
        return group
    del node[key]
    if rule.to:
        other, _, value = rule.to.partition(" ")
        node[other.partition(".")[2]] = loose_json(value)
    return [group[0].partition("=")[0], json.dumps(node, separators=(",", ":"))] if node else []


def _dest(flag: str, version: str) -> str:
    """What an option sets, so that its other spellings match; an unknown one is only itself."""
    spelled = flag.replace("_", "-") if flag.startswith("--") else flag
    return str(load(version)["flags"].get(spelled, spelled))
