"""A playbook as it is written, and its reading: `playbooks/<name>.yaml`, data with a closed vocabulary.

No expressions, loops or registers: an entry says what must be true, `when:` says where, and `{{name}}` in a text stands
for one of the listed values. All that is wrong with a file is said at once, each with file:line:col.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated

from pydantic import Field

from inventory import yamlfile
from inventory.document import Document
from inventory.errors import BadInput, BringupError, raise_all
from inventory.nearest import did_you_mean
from inventory.schema import Strict
from playbooks.entry import Entry, Text
from playbooks.kinds import AnyEntry
from playbooks.plan import Phase
from playbooks.values import VALUES, named

FOLDER = Path(__file__).parent
PLAYBOOKS = ("nvidia", "amd", "tuning", "tools")
"""Those that come with bringup."""
BY_DEFAULT = ("tuning",)
"""Those that `install` takes where none is named: a driver is changed only by whoever names its playbook."""


class Setting(Strict):
    """What an operator may give by `--value name=value`. No default: entries that have it need `given: [name]`."""

    about: Annotated[str, Field(min_length=1)]
    default: Text | None = None
    values: tuple[str, ...] = ()  # the only ones; none: any text of one line


class PlaybookFile(Strict):
    """The whole file."""

    about: Annotated[str, Field(min_length=1)]
    settings: dict[Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")], Setting] = Field(default_factory=dict)
    steps: tuple[AnyEntry, ...]


@dataclass(frozen=True, slots=True)
class Playbook:
    """A playbook that was read: `name` is the file's, without its suffix."""

    name: str
    about: str
    settings: dict[str, Setting]
    entries: tuple[Entry, ...]


def find(name: str) -> Path:
    """The file of a playbook that comes with bringup, or one that the operator has written (it ends in .yaml)."""
    if name.endswith((".yaml", ".yml")):
        return Path(name)
    if name in PLAYBOOKS:
        return FOLDER / f"{name}.yaml"
    raise BadInput(
        f"there is no playbook {name}{did_you_mean(name, PLAYBOOKS)}",
        id="playbook-unknown",
        observed=f"--playbook {name}",
        required=f"one of {', '.join(PLAYBOOKS)}, or a file that ends in .yaml",
        next_command="the same command with another --playbook",
    )


def load_playbook(path: Path) -> Playbook:
    """Read and check a playbook. Raises `BadInput`, or `Several`."""
    document = yamlfile.load(path)
    file = document.validate(PlaybookFile)
    raise_all(list(_problems(document, file)))
    return Playbook(path.stem, file.about, file.settings, file.steps)


def _problems(document: Document, file: PlaybookFile) -> Iterator[BringupError]:
    seen: list[str] = []
    for index, entry in enumerate(file.steps):
        where = ("steps", index)
        if entry.id in seen:
            message = f"the id {entry.id} stands here twice"
            yield document.error((*where, "id"), message, observed=entry.id, required="every id once")
        yield from _unknown_words(document, file, index, entry, seen)
        seen.append(entry.id)


def _unknown_words(
    document: Document, file: PlaybookFile, index: int, entry: Entry, before: list[str]
) -> Iterator[BringupError]:
    """Names that lead nowhere: entries to follow, settings, values, checks."""
    where = ("steps", index)
    early = [name for name in before if _is_earlier(file.steps, name, entry)]
    for place, words, known, what in (
        ("follows", entry.follows, early, "an entry further up, of no later phase"),
        ("given", _given_words(entry, file), list(file.settings), "a setting of this playbook"),
        ("satisfies", entry.satisfies, _checks() if entry.satisfies else [], "the id of a check"),
        ("id", tuple(sorted(named(entry))), [*VALUES, *file.settings], "a value or a setting"),
    ):
        at = (*where, "when", place) if place == "given" else (*where, place)
        for word in words:
            if word not in known:
                message = f"{word} is not {what}{did_you_mean(word, known)}"
                required = f"one of {', '.join(known)}" if 0 < len(known) < 20 else what
                yield document.error(at, message, observed=word, required=required)


def _given_words(entry: Entry, file: PlaybookFile) -> tuple[str, ...]:
    """Names of settings; a word with a value that its setting cannot have stays as it is, which is none."""
    pairs = [(word, *word.partition("=")) for word in entry.when.given]
    return tuple(
        name if not equals or name not in file.settings or value in file.settings[name].values else word
        for word, name, equals, value in pairs
    )


def _is_earlier(entries: tuple[Entry, ...], name: str, than: Entry) -> bool:
    order = list(Phase)
    one = next(entry for entry in entries if entry.id == name)
    return order.index(one.phase or one.PHASE) <= order.index(than.phase or than.PHASE)


@cache
def _checks() -> list[str]:
    """Ids of all checks, by their files: reading 120 modules takes longer than all the rest."""
    runbooks = FOLDER.parent / "docs" / "runbooks"
    return [path.stem for path in runbooks.glob("*.*.md")]
