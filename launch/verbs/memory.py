"""How a launch would fill its GPUs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from inventory.errors import BadInput, ExitCode
from launch import request
from launch.console.report import Report, print_json, print_lines
from launch.verbs import arguments

if TYPE_CHECKING:
    from collections.abc import Mapping

    from launch.catalogue.find import Found
    from launch.memory.architecture import Known
    from launch.memory.of_recipe import Forecast
    from launch.resolve.gates import Place

MOST_CONTEXT = 100_000_000


def memory(*, model: str, hosts: str, recipes: str, context: str, json: bool, **flags: str) -> ExitCode:
    """Predict on hosts as they are, or with `--hardware` on hosts that nobody asks."""
    from launch.memory.of_recipe import architecture_of
    from launch.memory.show import document, lines

    found = arguments.recipe(recipes, model)
    hosts = hosts or ("all" if flags["replay"] else "")
    if bool(hosts) == bool(flags["hardware"]):
        raise _one_of(hosts, flags["hardware"])
    length = request.count("context", context, 1, MOST_CONTEXT) if context else None
    known = _of_file(flags["config"]) if flags["config"] else None
    _refuse_too_long(length, known or architecture_of(found.recipe))
    now = _on_hosts(found, hosts, flags, length, known) if hosts else _on_hardware(found, flags, length, known)
    if now is None:
        raise _unknown(found)
    if json:
        print_json("memory", document(now))
    else:
        print_lines(lines(now))
    return ExitCode.CHECK_FAILED if now.fits is False else ExitCode.DONE


def _on_hosts(
    found: Found, hosts: str, flags: Mapping[str, str], context: int | None, known: Known | None
) -> Forecast | None:
    from launch.choosing.outline import outline
    from launch.memory.of_recipe import of_decision

    wanted = request.Request(
        model=found.id,
        variant=flags["variant"] or None,
        strategy=flags["strategy"] or None,
        nodes=request.count("nodes", flags["nodes"], 1, 999) if flags["nodes"] else None,
    )
    answered = arguments.all_answered(Report(), hosts, flags["inventory"], flags["replay"])
    facts = answered.facts()
    decision = outline(found, wanted, tuple(answered.hosts.values()), facts).decision
    now = of_decision(decision, facts, context=context, known=known)
    return now if known else _of_place(now, decision.choice.place, len(decision.placement.nodes))


def _on_hardware(found: Found, flags: Mapping[str, str], context: int | None, known: Known | None) -> Forecast | None:
    from launch.catalogue.show import show
    from launch.memory.gpus import of_profile
    from launch.memory.of_recipe import forecast
    from launch.resolve.gates import Place

    number = request.count("nodes", flags["nodes"], 1, 16) if flags["nodes"] else 0
    shown = show(found, hardware=flags["hardware"], nodes=number, variant=flags["variant"], strategy=flags["strategy"])
    Report().say(f"{shown.nodes} x {shown.hardware}, variant {shown.variant}, {shown.strategy}, vLLM {shown.vllm}")
    gpu = of_profile(shown.hardware, found.library.profile(shown.hardware))
    argv = shown.commands[0].argv
    now = forecast(found.recipe, shown.variant, argv, shown.vllm, gpu, context=context, known=known)
    place = Place(found.recipe, found.library, shown.variant, shown.hardware)
    return now if known else _of_place(now, place, shown.nodes)


def _of_place(now: Forecast | None, place: Place, nodes: int) -> Forecast | None:
    """With what the recipe itself says to need."""
    from launch.plans.fit import short_of_minimum

    if now is None:
        return None
    return replace(now, lacking=short_of_minimum(place, now, nodes=nodes, gpus=now.parallel.gpus))


def _of_file(path: str) -> Known:
    from json import JSONDecodeError, loads

    from launch.memory.from_config import of_config

    try:
        config = loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, JSONDecodeError) as error:
        raise request.refused("config", path, f"the config.json of a model: {error}") from None
    if not isinstance(config, dict):
        raise request.refused("config", path, "the config.json of a model, a JSON object")
    return of_config(config, path)


def _refuse_too_long(length: int | None, known: Known | None) -> None:
    most = known.architecture.context if known else None
    if length and most and length > most:
        raise request.refused("context", str(length), f"at most {most}, the longest that the model is made for")


def _one_of(hosts: str, hardware: str) -> BadInput:
    return BadInput(
        "either --hosts or --hardware",
        id="flag-missing" if not hosts else "flag-value",
        observed=f'--hosts "{hosts}" --hardware "{hardware}"',
        required="--hosts to ask hosts, or --hardware (and --nodes) for a plan without them",
        next_command="invoke memory --model deepseek-v4-pro --hardware gb200 --nodes 2",
    )


def _unknown(found: Found) -> BadInput:
    return BadInput(
        f"nothing is known of the architecture of {found.id}",
        id="architecture-absent",
        observed="no bringup.architecture in the recipe: no source gives its layers and heads",
        required="the model's config.json, or an architecture in launch/memory/architectures",
        next_command=f"invoke memory --model {found.id.rpartition('/')[2].lower()} --config FILE --hardware ...",
    )
