"""The keys and values of JSON options, checked against the class that vLLM makes of them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from launch.vllm_args.parse import NOUNS, Kind, Parsed, Refusal, form, load, nearest

TRUE_OR_FALSE = {"true", "false", "1", "0", "yes", "no", "y", "n", "on", "off", "t", "f"}


def unknown_keys(parsed: Parsed) -> Iterator[Refusal]:
    """Every key that a config class does not have and every value that it would not take."""
    schema = load(parsed.version)
    for dest, value in parsed.values.items():
        name = schema["options"][dest].get("config")
        if name and isinstance(value, dict):
            # SpeculativeConfig is the one class that is given its keys with `_` for `-`.
            folded = {key.replace("-", "_"): item for key, item in value.items()}
            flag = parsed.given[dest]
            yield from of_class(schema, name, flag, folded if dest == "speculative_config" else value)


def of_class(schema: Mapping[str, Any], name: str, path: str, value: Mapping[str, Any]) -> Iterator[Refusal]:
    known: dict[str, Any] = schema["configs"][name]
    for key, item in value.items():
        if key in known:
            yield from of_value(schema, known[key], f"{path}.{key}", item)
        else:
            reason = f"{name} of vLLM {schema['vllm']} has no such key"
            yield Refusal(Kind.UNKNOWN_KEY, f"{path}.{key}", reason, form(path, nearest(key, known), "."))


def of_value(schema: Mapping[str, Any], hint: Any, path: str, item: Any) -> Iterator[Refusal]:  # noqa: ANN401
    """`hint` as `dump_parser.Configs` describes it."""
    text = hint.rstrip("?") if isinstance(hint, str) else ""
    if text.startswith("config:"):
        # A class may also be written by a short name of its own, which its validator knows.
        yield from (of_class(schema, text.removeprefix("config:"), path, item) if isinstance(item, dict) else ())
    elif text.startswith("enum:") or not text:
        yield from of_choices(schema, hint, path, item)
    elif not fits(hint, item):
        noun = NOUNS.get(text, text)
        yield Refusal(Kind.BAD_TYPE, f"{path} {json.dumps(item)}", f"is not {noun}")


def of_choices(schema: Mapping[str, Any], hint: Any, path: str, item: Any) -> Iterator[Refusal]:  # noqa: ANN401
    """An enum's members are matched without regard to case (`auto`: none of them), a literal's exactly."""
    names, shown = choices(schema, hint), str(item)
    folded = isinstance(hint, str)
    allowed = {str(name).upper() for name in names} | {"AUTO"} if folded else {str(name) for name in names}
    if item is None or (shown.upper() if folded else shown) in allowed:
        return
    reason = f"is not one of {', '.join(map(str, names))}"
    yield Refusal(Kind.BAD_CHOICE, f"{path} {json.dumps(item)}", reason, form(path, nearest(shown, names)))


def choices(schema: Mapping[str, Any], hint: Any) -> list[Any]:  # noqa: ANN401
    if isinstance(hint, str):
        members: list[Any] = schema["enums"][hint.removeprefix("enum:").rstrip("?")]
        return members
    listed: list[Any] = hint["known"] if isinstance(hint, dict) else hint
    return listed


def fits(hint: str, item: Any) -> bool:  # noqa: ANN401
    """Whether pydantic's lax mode turns `item` into the type that `hint` names."""
    plain = hint.rstrip("?")
    if item is None:
        return hint.endswith("?") or plain == "any"
    if plain == "bool":
        return isinstance(item, bool) or str(item).lower() in TRUE_OR_FALSE
    if plain in ("int", "float") and not isinstance(item, bool):
        return bool(re.fullmatch(r"-?\d+(\.0*)?" if plain == "int" else r"-?[\d.]+(e[+-]?\d+)?", str(item)))
    expected = {"str": str, "list": list, "dict": dict}.get(plain)
    return plain == "any" or (expected is not None and isinstance(item, expected))
