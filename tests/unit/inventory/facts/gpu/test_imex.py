from __future__ import annotations

import pytest

from inventory.facts.gpu.imex import parse_domain, read_domain
from inventory.facts.host import ImexDomain, ImexNode
from tests.answered import answers

LEGEND = """\
Connectivity Table Legend:
I - Invalid - Node wasn't reachable, no connection status available
!V! - Version mismatch, communication disabled.
C - Connected - Ready for operation

5/12/2025 06:08:10.580
Nodes:
"""
UP = f"""{LEGEND}Node #0   - 192.0.2.11    - READY                - Version: 580.95
Node #1   - 192.0.2.12    - READY                - Version: 580.95

 Nodes From\\To  0   1
       0        C   C
       1        C   C

Domain State: UP
"""


def test_a_domain_that_is_up() -> None:
    nodes = (ImexNode(0, "192.0.2.11", "READY", "580.95"), ImexNode(1, "192.0.2.12", "READY", "580.95"))
    assert parse_domain(UP) == ImexDomain("UP", nodes)


def test_pairs_that_are_not_connected() -> None:
    text = UP.replace("       0        C   C", "       0        C   !V!").replace(
        "       1        C   C", "       1        N   C"
    )
    found = parse_domain(text.replace("UP", "DEGRADED"))
    assert found is not None
    assert (found.state, found.broken) == ("DEGRADED", ((0, 1, "!V!"), (1, 0, "N")))


def test_a_node_that_is_away_tells_no_version() -> None:
    text = UP.replace(
        "192.0.2.12    - READY                - Version: 580.95", "192.0.2.12    - UNAVAILABLE          - Version:"
    )
    found = parse_domain(text)
    assert found is not None
    assert found.nodes[1] == ImexNode(1, "192.0.2.12", "UNAVAILABLE", None)


def test_with_host_names() -> None:
    found = parse_domain(UP.replace("192.0.2.11 ", "192.0.2.11 (tray1) "))
    assert found is not None
    assert found.nodes[0].address == "192.0.2.11"


def test_one_node_alone() -> None:
    assert parse_domain("READY\n") == ImexDomain("READY")


@pytest.mark.parametrize("text", ["", "\n", "Failed to connect to the IMEX service", "Nodes From\\To\n", "ready"])
def test_no_domain(text: str) -> None:
    assert parse_domain(text) is None


def test_a_tool_that_fails_tells_nothing() -> None:
    said = answers({"nvidia_imex.domain": (1, "connection refused")})
    assert read_domain(said.item("nvidia_imex.domain")) is None
    assert read_domain(answers({}).item("nvidia_imex.domain")) is None
