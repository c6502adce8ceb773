"""Seeded faults in commands that vLLM takes: nearly all must be refused, and for the right reason."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence

from launch.catalogue.find import Catalogue
from launch.resolve import resolve
from launch.vllm_args import Kind, Refusal, check
from launch.vllm_args.parse import load

VERSION = "0.33.0"
SEED, EACH = 20261129, 25
PARALLEL = ("--data-parallel-size", "--data-parallel-size-local", "--data-parallel-hybrid-lb")

Fault = tuple[list[str], Kind]
Mutation = Callable[[list[str], random.Random], Fault | None]


def valid_commands() -> list[list[str]]:
    """Of our recipes, head and follower, with everything switched on."""
    catalogue, found = Catalogue.of(), []
    for name, strategy, hardware, nodes in (
        ("deepseek-v4-pro", "multi_node_dep", "gb200", 2),
        ("deepseek-v4-pro", "single_node_dep", "h200", 1),
        ("gpt-oss-120b", "single_node_tp", "b200", 1),
        ("tiny-dense", "multi_node_dp", "cpu", 2),
    ):
        recipe = catalogue.find(name)
        features = list(recipe.recipe.features)
        resolved = resolve(recipe, strategy=strategy, hardware=hardware, node_count=nodes, features=features)
        found += [[word.replace("$HEAD_IP", "10.0.0.1") for word in one.argv] for one in resolved.processes]
    return found


def flags_at(argv: Sequence[str]) -> list[int]:
    return [at for at, word in enumerate(argv) if at > 2 and word.startswith("--") and "." not in word]


def misspelt(argv: list[str], rng: random.Random) -> Fault | None:
    at = rng.choice(flags_at(argv))
    letter = rng.randrange(3, len(argv[at]))
    wrong = argv[at][:letter] + rng.choice("qxz") + argv[at][letter:]
    return [*argv[:at], wrong, *argv[at + 1 :]], Kind.UNKNOWN_FLAG


def wrong_choice(argv: list[str], rng: random.Random) -> Fault:
    options = load(VERSION)["options"]
    closed = [one for one in options.values() if one.get("choices") and one["flags"][0] not in argv]
    option = rng.choice([one for one in closed if one["flags"][0].startswith("--") and one["type"] == "str"])
    return [*argv, option["flags"][0], rng.choice(option["choices"]) + "_v9"], Kind.BAD_CHOICE


def wrong_type(argv: list[str], rng: random.Random) -> Fault:
    options = load(VERSION)["options"]
    numbers = [one for one in options.values() if one["type"] in ("int", "float", "size")]
    option = rng.choice([one for one in numbers if one["flags"][0] not in argv and "choices" not in one])
    return [*argv, option["flags"][0], rng.choice(["many", "1x", "eight"])], Kind.BAD_TYPE


def json_key(argv: list[str], rng: random.Random) -> Fault:
    schema = load(VERSION)
    options = [one for one in schema["options"].values() if "config" in one and one["flags"][0] not in argv]
    option = rng.choice(options)
    key = rng.choice(sorted(schema["configs"][option["config"]]))
    return [*argv, option["flags"][0], json.dumps({f"{key}s_x": 1})], Kind.UNKNOWN_KEY


def alias(argv: list[str], rng: random.Random) -> Fault | None:
    options = load(VERSION)["options"]
    given = [
        one for one in options.values() if one["type"] == "int" and len(one["flags"]) > 1 and one["flags"][0] in argv
    ]
    if not given:
        return None
    return [*argv, rng.choice(rng.choice(given)["flags"][1:]), "1"], Kind.DUPLICATE


def conflicting_modes(argv: list[str], rng: random.Random) -> Fault:
    bare, skip = [], False
    for word in argv:
        if skip:
            skip = False
        elif word.startswith("--data-parallel") or word in ("--headless", "--api-server-count"):
            skip = word not in ("--data-parallel-hybrid-lb", "--headless")
        else:
            bare.append(word)
    gang = ["--data-parallel-size", "8", "--data-parallel-size-local", "4", "--data-parallel-address", "h"]
    wrong = rng.choice(
        [
            [*gang, "--data-parallel-hybrid-lb", "--headless"],
            [*gang, "--data-parallel-hybrid-lb", "--data-parallel-rank", "1"],
            [*gang, "--headless", "--api-server-count", "4"],
            [*gang, "--data-parallel-start-rank", "4"],
            gang[:-2],
            [*gang[:2], "--data-parallel-hybrid-lb"],
            ["--tensor-parallel-size", "8", "--nnodes", "3", "--master-addr", "h"],
        ]
    )
    if "--tensor-parallel-size" in wrong and "--tensor-parallel-size" in bare:
        wrong = wrong[2:]
    return [*bare, *wrong], Kind.CONFLICT


def bad_json(argv: list[str], rng: random.Random) -> Fault:
    options = [one for one in load(VERSION)["options"].values() if "config" in one and one["flags"][0] not in argv]
    return [*argv, rng.choice(options)["flags"][0], rng.choice(['{"a":', "{a:1}", "[", "{'a':1}"])], Kind.BAD_JSON


def foreign_parser(argv: list[str], rng: random.Random) -> Fault | None:
    own = "deepseek" if "deepseek" in argv[2].lower() else "openai"
    if own == "openai" and "gpt-oss" not in argv[2]:
        return None
    parsers = [one for one in load(VERSION)["registries"]["tool_call_parser"] if not one.startswith(own)]
    telling = [one for one in parsers if one.startswith(("kimi_", "minimax_", "glm", "qwen3", "gemma4", "mistral"))]
    words = [word for word in argv if word != "--enable-auto-tool-choice"]
    if "--tool-call-parser" in words:
        at = words.index("--tool-call-parser")
        words[at : at + 2] = []
    return [*words, "--tool-call-parser", rng.choice(telling)], Kind.CONFLICT


def missing_value(argv: list[str], rng: random.Random) -> Fault | None:
    options, flags = load(VERSION)["options"], load(VERSION)["flags"]
    valued = [at for at in flags_at(argv) if options[flags[argv[at]]]["type"] != "flag"]
    if not valued:
        return None
    at = rng.choice(valued)
    if "nargs" in options[flags[argv[at]]] or (at + 2 < len(argv) and not argv[at + 2].startswith("--")):
        return None
    return [*argv[: at + 1], *argv[at + 2 :]], Kind.MISSING_VALUE


def unregistered(argv: list[str], rng: random.Random) -> Fault | None:
    """A name that is nearly right: its dashes, a letter too many, another version's."""
    schema = load(VERSION)
    dest = rng.choice(sorted(set(schema["registries"]) & set(schema["options"]) - {"chat_template"}))
    flags, names = schema["options"][dest]["flags"], schema["registries"][dest]
    wrong = rng.choice(names) + rng.choice(["_moe", "_v9", "x"])
    if wrong in names or "choices" in schema["options"][dest] or set(flags) & set(argv):
        return None
    return [*argv, flags[0], wrong], Kind.UNKNOWN_NAME


def json_value(argv: list[str], rng: random.Random) -> Fault | None:
    schema = load(VERSION)
    options = [one for one in schema["options"].values() if "config" in one and one["flags"][0] not in argv]
    option = rng.choice(options)
    wrong = {"bool": "maybe", "int": "many", "float": "lots", "list": 7, "dict": "x"}
    keys = {k: hint.rstrip("?") for k, hint in schema["configs"][option["config"]].items() if isinstance(hint, str)}
    typed = [key for key, hint in keys.items() if hint in wrong]
    if not typed:
        return None
    key = rng.choice(typed)
    return [*argv, option["flags"][0], json.dumps({key: wrong[keys[key]]})], Kind.BAD_TYPE


MUTATIONS: tuple[Mutation, ...] = (
    misspelt,
    wrong_choice,
    wrong_type,
    json_key,
    alias,
    conflicting_modes,
    bad_json,
    foreign_parser,
    missing_value,
    unregistered,
    json_value,
)


def test_the_commands_are_valid_before_they_are_changed() -> None:
    assert [check(argv, {}, VERSION) for argv in valid_commands()] == [()] * 6


def test_nearly_all_faults_are_refused_for_the_right_reason() -> None:
    rng, commands, missed = random.Random(SEED), valid_commands(), []  # noqa: S311  (repeatable, not secret)
    for mutate in MUTATIONS:
        made = 0
        while made < EACH:
            fault = mutate(list(rng.choice(commands)), rng)
            if fault is None:
                continue
            made += 1
            if not any(one.kind is fault[1] for one in refusals(fault[0])):
                missed.append((mutate.__name__, fault[0][-4:]))
    assert len(MUTATIONS) * EACH >= 200
    assert len(missed) <= len(MUTATIONS) * EACH // 40, missed


def refusals(argv: Sequence[str]) -> tuple[Refusal, ...]:
    return check(argv, {}, VERSION)
