"""A plan of the handed-in recipe on hosts of the project's own bundle."""

from __future__ import annotations

from functools import cache

from launch.catalogue.find import Catalogue
from launch.choosing.outline import outline
from launch.hosts.bundles import replayed
from launch.plans.document import LaunchPlan
from launch.plans.make import plan_of
from launch.request import Request
from tests.answered import HOSTS


@cache
def plan_on(hosts: str, model: str = "deepseek-v4-pro") -> LaunchPlan:
    answered = replayed(HOSTS, hosts)
    facts = answered.facts()
    made = outline(Catalogue.of().find(model), Request(model), tuple(answered.hosts.values()), facts)
    return plan_of(made, facts, (("model", model), ("hosts", hosts)))
