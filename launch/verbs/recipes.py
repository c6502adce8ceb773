"""The recipe catalogue."""

from __future__ import annotations

from inventory.errors import ExitCode
from launch import request
from launch.console.report import Report, print_json, print_lines, print_table
from launch.verbs import arguments


def recipes_list(*, recipes: str, json: bool) -> ExitCode:
    from launch.console.tables import recipe_rows

    catalogue = arguments.catalogue(recipes)
    found = [catalogue.find(one) for one in catalogue.ids()]
    if json:
        print_json("recipes", {one.id: one.recipe for one in found})
    else:
        print_table(*recipe_rows(found))
    return ExitCode.DONE


def recipes_show(
    *, model: str, nodes: str, recipes: str, load_balancing: str, ray: bool, json: bool, **choice: str
) -> ExitCode:
    from launch.catalogue import show

    found = arguments.recipe(recipes, model)
    number = request.count("nodes", nodes, 1, 16) if nodes else 0
    on, off = (request.names(choice.pop(flag)) for flag in ("feature", "no_feature"))
    other = show.Other(on, off, request.load_balancing(load_balancing), ray)
    shown = show.show(found, nodes=number, other=other, **choice)
    if json:
        print_json("recipe", shown)
    else:
        print_lines(show.lines(shown, found))
    return ExitCode.DONE


def recipes_validate(*, recipes: str, vllm: str, json: bool) -> ExitCode:
    from launch.catalogue import validate as run

    report = Report()
    version = run.version_for(vllm) if vllm else ""
    judged = []
    for one in run.validate(arguments.catalogue(recipes, ours=not recipes), version, run.every_tenth(report.say)):
        judged.append(one)
        print_lines(() if json else run.lines(one))
    if json:
        print_json("recipe-faults", judged)
    report.say(run.summary(judged, version))
    return ExitCode.CHECK_FAILED if any(map(run.is_refused, judged)) else ExitCode.DONE
