import contextlib
import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from inventory import hostsfile, yamlfile
from inventory.ansible import reader, sshargs, tree
from inventory.errors import BadInput, Several
from inventory.schema import Inventory, Settings, make_host

NOWHERE = Path("/nonexistent/inventory/hosts")
INI_WORDS = (
    *("[a]", "[a:vars]", "[a:children]", "[all:vars]", "b", "web[1:3]", "x:22", " ", "\n", "\n", "#", "'", "="),
    *("ansible_host=10.0.0.1", "ansible_port=x", "ansible_user={{ a }}", "ansible_connection=local"),
    *("ansible_ssh_common_args='-J b'", "ansible_password=x"),
)
INI_LIKE = st.lists(st.sampled_from(INI_WORDS), max_size=30).map("".join)
KEYS = st.sampled_from(["web", "db", "a[1:3]", "hosts", "vars", "ansible_host", "ansible_port"])
SCALARS = (
    st.none() | st.text(st.characters(max_codepoint=0xFFFF, exclude_categories=["Cs"]), max_size=6) | st.integers()
)
TREES = st.dictionaries(
    st.sampled_from(["all", "web", "db"]),
    st.dictionaries(
        st.sampled_from(["hosts", "vars", "children", "x"]),
        st.recursive(SCALARS, lambda one: st.dictionaries(KEYS, one, max_size=3)),
        max_size=3,
    ),
)
LAYERS = st.fixed_dictionaries(
    {},
    optional={
        "user": st.sampled_from(["x", "y"]),
        "port": st.integers(1, 9),
        "env": st.dictionaries(st.sampled_from("AB"), st.text("xy", max_size=2)),
    },
)
GROUPS = st.dictionaries(
    st.sampled_from(["g1", "g2", "g3", "all"]),
    st.fixed_dictionaries(
        {},
        optional={
            "hosts": st.sampled_from(["a", "a,b", "b,!a", "all", "c", "@g1"]),
            "children": st.lists(st.sampled_from(["g1", "g2", "g3", "g4"]), max_size=2),
            "vars": st.fixed_dictionaries(
                {}, optional={"user": st.sampled_from(["x", "y"]), "port": st.integers(0, 3)}
            ),
        },
    ),
    max_size=3,
)


def check(inventory: Inventory) -> None:
    listed = {*inventory.hosts, *inventory.refused}
    for members in inventory.groups.values():
        assert {*members} <= listed
        assert len({*members}) == len(members)
    for name, host in inventory.hosts.items():
        assert host.name == name


@given(st.one_of(st.text(max_size=80), INI_LIKE))
def test_any_text_as_an_ini_inventory(text: str) -> None:
    with contextlib.suppress(BadInput, Several):
        check(reader.from_ini(text, NOWHERE))


@given(TREES)
def test_any_tree_as_a_yaml_inventory(data: dict[str, object]) -> None:
    document = yamlfile.parse(json.dumps(data).encode(), "h.yaml", keep_tags=True)
    tree.is_tree(document.data)
    with contextlib.suppress(BadInput, Several):
        check(reader.from_tree(document, NOWHERE))


@given(GROUPS)
def test_groups_of_our_own_inventory(groups: dict[str, object]) -> None:
    text = json.dumps({"hosts": {"a": None, "b": {"user": "own"}}, "groups": groups})
    try:
        inventory = hostsfile.build(yamlfile.parse(text.encode(), "h.yaml"), None)
    except (BadInput, Several):
        return
    check(inventory)
    assert inventory.hosts["b"].user == "own"


@given(st.text(max_size=60))
def test_any_ssh_arguments(text: str) -> None:
    with contextlib.suppress(ValueError):
        sshargs.read(text)


@given(st.lists(LAYERS, max_size=4))
def test_the_last_layer_that_says_something_counts(layers: list[dict[str, object]]) -> None:
    host = make_host("a", *(Settings.model_validate(layer) for layer in layers))
    for key in ("user", "port"):
        said = [layer[key] for layer in layers if key in layer]
        assert getattr(host, key) == (said[-1] if said else None)
    expected: dict[str, object] = {}
    for layer in layers:
        expected.update(layer.get("env", {}))  # type: ignore[call-overload]
    assert dict(host.env) == expected
