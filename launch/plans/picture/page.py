"""The picture and all of its plan as one HTML file that needs nothing else."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from launch.plans.lines import memory_lines
from launch.plans.picture.svg import svg
from launch.resolve.words import shown

if TYPE_CHECKING:
    from jinja2 import Template

    from launch.plans.document import Host, LaunchPlan


def page(plan: LaunchPlan) -> str:
    return _template().render(
        plan=plan,
        picture=svg(plan),
        memory=list(memory_lines(plan.memory)),
        commands=[(host, command_of(host)) for host in plan.hosts],
    )


@cache
def _template() -> Template:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        keep_trailing_newline=True,
    )
    return environment.get_template("page.html.j2")


def command_of(host: Host) -> str:
    """The environment and the command, a variable and an option a line."""
    return "\n".join([*(f"{name}={value}" for name, value in host.env), shown(host.argv)])
