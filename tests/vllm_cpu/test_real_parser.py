"""Our reading of command lines against the parser of the installed vLLM CPU build itself.

`BRINGUP_VLLM_WHEEL` names a published wheel of another version: its parser then runs, unpacked, over the dependencies
of that build, as our schema of it was made. None of its compiled code does.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from launch.catalogue.cases import filled
from launch.catalogue.find import Catalogue
from launch.resolve import resolve
from launch.vllm_args import Kind, parse
from launch.vllm_args.keys import unknown_keys
from launch.vllm_args.make_schema import unpack, version_of
from launch.vllm_args.parse import Parsed, Refusal, load
from tests.golden.test_recipe_commands import CASES, OURS
from tests.unit.launch.vllm_args.test_mutations import MUTATIONS

pytestmark = [pytest.mark.vllm_cpu, pytest.mark.serial]

ENVIRONMENTS = Path("/var/lib/bringup/envs")
# Read elsewhere or not at all: a file that is not there, a syntax of its own (rules.py), a list in one word.
NOT_READ = {"--config", "--lora-modules", "--device-ids"}
# Ours on purpose: vLLM takes an abbreviation, and of an option that is given twice the last.
STRICTER = (Kind.ABBREVIATION, Kind.DUPLICATE)
ASK = """
import contextlib, importlib, io, json, logging, sys
logging.disable(logging.CRITICAL)
found = None
for name in ("vllm.entrypoints.common.cli_args", "vllm.entrypoints.launchers.cli_args"):
    with contextlib.suppress(ModuleNotFoundError):
        found = found or importlib.import_module(name)
parser = found.make_arg_parser(importlib.import_module("vllm.utils.argparse_utils").FlexibleArgumentParser())
answers = []
for argv in json.load(open(sys.argv[1])):
    try:
        with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
            values = vars(parser.parse_args(argv))
        plain = (str, int, float, bool, list, type(None))
        answers.append({k: v for k, v in values.items() if isinstance(v, plain)})
    except (SystemExit, Exception):
        answers.append(None)
json.dump(answers, open(sys.argv[2], "w"), default=str)
"""


@dataclass(frozen=True)
class Real:
    """A Python with a real vLLM, its version, and what it takes to import that."""

    python: str
    version: str
    env: Mapping[str, str] = field(default_factory=dict)


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Real:
    python, version = real_python()
    wheel = os.environ.get("BRINGUP_VLLM_WHEEL")
    if not wheel:
        return Real(python, version)
    folder = tmp_path_factory.mktemp("wheel")
    unpack(Path(wheel), folder)
    return Real(python, version_of(Path(wheel)), {"PYTHONPATH": str(folder), "VLLM_TARGET_DEVICE": "cpu"})


def real_python() -> tuple[str, str]:
    """A Python with the real vLLM, and its version: of `BRINGUP_VLLM_PYTHON`, else of a complete environment."""
    named = os.environ.get("BRINGUP_VLLM_PYTHON")
    pythons = [Path(named)] if named else sorted(ENVIRONMENTS.glob("*/bin/python"))
    for python in pythons:
        marker = python.parents[1] / "bringup-env.json"
        if marker.exists():
            says = json.loads(marker.read_text(encoding="utf-8"))
            if not says["simulated"]:
                return str(python), says["vllm"]
    pytest.skip("no environment with the real vLLM: deploy tiny-dense on this machine first")


def ask(real: Real, commands: list[list[str]], folder: Path) -> list[dict[str, object] | None]:
    asked, said = folder / "asked.json", folder / "said.json"
    asked.write_text(json.dumps(commands), encoding="utf-8")
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "VLLM_NO_USAGE_STATS": "1", **real.env}
    subprocess.run([real.python, "-c", ASK, str(asked), str(said)], check=True, env=env, timeout=300)
    found: list[dict[str, object] | None] = json.loads(said.read_text(encoding="utf-8"))
    return found


def our_commands() -> list[list[str]]:
    catalogue, found = Catalogue.of(), []
    for name, strategy, nodes in (("tiny-dense", "multi_node_dp", 2), ("tiny-moe", "multi_node_dep", 2)):
        resolved = resolve(catalogue.find(name), strategy=strategy, hardware="cpu", node_count=nodes)
        found += [list(one.argv[2:]) for one in resolved.processes]
    return found


def golden_commands(version: str) -> tuple[list[list[str]], list[list[str]]]:
    """The reviewed commands of our recipes: those for `version`, and of the others those with options that it has.

    What a file on another host decides is left out: this parser looks at the model's folder for nothing else.
    """
    own, shared, flags = [], [], load(version)["flags"]
    for id_, offer in CASES:
        found = OURS.find(id_)
        for one in offer.resolve(found).processes:
            argv = list(filled(one.argv)[2:])
            given = {word.partition("=")[0].partition(".")[0] for word in argv[1:] if word.startswith("--")}
            if found.recipe.bringup.vllm_version == version.partition("+")[0]:
                own.append(argv)
            elif given <= set(flags):
                shared.append(argv)
    return unique(own), unique(shared)


def unique(commands: list[list[str]]) -> list[list[str]]:
    return [list(one) for one in dict.fromkeys(map(tuple, commands))]


def single_options(version: str) -> list[list[str]]:
    """Every spelling of every option, with a value of its kind and with one that is not."""
    options = [one for one in load(version)["options"].values() if not NOT_READ & set(one["flags"])]
    return [
        ["org/m", flag, *value]
        for option in options
        for flag in option["flags"]
        for value in ([[]] if option["type"] == "flag" else [[example(option)], ["certainly-wrong"]])
    ]


def example(option: dict[str, Any]) -> str:
    usual = {"json": "{}", "float": "0.5"}.get(option["type"], "1")
    return str(option.get("choices", option.get("known", [usual]))[0])


def mutated(commands: list[list[str]]) -> list[list[str]]:
    rng, found = random.Random(7), []  # noqa: S311  (repeatable, not secret)
    for mutate in MUTATIONS:
        faults = [mutate(["vllm", "serve", *rng.choice(commands)], rng) for _ in range(20)]
        found += [fault[0][2:] for fault in faults if fault is not None]
    return found


def parser_refusals(parsed: Parsed) -> list[Refusal]:
    """What argparse itself would refuse: its own kinds, and keys of the classes that it builds."""
    late = {"speculative_config", "watermark_config", "diffusion_config"}
    bounds = [one for one in parsed.refusals if "out of range" in one.reason]
    keys = [
        one for one in unknown_keys(parsed) if not any(one.token.startswith(parsed.given.get(d, "\0")) for d in late)
    ]
    return [one for one in [*parsed.refusals, *keys] if one.kind not in STRICTER and one not in bounds]


def test_the_real_parser_takes_and_refuses_what_we_do(real: Real, tmp_path: Path) -> None:
    version = real.version
    commands = our_commands()
    asked = [*commands, *single_options(version), *mutated(commands)]
    answers = ask(real, asked, tmp_path)
    assert all(answer is not None for answer in answers[: len(commands)]), "the commands of our own recipes"
    differing: list[object] = []
    for argv, answer in zip(asked, answers, strict=True):
        parsed = parse(argv, version)
        refused = parser_refusals(parsed)
        if (answer is None) != bool(refused):
            differing.append((argv[-4:], "refused" if answer is None else "taken", [str(one) for one in refused]))
        elif answer is not None and not parsed.refusals:
            differing += [(argv[-4:], key, value) for key, value in differing_values(parsed, answer)]
    assert not differing, "\n".join(map(str, differing))


def test_the_real_parser_reads_the_reviewed_commands_as_we_do(real: Real, tmp_path: Path) -> None:
    """Those for its own version it takes; those for another it takes or refuses as our schema of its version says."""
    version = real.version
    own, shared = golden_commands(version)
    assert own
    assert len(own) + len(shared) > 100
    answers = ask(real, [*own, *shared], tmp_path)
    assert all(answer is not None for answer in answers[: len(own)])
    differing: list[object] = []
    for argv, answer in zip([*own, *shared], answers, strict=True):
        parsed = parse(argv, version)
        refused = parser_refusals(parsed)
        if (answer is None) != bool(refused):
            differing.append((argv, "refused" if answer is None else "taken", [str(one) for one in refused]))
        elif answer is not None:
            differing += [(argv[0], key, value) for key, value in differing_values(parsed, answer)]
    assert not differing, "\n".join(map(str, differing[:20]))


def differing_values(parsed: Parsed, answer: dict[str, object]) -> list[tuple[str, object]]:
    shown = {key: value for key, value in parsed.values.items() if key in answer and not isinstance(value, dict)}
    return [
        (key, (value, answer[key])) for key, value in shown.items() if value != answer[key] and key != "lora_modules"
    ]
