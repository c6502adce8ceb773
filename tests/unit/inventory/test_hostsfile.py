# ruff: noqa: E501  (a table: one case a line)
from pathlib import Path

import pytest

from inventory import hostsfile, yamlfile
from inventory.errors import BringupError
from inventory.schema import Inventory

FULL = """
defaults:
  user: ops
  env: {NCCL_DEBUG: WARN}
hosts:
  tray1: {address: 10.0.0.1, fabric_address: 10.1.0.1}
  tray2:
  gpu[01-04]: {port: 2222}
groups:
  trays: {hosts: "tray[1-2]"}
  gpus: {hosts: ["gpu[01-04]", "!gpu03"], vars: {user: root}}
  dc: {children: [trays, gpus], vars: {user: dc, state_dir: /scratch/bringup}}
"""


def build(text: str) -> Inventory:
    return hostsfile.build(yamlfile.parse(text.encode(), "h.yaml"), Path("h.yaml"))


def errors(text: str) -> list[BringupError]:
    with pytest.raises(BringupError) as caught:
        build(text)
    return list(getattr(caught.value, "errors", (caught.value,)))


def test_hosts_stand_in_the_order_of_the_file() -> None:
    assert list(build(FULL).hosts) == ["tray1", "tray2", "gpu01", "gpu02", "gpu03", "gpu04"]


def test_groups_hold_the_hosts_in_and_below_them() -> None:
    groups = build(FULL).groups
    assert groups["gpus"] == ("gpu01", "gpu02", "gpu04")
    assert groups["dc"] == ("tray1", "tray2", "gpu01", "gpu02", "gpu04")


def test_host_over_inner_group_over_outer_group_over_defaults() -> None:
    hosts = build(FULL).hosts
    assert hosts["gpu01"].user == "root"
    assert hosts["tray1"].user == "dc"
    assert hosts["gpu03"].user == "ops"
    assert hosts["gpu01"].state_dir == hosts["tray1"].state_dir == "/scratch/bringup"
    assert hosts["gpu01"].port == 2222
    assert hosts["tray1"].env == (("NCCL_DEBUG", "WARN"),)


def test_a_group_inside_another_does_not_contradict_it() -> None:
    assert build(FULL).warnings == ()


def test_of_two_groups_beside_each_other_the_later_counts_and_that_is_said() -> None:
    inventory = build("""
hosts: {"a[1-5]": , b: {port: 3}}
groups:
  x: {hosts: "a[1-5],b", vars: {port: 1, user: ops, env: {A: 1}}}
  y: {hosts: all, vars: {port: 2, user: ops, env: {B: 1}}}
""")
    assert inventory.hosts["a1"].port == 2
    assert inventory.warnings == (
        "h.yaml: groups x and y say different things of port for a1, a2, a3 and others; y counts",
    )


def test_keys_of_tables_contradict_one_by_one() -> None:
    inventory = build("""
hosts: {a: }
groups:
  x: {hosts: a, vars: {env: {A: 1, B: 1}, mirrors: {hub: "http://x"}}}
  y: {hosts: a, vars: {env: {A: 2}, mirrors: {hub: "http://y", pypi: "http://y"}}}
""")
    assert [warning.split(" of ")[1].split(" for ")[0] for warning in inventory.warnings] == ["env.A", "mirrors.hub"]


@pytest.mark.parametrize("text", ["", "hosts:\n", "defaults:\nhosts:\ngroups:\n", "hosts: {a: }\ngroups: {g: }\n"])
def test_what_is_commented_out_leaves_nothing_behind(text: str) -> None:
    assert build(text).warnings == ()


@pytest.mark.parametrize(
    ("text", "message", "required"),
    [
        ("hosts: {-x: }", "h.yaml:1:9: '-x' cannot name hosts", "not starting with"),
        ("hosts: {'a b': }", "h.yaml:1:9: 'a b' cannot name hosts", "letters, digits"),
        ("hosts: {'gpu[2-1]': }", "h.yaml:1:9: 'gpu[2-1]' cannot name hosts", "counts up"),
        ("hosts:\n  gpu1:\n  gpu[1-2]:\n", "h.yaml:3:3: gpu1 is listed twice", "every host once"),
        ("hosts: {'g[1-2]': {address: x}}", "h.yaml:1:9: 2 hosts cannot share one address", "an entry for each"),
        ("hosts: {'g[1-2]': {fabric_address: 10.0.0.1}}", "cannot share one fabric_address", "an entry for each"),
        ("hosts: {tray1: }\ngroups: {g: {hosts: tray2}}", "h.yaml:2:21: tray2 is not in the inventory, did you mean tray1?", "a listed host"),
        ("hosts: {a: }\ngroups: {g: {hosts: zzz}}", "h.yaml:2:21: zzz is not in the inventory", "a listed host"),
        ("hosts: {a: }\ngroups: {g: {hosts: '@x'}}", "there is no group x", "no @"),
        ("groups: {rack: , g: {children: [rakc]}}", "h.yaml:1:33: there is no group rakc, did you mean rack?", "a group of this file"),
        ("groups: {a: {children: [b]}, b: {children: [a]}}", "a group contains itself", "no group inside itself"),
        ("groups: {a: {children: [a]}}", "a group contains itself", "no group inside itself"),
        ("groups: {a: {user: x}}", "h.yaml:1:14: unknown key user", "one of children, hosts, vars"),
        ("groups: {a: {vars: {address: x}}}", "unknown key address", "one of env"),
        ("host: {a: }", "h.yaml:1:1: unknown key host, did you mean hosts?", "one of defaults"),
    ],
)  # fmt: skip
def test_refusals_have_a_place(text: str, message: str, required: str) -> None:
    (error,) = errors(text)
    assert message in error.message
    assert required in error.required
    assert error.next_command.startswith("${EDITOR:-vi} +")


def test_errors_of_hosts_and_groups_come_at_once() -> None:
    found = errors("hosts: {-x: , 'a[': }\ngroups: {g: {hosts: 'b,c', children: [h]}}\n")
    assert len(found) == 5
