import pytest

from inventory import yamlfile
from inventory.ansible import tree
from inventory.ansible.raw import Raw
from inventory.errors import BringupError

TEXT = """
all:
  vars: {ansible_user: root}
  hosts:
    mail:
    old: {ansible_port: 2222}
  children:
    web:
      hosts:
        www[01:02]: {x: [1, 2]}
    dc:
      children:
        web:
        db: {hosts: db1}
      vars: {ansible_user: dc}
"""


def parse(text: str) -> Raw:
    return tree.parse(yamlfile.parse(text.encode(), "h.yaml", keep_tags=True))


def test_hosts_groups_and_variables() -> None:
    raw = parse(TEXT)
    assert raw.hosts == {
        "www01": {"x": [1, 2]},
        "www02": {"x": [1, 2]},
        "db1": {},
        "mail": {},
        "old": {"ansible_port": 2222},
    }
    assert raw.groups["all"].children == ["web", "dc"]
    assert raw.groups["dc"].children == ["web", "db"]
    assert raw.groups["dc"].vars == {"ansible_user": "dc"}
    assert raw.groups["web"].hosts == ["www01", "www02"]


def test_groups_at_the_top_without_all() -> None:
    assert parse("web: {hosts: {a: }}\ndb: {hosts: {b: }}\n").groups["db"].hosts == ["b"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("web: {host: {a: }}", "h.yaml:1:7: unknown key host, did you mean hosts?"),
        ("web: {hosts: [a]}", "h.yaml:1:7: web.hosts is not a mapping"),
        ("web: [a]", "h.yaml:1:1: web is not a mapping"),
        ("web: {hosts: {a: 1}}", "h.yaml:1:15: web.hosts.a is not a mapping"),
        ("web: {vars: x}", "web.vars is not a mapping"),
        ("web: {hosts: {'a[': }}", "h.yaml:1:15: 'a[' cannot name hosts"),
    ],
)
def test_refusals_have_a_place(text: str, message: str) -> None:
    with pytest.raises(BringupError) as caught:
        parse(text)
    assert message in caught.value.message


def test_all_errors_at_once() -> None:
    with pytest.raises(BringupError) as caught:
        parse("a: {x: }\nb: {y: }\n")
    assert len(getattr(caught.value, "errors", ())) == 2


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("all: ", True),
        ("all: {hosts: {a: }}", True),
        ("web: {children: {}}\ndb: ", True),
        ("web: {}", True),
        ("hsots: {tray1: }", False),
        ("hosts: ", False),
        ("[a]", False),
        ("", False),
        ("a: b", False),
    ],
)
def test_what_looks_like_an_ansible_inventory(text: str, *, answer: bool) -> None:
    assert tree.is_tree(yamlfile.parse(text.encode(), "x").data) is answer
