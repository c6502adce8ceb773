import itertools

from inventory import grouping

CHILDREN = {"inner": (), "dc": ("rack", "extra"), "rack": ("inner",), "extra": ("inner",), "alone": ()}
OWN = {"inner": ("a", "b"), "dc": ("z",), "rack": ("b", "c"), "extra": (), "alone": ("a",)}


def test_members_are_a_groups_own_hosts_and_then_those_of_groups_inside() -> None:
    assert grouping.members(CHILDREN, OWN) == {
        "inner": ("a", "b"),
        "dc": ("z", "b", "c", "a"),
        "rack": ("b", "c", "a"),
        "extra": ("a", "b"),
        "alone": ("a",),
    }


def test_members_keep_the_order_of_the_file() -> None:
    assert list(grouping.members(CHILDREN, OWN)) == list(CHILDREN)


def test_depths_go_the_longest_way() -> None:
    children = {**CHILDREN, "dc": ("rack", "extra", "inner")}
    assert grouping.depths(children) == {"inner": 2, "dc": 0, "rack": 1, "extra": 1, "alone": 0}


def test_all_groups_around_a_group() -> None:
    around = grouping.above(CHILDREN)
    assert around["inner"] == {"rack", "extra", "dc"}
    assert around["dc"] == frozenset()


def test_a_circle_is_named_from_one_group_to_itself() -> None:
    found = grouping.circle({"a": ("b",), "b": ("c",), "c": ("a",), "d": ()})
    assert found[0] == found[-1]
    assert set(found) == {"a", "b", "c"}
    assert all(later in {"a": "b", "b": "c", "c": "a"}[group] for group, later in itertools.pairwise(found))
    assert grouping.circle(CHILDREN) == ()


def test_thousands_of_nested_groups_need_no_deep_stack() -> None:
    children = {str(number): (str(number + 1),) for number in range(5000)} | {"5000": ()}
    own = dict.fromkeys(children, ()) | {"5000": ("host",)}
    assert grouping.members(children, own)["0"] == ("host",)
    assert grouping.depths(children)["5000"] == 5000


def test_contradictions_are_between_groups_beside_each_other() -> None:
    around = grouping.above(CHILDREN)
    said: dict[str, dict[str, object]] = {"dc": {"user": 0}, "rack": {"user": 1, "port": 1}, "extra": {"user": 2}}
    found = grouping.contradictions([(group, said[group]) for group in ("dc", "rack", "extra")], around)
    assert list(found) == [("user", "rack", "extra")]


def test_saying_the_same_is_no_contradiction() -> None:
    around = grouping.above({"a": (), "b": ()})
    assert not list(grouping.contradictions([("a", {"user": 1}), ("b", {"user": 1, "port": 2})], around))
