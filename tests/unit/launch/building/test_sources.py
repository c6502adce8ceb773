from __future__ import annotations

import pytest

from inventory.schema import Host, Mirrors
from inventory.secret import Url
from launch.building.requirements import Download
from launch.building.sources import WHEELHOUSE, fetched_from, with_sources
from playbooks.requirements import Requirements
from tests.unit.playbooks.checks.gang import gang_needs

MISSING = Download("weights", "/w", 10, present=False)
ENVIRONMENT = Download("environment", "/e", 10, present=False)
WHEELS = Download(WHEELHOUSE, "/h", 10, present=False)
PRESENT = Download("weights", "/w", 10, present=True)


def hosts() -> list[Host]:
    mirrors = Mirrors(pypi=Url("https://joe:secret@mirror.example/simple"), hub=Url("https://hub.example"))
    return [
        Host(name="tray1", address="10.0.0.1", mirrors=mirrors, proxy=Url("http://proxy.example:3128")),
        Host(name="tray2", address="10.0.0.2", mirrors=mirrors),
    ]


def told(**environ: str) -> Requirements:
    return with_sources(gang_needs(), hosts(), {"tray1": [MISSING], "tray2": [PRESENT]}, environ)


def test_who_downloads_is_told_from_where_without_passwords() -> None:
    first, second = told().hosts
    assert first.fetches_from == ("https://hub.example",)
    assert first.proxy == "http://proxy.example:3128"
    assert (second.fetches_from, second.proxy) == ((), None)


@pytest.mark.parametrize(
    ("internet", "downloads", "asked"),
    [
        (None, [MISSING, ENVIRONMENT], ["https://mirror.example/simple", "https://hub.example"]),
        (True, [ENVIRONMENT], ["https://mirror.example/simple"]),
        (None, [MISSING, ENVIRONMENT, WHEELS], ["https://hub.example"]),
        (False, [MISSING, ENVIRONMENT, WHEELS], []),
        (False, [MISSING, ENVIRONMENT], []),
        (None, [PRESENT], []),
    ],
)
def test_what_a_host_is_given_it_fetches_nowhere(
    internet: bool | None,  # noqa: FBT001
    downloads: list[Download],
    asked: list[str],
) -> None:
    host = hosts()[0].model_copy(update={"internet": internet})
    assert list(fetched_from(host, downloads)) == asked


def test_of_this_machine_only_proxies_are_told() -> None:
    found = told(HTTPS_PROXY="http://joe:secret@proxy.example", HF_TOKEN="hf_x", no_proxy="localhost")  # noqa: S106
    assert found.control_env == (("HTTPS_PROXY", "http://proxy.example"), ("no_proxy", "localhost"))
