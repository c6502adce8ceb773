from __future__ import annotations

from ipaddress import IPv4Network

import pytest

from inventory.errors import CheckFailed
from inventory.lab import addresses


def test_the_first_free_networks_of_the_benchmark_range() -> None:
    assert addresses.free_networks([], 2) == (IPv4Network("198.18.0.0/24"), IPv4Network("198.18.1.0/24"))


@pytest.mark.parametrize(
    ("taken", "first"),
    [
        ("198.18.0.0/24", "198.18.1.0/24"),
        ("198.18.0.77/32", "198.18.1.0/24"),
        ("198.18.0.0/16", "198.19.0.0/24"),
        ("198.18.0.0/15", "10.213.0.0/24"),
        ("198.0.0.0/8", "10.213.0.0/24"),
        ("192.0.2.0/24", "198.18.0.0/24"),
    ],
)
def test_nothing_that_overlaps_a_route(taken: str, first: str) -> None:
    assert addresses.free_networks([IPv4Network(taken)], 1) == (IPv4Network(first),)


def test_no_network_left_says_what_is_in_the_way() -> None:
    with pytest.raises(CheckFailed, match="no free network") as refused:
        addresses.free_networks(map(IPv4Network, ("198.18.0.0/15", "10.0.0.0/8")), 1)
    assert refused.value.observed
    assert refused.value.required
    assert refused.value.next_command == "ip route show table all"


def test_addresses_within_a_network() -> None:
    assert addresses.address("198.18.4.0/24", addresses.MACHINE) == "198.18.4.1"
    assert addresses.of_host("198.18.4.0/24", 1) == "198.18.4.11"
    assert addresses.of_host("198.18.4.0/24", 200) == "198.18.4.210"


def test_a_leg_is_named_after_its_network_and_fits_the_kernel() -> None:
    names = {addresses.leg_name(f"198.18.{n}.0/24") for n in range(256)}
    assert len(names) == 256
    assert max(map(len, names)) <= 15
