"""Reads the options of an unpacked vLLM out of its own parser.

Run by the Python of an environment that has vLLM's dependencies, never by ours:

    PYTHONPATH=UNPACKED_WHEEL VLLM_TARGET_DEVICE=cpu ENV/bin/python dump_parser.py OUT.json
"""

from __future__ import annotations

import argparse
import dataclasses
import enum
import importlib
import json
import sys
import types
import typing
from pathlib import Path
from typing import Any

PARSER_MODULES = ("vllm.entrypoints.common.cli_args", "vllm.entrypoints.launchers.cli_args")
# JSON options that are parsed to a plain dict and given to this class later, when the engine is made.
LATE_CLASSES = {
    "speculative_config": ("vllm.config", "SpeculativeConfig"),
    "watermark_config": ("vllm.config.watermarking", "WatermarkConfig"),
    "diffusion_config": ("vllm.config", "DiffusionConfig"),
}
# Classes of the engine's own state: an operator does not write them as JSON.
INTERNAL = {"VllmConfig", "ModelConfig", "ParallelConfig", "LoadConfig", "MultiModalConfig"}
NUMBERS = {"human_readable_int": "size", "human_readable_int_or_auto": "size|auto"}
TEXTS = {"union_dict_and_str": "str|json", "parse_reasoning_parser": "str"}


class Configs:
    """The JSON config classes met so far, by name: key -> a type text, a list of choices, or a reference.

    A type text is `bool`, `int`, `float`, `str`, `list`, `dict`, `any`, `config:CLASS` or `enum:CLASS`, with
    a final `?` when null is accepted. A list is closed; `{"known": [...]}` is open to plugins.
    """

    def __init__(self) -> None:
        self.found: dict[str, dict[str, Any]] = {}
        self.enums: dict[str, list[Any]] = {}

    def add(self, cls: Any) -> str:  # noqa: ANN401  (a class of another program)
        name = str(cls.__name__)
        if name not in self.found:
            self.found[name] = {}
            hints = hints_of(cls)
            self.found[name] = {
                field.name: self.describe(hints.get(field.name, field.type))
                for field in dataclasses.fields(cls)
                if settable(field)
            }
        return name

    def describe(self, hint: Any) -> Any:  # noqa: ANN401
        plain, optional = without_none(hint)
        literals = [one for one in plain if typing.get_origin(one) is typing.Literal]
        if literals:
            names = [value for one in literals for value in typing.get_args(one)]
            return names if len(literals) == len(plain) else {"known": names}
        if len(plain) != 1:
            return "any"
        one = self.single(plain[0])
        return f"{one}?" if optional and isinstance(one, str) and one != "any" else one

    def single(self, hint: Any) -> Any:  # noqa: ANN401
        origin = typing.get_origin(hint) or hint
        if isinstance(origin, type) and issubclass(origin, enum.Enum):
            self.enums[origin.__name__] = [member.name for member in origin] + simple_values(origin)
            return f"enum:{origin.__name__}"
        if dataclasses.is_dataclass(origin):
            return self.dataclass(origin)
        if origin in (bool, int, float, str):
            return getattr(origin, "__name__", "any")
        return {list: "list", tuple: "list", set: "list", dict: "dict"}.get(origin, "any")

    def dataclass(self, cls: Any) -> Any:  # noqa: ANN401
        if cls.__name__ in INTERNAL:
            return "any"
        if cls.__name__ == "QuantKey":  # written by name
            quantization = importlib.import_module("vllm.config.quantization")
            return {"known": sorted(quantization.QUANT_KEY_NAMES)}
        return f"config:{self.add(cls)}"


def hints_of(cls: Any) -> dict[str, Any]:  # noqa: ANN401
    try:
        return typing.get_type_hints(cls, include_extras=False)
    except (NameError, TypeError):
        return {}


def settable(field: dataclasses.Field[Any]) -> bool:
    default = field.default
    return field.init and getattr(default, "init", None) is not False


def simple_values(kind: Any) -> list[Any]:  # noqa: ANN401
    """The members' values that a JSON text can say: numbers and short words, not class paths."""
    words = [m.value for m in kind if isinstance(m.value, str) and m.value and "." not in m.value]
    return words + [m.value for m in kind if isinstance(m.value, int)]


def without_none(hint: Any) -> tuple[list[Any], bool]:  # noqa: ANN401
    """The members of a union, `Annotated` taken off, and whether None is one of them."""
    if typing.get_origin(hint) is typing.Annotated:
        return without_none(typing.get_args(hint)[0])
    if typing.get_origin(hint) not in (typing.Union, types.UnionType):
        return [hint], False
    members = [without_none(one) for one in typing.get_args(hint)]
    plain = [one for some, _ in members for one in some if one is not type(None)]
    return plain, any(opt or type(None) in some for some, opt in members)


def type_of(action: argparse.Action, configs: Configs) -> dict[str, Any]:
    """`type`, and `optional`/`config` where they apply, from the converter that the parser calls."""
    convert: Any = action.type
    found: dict[str, Any] = {}
    while getattr(convert, "__name__", "") in ("_optional_type", "_parse_type"):
        found |= {"optional": True} if convert.__name__ == "_optional_type" else {}
        convert = convert.__closure__[0].cell_contents
    name = getattr(convert, "__name__", "str") if convert else "str"
    if convert is json.loads:
        return {"type": "json"} | found
    if name == "parse_dataclass":
        return {"type": "json", "config": configs.add(convert.__defaults__[0])} | found
    if name == "<lambda>":
        return {"type": "str"} | ({"folded": True} if convert("A-B") == "a_b" else {}) | found
    return {"type": NUMBERS.get(name) or TEXTS.get(name) or name} | found


def bounds_of(action: argparse.Action, title: str | None) -> dict[str, Any]:
    """Bounds that vLLM's config class puts on the number, for example {"min": 1}."""
    cls = getattr(importlib.import_module("vllm.config"), title or "", None)
    field = getattr(cls, "__dataclass_fields__", {}).get(action.dest)
    names = {"Ge": ("ge", "min"), "Gt": ("gt", "above"), "Le": ("le", "max"), "Lt": ("lt", "below")}
    marks = [(type(mark).__name__, mark) for mark in getattr(getattr(field, "default", None), "metadata", ())]
    return {names[kind][1]: getattr(mark, names[kind][0]) for kind, mark in marks if kind in names}


def option(action: argparse.Action, title: str | None, spellings: list[str], configs: Configs) -> dict[str, Any]:
    found: dict[str, Any] = {"flags": spellings, "group": title}
    kind = type(action).__name__
    if action.nargs == 0:
        negative = sorted(getattr(action, "negative_option_strings", ()) or [s for s in spellings if s[:5] == "--no-"])
        found |= {"type": "flag"} | ({"off": negative} if negative and kind != "_StoreTrueAction" else {})
    else:
        found |= type_of(action, configs) | bounds_of(action, title)
    if action.dest in LATE_CLASSES:
        module, name = LATE_CLASSES[action.dest]
        found["config"] = configs.add(getattr(importlib.import_module(module), name))
    found |= {"nargs": action.nargs} if action.nargs in ("+", "?", "*") else {}
    found |= {"repeat": True} if kind == "_AppendAction" else {}
    found |= {"choices": choices_of(action)} if action.choices else {}
    if isinstance(action.metavar, list | tuple):
        found["known"] = list(action.metavar)
    default = plain_default(action.default)
    return found | ({"default": default} if default is not None and default is not False else {})


def choices_of(action: argparse.Action) -> list[Any]:
    """The choices without null. The processor device's last one is the platform's own name: cuda on a GPU."""
    choices = [choice for choice in action.choices or () if choice is not None]
    return [*choices, "cuda"] if action.dest == "mm_processor_device" else choices


def plain_default(value: Any) -> Any:  # noqa: ANN401
    value = value.value if isinstance(value, enum.Enum) else value
    return value if isinstance(value, str | int | float) and value is not argparse.SUPPRESS else None


def options(parser: argparse.ArgumentParser, configs: Configs) -> dict[str, Any]:
    """All options by `dest`. Hidden spellings stay in the parser's table only, so they come from there."""
    spellings: dict[int, list[str]] = {}
    for text, action in parser._option_string_actions.items():  # noqa: SLF001  (argparse has no public way)
        spellings.setdefault(id(action), []).append(text)
    titles = {id(action): group.title for group in parser._action_groups for action in group._group_actions}  # noqa: SLF001
    skipped = ("help",)
    return {
        action.dest: option(action, titles.get(id(action)), spellings.get(id(action), []), configs)
        for action in parser._actions  # noqa: SLF001
        if action.dest not in skipped
    }


def registries() -> dict[str, list[str]]:
    """Names that the parser does not check: an unknown one fails at the start or at the first request."""

    def of(module: str, attribute: str) -> Any:  # noqa: ANN401
        return getattr(importlib.import_module(module), attribute)

    connectors = of("vllm.distributed.kv_transfer.kv_connector.factory", "KVConnectorFactory")
    templates = of("vllm.transformers_utils.chat_templates.registry", "CHAT_TEMPLATES_DIR")
    found: dict[str, Any] = {
        "tool_call_parser": of("vllm.tool_parsers", "ToolParserManager").list_registered(),
        "reasoning_parser": of("vllm.reasoning", "ReasoningParserManager").list_registered(),
        "tokenizer_mode": ["auto", "slow", *of("vllm.tokenizers.registry", "_VLLM_TOKENIZERS")],
        "attention_backend": [m.name for m in of("vllm.v1.attention.backends.registry", "AttentionBackendEnum")],
        "quantization": of("vllm.model_executor.layers.quantization", "QUANTIZATION_METHODS"),
        "load_format": ["auto", *of("vllm.model_executor.model_loader", "_LOAD_FORMAT_TO_MODEL_LOADER")],
        "kv_connector": connectors._registry,  # noqa: SLF001
        "chat_template": [path.name for path in templates.iterdir()],
    }
    found["mm_encoder_attn_backend"] = found["attention_backend"]
    return {name: sorted(set(names)) for name, names in found.items()}


def main(out: str) -> None:
    for hidden in (
        "torchvision",
        "torchaudio",
        "torchcodec",
    ):  # absent beside a CPU build of torch, and not needed
        sys.modules[hidden] = None  # type: ignore[assignment]
    module = next(found for found in map(try_import, PARSER_MODULES) if found is not None)
    flexible = importlib.import_module("vllm.utils.argparse_utils").FlexibleArgumentParser
    configs = Configs()
    found: dict[str, Any] = {"options": options(module.make_arg_parser(flexible(prog="vllm serve")), configs)}
    found |= {"configs": configs.found, "enums": configs.enums, "registries": registries()}
    found["env"] = sorted(importlib.import_module("vllm.envs").environment_variables)
    Path(out).write_text(json.dumps(found), encoding="utf-8")


def try_import(name: str) -> Any | None:  # noqa: ANN401
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError:
        return None
    return module if hasattr(module, "make_arg_parser") else None


if __name__ == "__main__":
    main(sys.argv[1])
