"""A `vllm serve` command line, read as the parser of a pinned vLLM reads it.

Standard library only, no import of this project: this file and `<version>.json` beside it also work on
a host that has nothing else. `parse` covers what the parser itself looks at; `check` (in `check.py`) adds the keys
of JSON options, the names that the parser leaves open, options that exclude each other, and the environment.

Read the way vLLM does (`utils/argparse_utils.py`): `_` equals `-` in a flag, `--option.key value` builds JSON
(`key+` appends to a list), `-O3`, `1K` is 1024 and `1k` is 1000. Stricter than vLLM on purpose: an
abbreviated flag and an option that is given twice are refused, because their meaning changes silently.
"""

from __future__ import annotations

import difflib
import functools
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
SIZE = re.compile(r"(\d+)(\.\d+)?([kKmMgGtT])")
SIZES = {
    letter: base**power
    for power, pair in enumerate(("kK", "mM", "gG", "tT"), 1)
    for letter, base in zip(pair, (1000, 1024), strict=True)
}


class UnknownVersion(LookupError):
    """There is no option schema of this vLLM version here."""


class Kind(StrEnum):
    """Why a token is refused. The first seven are its parser's own errors (exit code 2)."""

    UNKNOWN_FLAG = "unknown-flag"
    MISSING_VALUE = "missing-value"
    UNEXPECTED = "unexpected-value"
    BAD_CHOICE = "bad-choice"
    BAD_TYPE = "bad-type"
    BAD_JSON = "bad-json"
    UNKNOWN_KEY = "unknown-key"
    UNKNOWN_NAME = "unknown-name"
    ABBREVIATION = "abbreviation"
    DUPLICATE = "duplicate"
    CONFLICT = "conflict"
    UNPROVEN = "unproven"
    UNREAD_ENV = "unread-env"


@dataclass(frozen=True, slots=True)
class Refusal:
    """A token that the pinned vLLM would not take, why, and the nearest form that it would (or "")."""

    kind: Kind
    token: str
    reason: str
    nearest: str = ""

    @property
    def warns(self) -> bool:
        """True when vLLM starts all the same: an environment variable that nothing reads."""
        return self.kind is Kind.UNREAD_ENV

    def __str__(self) -> str:
        return f"{self.token}: {self.reason}" + (f"; nearest valid form: {self.nearest}" if self.nearest else "")


@dataclass(frozen=True, slots=True)
class Parsed:
    """`values`: given options, converted; `given`: dest -> the flag as written; `model`: the positional."""

    version: str
    model: str | None
    values: Mapping[str, Any]
    given: Mapping[str, str]
    refusals: tuple[Refusal, ...]

    def get(self, dest: str) -> Any:  # noqa: ANN401  (as many types as vLLM has options)
        """The value of an option, else vLLM's default for it, else None."""
        return self.values.get(dest, load(self.version)["options"][dest].get("default"))


@functools.cache
def load(version: str) -> dict[str, Any]:
    """The option schema of `version` (a local part such as `+cpu` is ignored). Raises `UnknownVersion`."""
    path = HERE / f"{version.partition('+')[0]}.json"
    try:
        schema: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        known = ", ".join(sorted(path.stem for path in HERE.glob("*.json")))
        raise UnknownVersion(f"no option schema of vLLM {version}; there are {known}") from None
    schema["flags"] = {flag: dest for dest, option in schema["options"].items() for flag in option["flags"]}
    return schema


def full_flag(option: Mapping[str, Any]) -> str:
    """The spelling that we render: the long one that switches on."""
    return next((flag for flag in option["flags"] if flag.startswith("--")), "")


def nearest(word: str, names: Iterable[str]) -> str:
    """Names that begin with `word`, else the most similar one of its family, else one that `word` begins with."""
    return _nearest(word, tuple(map(str, names)))


@functools.lru_cache(1024)
def _nearest(word: str, listed: tuple[str, ...]) -> str:
    longer = [name for name in listed if word and name.startswith(word)]
    if longer:
        return " or ".join(longer[:3])
    similar = next(iter(difflib.get_close_matches(word, listed, 1, 0.6)), "")
    stem = max((name for name in listed if re.match(rf"{re.escape(name)}[_-]", word)), key=len, default="")
    return stem if stem and _family(similar) != _family(word) else similar


def _family(name: str) -> str:
    return re.split("[_-]", name.lstrip("-"), maxsplit=1)[0]


def after_serve(argv: Sequence[str]) -> list[str]:
    """The words behind `vllm serve` (or `python -m … serve`), or all of them without such a prefix."""
    program = Path(argv[0]).name if argv else ""
    prefixed = program == "serve" or (program.startswith(("vllm", "python")) and "serve" in argv)
    return list(argv[argv.index("serve") + 1 :] if prefixed else argv)


def parse(argv: Sequence[str], version: str) -> Parsed:
    """Read `argv` (with or without `vllm serve`). A bad token does not raise: see `Parsed.refusals`."""
    reader = _Reader(load(version), version)
    reader.read([reader.spelled(word) for word in after_serve(argv)])
    return Parsed(version, reader.model, reader.values, reader.given, tuple(reader.refusals))


@dataclass
class _Reader:
    schema: dict[str, Any]
    version: str
    model: str | None = None
    values: dict[str, Any] = field(default_factory=dict)
    given: dict[str, str] = field(default_factory=dict)
    refusals: list[Refusal] = field(default_factory=list)
    dotted: dict[str, str] = field(default_factory=dict)  # dest -> the flag before the dot

    def refuse(self, kind: Kind, token: str, reason: str, close: str = "") -> None:
        self.refusals.append(Refusal(kind, token, reason, close))

    @staticmethod
    def spelled(word: str) -> str:
        """Dashes for underscores in a flag's own name, as vLLM does before it parses."""
        if not word.startswith("--"):
            return word
        flag, equals, value = word.partition("=")
        name, dot, key = flag.partition(".")
        return name.replace("_", "-") + dot + key + equals + value

    def read(self, words: list[str]) -> None:
        at = 0
        while at < len(words):
            word = words[at]
            if not self.is_flag(word):
                at = self.positional(word, at)
            elif "." in word.partition("=")[0]:
                at = self.dotted_key(words, at)
            elif re.fullmatch(r"-O=?[^=]+|-O", word):
                at = self.optimization(words, at)
            else:
                at = self.option(words, at)

    def is_flag(self, word: str) -> bool:
        """Whether argparse takes `word` for a flag: a negative number or a text with a space is a value."""
        if not word.startswith("-") or word == "-":
            return False
        known = word.partition("=")[0] in self.schema["flags"]
        return known or not (re.fullmatch(r"-\d+|-\d*\.\d+", word) or " " in word)

    def positional(self, word: str, at: int) -> int:
        if self.model is None:
            self.model = word
        else:
            self.refuse(Kind.UNEXPECTED, word, "a value without a flag; `vllm serve` takes one model only")
        return at + 1

    def optimization(self, words: list[str], at: int) -> int:
        level = words[at][2:].lstrip("=")
        words[at : at + 1] = ["--optimization-level", *([level] if level else [])]
        return self.option(words, at, spelled=f"-O{level}")

    def option(self, words: list[str], at: int, spelled: str = "") -> int:
        flag, equals, attached = words[at].partition("=")
        dest = self.dest_of(flag)
        follow = self.following(words, at + 1)
        if dest is None:
            return at + 1 + len(follow) * (self.model is not None and not equals)
        if dest == "model":  # deprecated spelling of the positional
            self.model = attached if equals else (follow or [""])[0]
            return at + 1 + (not equals)
        option = self.schema["options"][dest]
        texts = [attached] if equals else follow[: {None: 1, "?": 1, "+": None}[option.get("nargs")]]
        texts = [] if option["type"] == "flag" and not equals else texts
        self.take(dest, option, spelled or flag, texts)
        return at + 1 + (0 if equals else len(texts))

    def following(self, words: list[str], at: int) -> list[str]:
        end = next((i for i in range(at, len(words)) if self.is_flag(words[i])), len(words))
        return words[at:end]

    def dest_of(self, flag: str) -> str | None:
        """The option of a flag; an unambiguous abbreviation is refused and read as what it abbreviates."""
        flags: dict[str, str] = self.schema["flags"]
        if flag in flags:
            return flags[flag]
        longer = sorted({dest for full, dest in flags.items() if flag.startswith("--") and full.startswith(flag)})
        if len(longer) == 1:
            full = full_flag(self.schema["options"][longer[0]])
            self.refuse(Kind.ABBREVIATION, flag, "an abbreviation: another version may not take it", full)
            return longer[0]
        reason = f"not an option of vLLM {self.version}"
        close = nearest(flag, sorted(full for full in flags if full.startswith("--")))
        self.refuse(Kind.UNKNOWN_FLAG, flag, reason, close)
        return None

    def take(self, dest: str, option: dict[str, Any], flag: str, texts: list[str]) -> None:
        self.once(dest, option, flag)
        if option["type"] == "flag":
            if texts:
                self.refuse(Kind.UNEXPECTED, f"{flag}={texts[0]}", "takes no value", flag)
            self.values[dest] = flag not in option.get("off", ())
        elif not texts and option.get("nargs") != "?":
            self.refuse(Kind.MISSING_VALUE, flag, "needs a value", f"{flag} {example(option)}")
        else:
            converted = [self.convert(option, flag, text) for text in texts]
            many = option.get("nargs") == "+" or option.get("repeat")
            self.values[dest] = [*self.values.get(dest, []), *converted] if many else (converted or [True])[0]

    def once(self, dest: str, option: dict[str, Any], flag: str) -> None:
        before = self.given.get(dest)
        if before is not None and not option.get("repeat"):
            same = "given twice" if before == flag else f"the same option as {before}"
            self.refuse(Kind.DUPLICATE, flag, f"{same}: vLLM keeps only the last one", full_flag(option))
            self.values.pop(dest, None)
        self.given[dest] = flag

    def convert(self, option: dict[str, Any], flag: str, text: str) -> Any:  # noqa: ANN401
        if option.get("optional") and text in ("", "None"):
            return None
        text = text.lower().replace("-", "_") if option.get("folded") else text
        try:
            value = CONVERTERS[option["type"]](text)
        except ValueError as error:
            kind = Kind.BAD_JSON if option["type"] == "json" else Kind.BAD_TYPE
            self.refuse(
                kind,
                f"{flag} {text}",
                f"is not {NOUNS[option['type']]}: {error}",
                f"{flag} {example(option)}",
            )
            return None
        self.judge(option, flag, text, value)
        if "config" in option and not isinstance(value, dict):
            self.refuse(Kind.BAD_JSON, f"{flag} {text}", "is JSON but not an object", f"{flag} '{{}}'")
        return value

    def judge(self, option: dict[str, Any], flag: str, text: str, value: object) -> None:
        choices = option.get("choices")
        if choices and value not in choices:
            reason = f"is not one of {', '.join(map(str, choices))}"
            self.refuse(Kind.BAD_CHOICE, f"{flag} {text}", reason, form(flag, nearest(text, choices)))
        if isinstance(value, int | float) and not within(option, value):
            limits = ", ".join(f"{word} {option[word]}" for word in ("min", "above", "max", "below") if word in option)
            self.refuse(Kind.BAD_TYPE, f"{flag} {text}", f"is out of range ({limits})")

    def dotted_key(self, words: list[str], at: int) -> int:
        """`--option.key value`: vLLM makes one JSON of all keys of a flag; it replaces any other."""
        name, equals, text = words[at].partition("=")
        if not equals and at + 1 == len(words):
            self.refuse(Kind.MISSING_VALUE, name, "needs a value")
            return at + 1
        flag, *keys = name.split(".")
        dest = self.dest_of(flag)
        value: Any = loose_json(text if equals else words[at + 1])
        if dest is not None:
            self.nest(dest, flag, keys, value)
        return at + (1 if equals else 2)

    def nest(self, dest: str, flag: str, keys: list[str], value: Any) -> None:  # noqa: ANN401
        option = self.schema["options"][dest]
        token = ".".join((flag, *keys))
        if option["type"] not in ("json", "str|json"):
            self.refuse(Kind.UNKNOWN_KEY, token, "the option is not JSON: it has no keys", full_flag(option))
            return
        if self.dotted.get(dest) != flag:
            self.once(dest, option, flag)
            self.dotted[dest] = flag
        node = self.values.setdefault(dest, {})
        for key in keys[:-1]:
            node = node.setdefault(key, {}) if isinstance(node, dict) else {}
        self.put(node if isinstance(node, dict) else {}, keys[-1], token, value)

    def put(self, node: dict[str, Any], key: str, token: str, value: Any) -> None:  # noqa: ANN401
        if key.endswith("+"):
            node.setdefault(key[:-1], []).extend(str(value).split(",") if isinstance(value, str) else [value])
            return
        if key in node:
            self.refuse(Kind.DUPLICATE, token, "given twice: vLLM keeps only the last one", token)
        node[key] = value


def size(text: str) -> int:
    """`8K` is 8192, `8k` is 8000; decimals only with the lower-case, decimal suffixes (as vLLM)."""
    found = SIZE.fullmatch(text.strip())
    if not found:
        return int(text)
    whole, decimals, letter = found.groups()
    if decimals and letter.isupper():
        raise ValueError(f"decimals need the lower-case suffix {letter.lower()}")
    return int(float(whole + (decimals or "")) * SIZES[letter]) if decimals else int(whole) * SIZES[letter]


def size_or_auto(text: str) -> int:
    return -1 if text.strip().lower() in ("-1", "auto") else size(text)


def expanded_json(text: str) -> Any:  # noqa: ANN401
    """JSON in which bare numbers may carry a size suffix (`{"cpu_bytes_to_use": 80m}`), as vLLM allows."""
    parts = re.split(r'("(?:[^"\\]|\\.)*")', text)
    parts[::2] = [
        re.sub(r"\b\d+(?:\.\d+)?[kKmMgGtT]\b", lambda found: str(size(found[0])), part) for part in parts[::2]
    ]
    return json.loads("".join(parts))


def text_or_json(text: str) -> Any:  # noqa: ANN401
    return json.loads(text) if re.fullmatch(r"(?s)\s*{.*}\s*", text) else text


def loose_json(text: str) -> Any:  # noqa: ANN401
    """The value of a dotted key: JSON, else a size, else the text itself."""
    for convert in (json.loads, size):
        try:
            return convert(text)
        except ValueError:
            continue
    return text


def within(option: Mapping[str, Any], value: float) -> bool:
    low = value >= option.get("min", value) and ("above" not in option or value > option["above"])
    return low and value <= option.get("max", value) and ("below" not in option or value < option["below"])


def form(flag: str, value: str, joint: str = " ") -> str:
    return f"{flag}{joint}{value}" if value else ""


def example(option: Mapping[str, Any]) -> str:
    values = {"int": "1", "float": "0.9", "size": "8192", "size|auto": "8192", "json": "'{}'"}
    return str(option.get("default") or next(iter(option.get("choices", ())), values.get(option["type"], "VALUE")))


CONVERTERS: dict[str, Any] = {
    "str": str,
    "int": int,
    "float": float,
    "size": size,
    "size|auto": size_or_auto,
    "json": expanded_json,
    "str|json": text_or_json,
}
NOUNS = {
    "int": "a whole number",
    "float": "a number",
    "size": "a whole number (8192, 8K, 8k)",
    "size|auto": "a whole number (8192, 8K, 8k) or auto",
    "json": "JSON",
    "str|json": "JSON",
    "bool": "true or false",
    "str": "a text",
    "list": "a list",
    "dict": "an object",
}
