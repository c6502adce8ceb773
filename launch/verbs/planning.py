"""What a launch would be on these hosts, and why."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from inventory.errors import BadInput, ExitCode
from inventory.secret import HIDDEN
from launch import request
from launch.console.report import Report, print_json, print_lines, printable
from launch.verbs import arguments

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from inventory.facts.host import HostFacts
    from inventory.schema import Host
    from launch.catalogue.find import Found
    from launch.plans.document import LaunchPlan
    from launch.request import Request

OUTPUTS = ("text", "json", "shell", "compose")


def plan(  # noqa: PLR0913  (its flags)
    *,
    model: str,
    hosts: str,
    inventory: str,
    recipes: str,
    replay: str,
    output: str,
    save: str,
    compare: str,
    svg: str,
    html: str,
    json: bool,
    **flags: str,
) -> ExitCode:
    output = _output(output, json=json)
    if save and output not in {"shell", "compose"}:
        needs = "--output shell or compose: what else is there goes to stdout"
        raise request.refused("save", save, needs, instead="with --output shell")
    if compare:
        return _compare(compare, json=output == "json")
    wanted = arguments.launch_request(model, **flags)
    from launch.plans.make import refuse_unfit

    found = arguments.recipe(recipes, wanted.model)
    typed = {"model": model, "hosts": hosts, **flags, **({"api_key": HIDDEN} if flags["api_key"] else {})}
    asked = tuple((name.replace("_", "-"), value) for name, value in typed.items() if value)
    made = _planned(found, wanted, asked, hosts=hosts, inventory=inventory, replay=replay)
    if output in {"shell", "compose"}:
        refuse_unfit(made)
    _draw(made, svg=svg, html=html)
    _show(made, output, save)
    refuse_unfit(made)
    return ExitCode.DONE


def _output(output: str, *, json: bool) -> str:
    if output and output not in OUTPUTS:
        raise request.refused("output", output, " or ".join(OUTPUTS))
    if json and output not in {"", "json"}:
        raise request.refused("output", output, "nothing beside --json, or --output alone", instead="without --json")
    return "json" if json else output or "text"


def _planned(
    found: Found, wanted: Request, asked: tuple[tuple[str, str], ...], *, hosts: str, inventory: str, replay: str
) -> LaunchPlan:
    from launch.choosing.outline import outline
    from launch.plans.make import plan_of

    if wanted.hardware and not hosts and not replay:
        chosen, facts = _assumed(found, wanted)
        return plan_of(outline(found, wanted, chosen, facts), facts, asked, assumed=True)
    answered = arguments.all_answered(Report(quiet=bool(replay)), hosts, inventory, replay)
    facts = answered.facts()
    return plan_of(outline(found, wanted, tuple(answered.hosts.values()), facts), facts, asked)


def _assumed(found: Found, wanted: Request) -> tuple[tuple[Host, ...], Mapping[str, HostFacts]]:
    """Hosts as the hardware profile has them: as many as hold the weights, unless --nodes says how many."""
    from launch.catalogue.show import nodes_for
    from launch.choosing.offer import variant_for
    from launch.plans.assumed import assumed
    from launch.resolve.gates import Place

    hardware = wanted.hardware or ""
    request.known("hardware", hardware, found.library.profiles)
    variant = wanted.variant or variant_for(found, hardware)
    place = Place(found.recipe, found.library, variant, hardware)
    nodes = wanted.nodes or nodes_for(place, wanted.strategy or "")
    return assumed(hardware, found.library.profile(hardware), nodes)


def _draw(made: LaunchPlan, *, svg: str, html: str) -> None:
    """Write the pictures that were asked for."""
    if svg:
        from launch.plans.picture.svg import svg as picture

        _write("svg", Path(svg), picture(made))
    if html:
        from launch.plans.picture.page import page

        _write("html", Path(html), page(made))


def _write(flag: str, path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise request.refused(flag, str(path), f"a file that can be written ({error.strerror})") from error
    Report().say(f"drawn as {path}")


def _show(made: LaunchPlan, output: str, save: str) -> None:
    from launch.plans import files
    from launch.plans.document import KIND
    from launch.plans.lines import lines

    if output == "json":
        print_json(KIND, made)
    elif output == "text":
        print_lines(printable(line) for told in lines(made) for line in told.split("\n"))
    else:
        written = list(files.scripts(made) if output == "shell" else files.compose_files(made))
        if save:
            _save(Path(save), written)
        else:
            print_lines(files.bundle(iter(written)))


def _save(folder: Path, written: list[tuple[str, str]]) -> None:
    if folder.exists():
        raise request.refused("save", str(folder), "a folder that is not there yet")
    folder.mkdir(parents=True)
    for name, text in written:
        path = folder / name
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755 if name.endswith(".sh") else 0o644)
    print_lines(_saved(folder, written))


def _saved(folder: Path, written: list[tuple[str, str]]) -> Iterator[str]:
    yield from (str(folder / name) for name, _ in written)


def _compare(both: str, *, json: bool) -> ExitCode:
    from launch.plans.compare import differences, read, summary

    first, comma, second = both.partition(",")
    if not comma or not first.strip() or not second.strip():
        raise BadInput(
            "--compare needs two plans",
            id="flag-value",
            observed=f'--compare "{both}"',
            required="two files of `invoke plan --json`, with a comma between them",
            next_command="invoke plan --compare before.json,after.json",
        )
    changes = differences(read(Path(first.strip())), read(Path(second.strip())))
    if json:
        print_json("plan-differences", changes)
    else:
        print_lines((summary(changes), *(f"  {change}" for change in changes)))
    return ExitCode.DONE
