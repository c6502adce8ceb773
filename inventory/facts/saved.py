"""Answers of hosts as files, to be looked at again without a host: `probe --save`, `--replay`, `--diff`.

    BUNDLE.json             which hosts, when, and whether they are redacted
    <host>/ANSWER.json      when it was asked, how each command ended and what it said on stderr
    <host>/<section>.<item> what the command printed, byte for byte

A bundle is written beside its place and renamed: it is there whole or not at all.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from pydantic import AfterValidator, Field, ValidationError

from inventory.errors import BadInput
from inventory.facts.answers import Answers
from inventory.facts.raw import RawAnswer
from inventory.quoting import quote
from inventory.schema import Address, FabricAddress, HostName, Interface, StateDir, Strict

FORMAT_VERSION = 1
BUNDLE = "BUNDLE.json"
ANSWER = "ANSWER.json"
ITEM_NAME = re.compile(r"[a-z0-9_][a-z0-9_.-]{0,127}")
CLOCK = "clock"
"""The one file of an answer that no section made."""


def _item_name(text: str) -> str:
    if not ITEM_NAME.fullmatch(text):
        raise ValueError("a section or an item: small letters, digits and . _ -")
    return text


ItemName = Annotated[str, AfterValidator(_item_name)]


class Item(Strict):
    """How a command ended; what it printed is the file beside, none if it is `empty`."""

    status: int
    err: str = ""
    empty: bool = False


class Section(Strict):
    """`end`: the exit status of the section, None if it did not end. `err`: what its shell said."""

    end: int | None
    err: str = ""
    items: dict[ItemName, Item]


class Place(Strict):
    """What the inventory said of the host: enough to check a launch on it."""

    address: Address
    state_dir: StateDir
    fabric_address: FabricAddress | None = None
    fabric_interface: Interface | None = None


class HostAnswer(Strict):
    """ANSWER.json. `fault` and `damaged`: what was wrong with the answer as it came."""

    sent_at: float
    received_at: float
    seconds: float
    noise: str = ""
    fault: str = ""
    damaged: tuple[str, ...] = ()
    place: Place
    sections: dict[ItemName, Section]


class Silent(Strict):
    """A host that did not answer, and the error that said so."""

    message: str
    id: str
    observed: str = ""
    required: str = ""
    next_command: str = ""


class Head(Strict):
    """BUNDLE.json. `sections` are those that the script asked; `hosts` all in order, those that are `silent` too."""

    format_version: Literal[1] = 1
    kind: Literal["bringup-bundle"] = "bringup-bundle"
    made_at: str
    redacted: bool
    sections: tuple[ItemName, ...]
    hosts: tuple[HostName, ...]
    silent: Mapping[HostName, Silent] = Field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Bundle:
    """`places` has an entry for each host that answered."""

    head: Head
    answers: Mapping[str, RawAnswer]
    places: Mapping[str, Place]


def refuse_taken(folder: Path) -> None:
    """Raise `BadInput` when no bundle can be written at `folder`: ask before the hosts are."""
    parent = folder.absolute().parent
    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        raise _no_place(folder, "there is something already", "a folder that is not there or empty")
    if not parent.is_dir():
        raise _no_place(folder, f"no folder {parent}", "a place in a folder that is there")
    if not os.access(parent, os.W_OK | os.X_OK):
        raise _no_place(folder, f"{parent} cannot be written", "a place in a folder that this user may write")


def save(folder: Path, bundle: Bundle) -> None:
    """Write a bundle at `folder`, which `refuse_taken` lets pass. Raises `BadInput` where it cannot be written."""
    refuse_taken(folder)
    place = folder.absolute()
    with kept_at(folder), tempfile.TemporaryDirectory(prefix=f".{place.name}.", dir=place.parent) as made:
        draft = Path(made) / "bundle"
        draft.mkdir(mode=0o700)
        for host, raw in bundle.answers.items():
            _write_host(draft / host, raw, bundle.places[host])
        _write_json(draft / BUNDLE, bundle.head)
        draft.rename(place)


@contextmanager
def kept_at(folder: Path) -> Iterator[None]:
    """Around what writes at `folder`: raises `BadInput` where it cannot be written."""
    try:
        yield
    except OSError as error:
        raise _no_place(folder, error.strerror or str(error), "a place with room for what hosts answered") from None


def _write_host(folder: Path, raw: RawAnswer, place: Place) -> None:
    folder.mkdir()
    answers = raw.answers
    (folder / CLOCK).write_bytes(answers.files.get("clock.out", b""))
    for name in answers.statuses:
        if answers.files.get(f"{name}.out"):
            (folder / name).write_bytes(answers.files[f"{name}.out"])
    told = HostAnswer(
        sent_at=raw.sent_at,
        received_at=raw.received_at,
        seconds=raw.seconds,
        noise=_text(raw.noise),
        fault=answers.fault,
        damaged=tuple(sorted(answers.damaged)),
        place=place,
        sections=_sections(answers),
    )
    _write_json(folder / ANSWER, told)


def _sections(answers: Answers) -> dict[str, Section]:
    begun = {name.partition(".")[0] for name in answers.files if name.endswith((".end", ".end.err", ".status"))}
    items: dict[str, dict[str, Item]] = {name: {} for name in sorted(begun)}
    for name, status in answers.statuses.items():
        section, _, item = name.partition(".")
        if f"{name}.out" in answers.files and section in items:
            err = _text(answers.files.get(f"{name}.err", b""))
            items[section][item] = Item(status=status, err=err, empty=not answers.files[f"{name}.out"])
    return {
        name: Section(
            end=_number(answers.files.get(f"{name}.end")),
            err=_text(answers.files.get(f"{name}.end.err", b"")),
            items=items[name],
        )
        for name in items
    }


def load(folder: Path) -> Bundle:
    """Read a bundle. Raises `BadInput` that names the file, host or section that is missing or wrong."""
    _refuse_version(folder)
    head = _read_json(folder, BUNDLE, Head)
    told = {host: _read_json(folder, f"{host}/{ANSWER}", HostAnswer) for host in head.hosts if host not in head.silent}
    for host, answer in told.items():
        _refuse_missing(folder, host, answer, head.sections)
    return Bundle(
        head=head,
        answers={host: _raw(folder, host, answer) for host, answer in told.items()},
        places={host: answer.place for host, answer in told.items()},
    )


def _refuse_version(folder: Path) -> None:
    text = _read(folder, BUNDLE)
    try:
        document = json.loads(text)
    except ValueError as error:
        raise _bad(folder / BUNDLE, str(error), "the JSON that `probe --save` writes") from None
    version = document.get("format_version") if isinstance(document, dict) else None
    if version != FORMAT_VERSION:
        raise _bad(folder, f"format version {version}", f"format version {FORMAT_VERSION}")


def _refuse_missing(folder: Path, host: str, answer: HostAnswer, sections: tuple[str, ...]) -> None:
    missing = [] if answer.fault else [name for name in sections if name not in answer.sections]
    if missing:
        raise _bad(folder / host, f"no section {', '.join(missing)}", f"all of {', '.join(sections)}")


def _raw(folder: Path, host: str, told: HostAnswer) -> RawAnswer:
    files: dict[str, bytes] = {"clock.out": _bytes(folder, f"{host}/{CLOCK}")}
    statuses: dict[str, int] = {}
    for section, said in told.sections.items():
        files[f"{section}.end.err"] = said.err.encode()
        if said.end is not None:
            files[f"{section}.end"] = f"{said.end}\n".encode()
        for item, ended in said.items.items():
            name = f"{section}.{item}"
            statuses[name] = ended.status
            files[f"{name}.out"] = b"" if ended.empty else _bytes(folder, f"{host}/{name}")
            files[f"{name}.err"] = ended.err.encode()
    return RawAnswer(
        host=host,
        answers=Answers(files=files, statuses=statuses, damaged=frozenset(told.damaged), fault=told.fault),
        noise=told.noise.encode(),
        seconds=told.seconds,
        sent_at=told.sent_at,
        received_at=told.received_at,
    )


Model = TypeVar("Model", bound=Strict)


def _read_json(folder: Path, name: str, kind: type[Model]) -> Model:
    try:
        return kind.model_validate_json(_read(folder, name))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise _bad(folder / name, f"{where or 'the document'}: {first['msg']}", "what `probe --save` writes") from None


def _read(folder: Path, name: str) -> str:
    return _bytes(folder, name).decode(errors="replace")


def _bytes(folder: Path, name: str) -> bytes:
    try:
        return (folder / name).read_bytes()
    except OSError as error:
        raise _bad(folder, f"{name}: {error.strerror}", "a bundle with all its files") from None


def _write_json(path: Path, data: Strict) -> None:
    path.write_text(json.dumps(data.model_dump(mode="json"), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _text(data: bytes) -> str:
    return data.decode(errors="replace")


def _number(data: bytes | None) -> int | None:
    text = (data or b"").strip()
    return int(text) if text.isdigit() and len(text) < 4 else None


def _no_place(folder: Path, observed: str, required: str) -> BadInput:
    return BadInput(
        f"nothing can be kept in {folder}",
        id="bundle",
        observed=observed,
        required=required,
        next_command="the same command with another folder",
    )


def _bad(path: Path, observed: str, required: str) -> BadInput:
    return BadInput(
        f"{path} cannot be used as a bundle of answers",
        id="bundle",
        observed=observed,
        required=required,
        next_command=f"invoke probe --hosts HOSTS --save {quote(path)}-new",
    )
