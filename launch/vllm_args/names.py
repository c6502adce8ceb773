"""Names that vLLM's parser leaves open: an unknown one fails at the start or only at the first request."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from launch.vllm_args.parse import Kind, Parsed, Refusal, form, load, nearest

# Registries that a plugin named on the same command line may extend.
PLUGINS = {"tool_call_parser": "tool_parser_plugin", "reasoning_parser": "reasoning_parser_plugin"}
JUDGED_ELSEWHERE = {"chat_template"}  # a path, a text or a name: see rules.py


def unknown_names(parsed: Parsed) -> Iterator[Refusal]:
    schema = load(parsed.version)
    for dest, value in parsed.values.items():
        option = schema["options"][dest]
        names = schema["registries"].get(dest) or option.get("known")
        if not names or dest in JUDGED_ELSEWHERE or plugged(parsed, dest):
            continue
        for name in value if isinstance(value, list) else [value]:
            if isinstance(name, str) and not registered(dest, name, names):
                close = nearest(name, names) or str(option.get("default", ""))
                yield refusal(parsed, dest, parsed.given[dest], name, form(parsed.given[dest], close))
    yield from unknown_connector(parsed)


def unknown_connector(parsed: Parsed) -> Iterator[Refusal]:
    transfer = parsed.values.get("kv_transfer_config")
    if not isinstance(transfer, dict) or "kv_connector_module_path" in transfer:
        return
    name, names = transfer.get("kv_connector"), load(parsed.version)["registries"]["kv_connector"]
    if isinstance(name, str) and name not in names:
        flag = parsed.given["kv_transfer_config"] + ".kv_connector"
        yield refusal(parsed, "kv_connector", flag, name, form(flag, nearest(name, names)))


def refusal(parsed: Parsed, what: str, flag: str, name: str, close: str) -> Refusal:
    schema = load(parsed.version)
    names = schema["registries"].get(what) or schema["options"][what]["known"]
    noun = what.replace("_", " ")
    reason = f"vLLM {parsed.version} knows no such {noun}; it knows {', '.join(names)}"
    return Refusal(Kind.UNKNOWN_NAME, f"{flag} {name}", reason, close)


def plugged(parsed: Parsed, dest: str) -> bool:
    return bool(parsed.values.get(PLUGINS.get(dest, "")))


def registered(dest: str, name: str, names: Sequence[str]) -> bool:
    """A dotted name is the class of a plugin; attention backends are matched without regard to case."""
    if dest in ("attention_backend", "mm_encoder_attn_backend"):
        return name.upper() in {*names, "AUTO"}
    none = dest == "reasoning_parser" and name.lower() in ("", "none")
    return name in names or none or (dest == "distributed_executor_backend" and "." in name)
