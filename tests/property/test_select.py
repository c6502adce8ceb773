import re

from hypothesis import given
from hypothesis import strategies as st

from inventory import names, ranges
from inventory.errors import BadInput, Several
from inventory.select import Listed, select

NAMES = st.from_regex(r"[a-z0-9_][a-z0-9._-]{0,12}", fullmatch=True).filter(lambda name: name != "all")
SPANS = st.tuples(st.integers(0, 300), st.integers(0, 30), st.booleans())
SELECTION_LIKE = st.text(alphabet=st.sampled_from("ab09[]-,!@ .;$\n\t'\"all"), max_size=40)


def bracket(span: tuple[int, int, bool]) -> tuple[str, list[str]]:
    """The text of a range and, by another way than the product's, what it stands for."""
    first, more, padded = span
    width = len(str(first + more)) + 1 if padded else 1
    numbers = [str(number).rjust(width, "0") for number in range(first, first + more + 1)]
    return (f"{numbers[0]}-{numbers[-1]}" if more else numbers[0]), numbers


@given(st.lists(st.tuples(st.sampled_from(["gpu", "r.", "x_"]), SPANS), min_size=1, max_size=2))
def test_a_range_stands_for_exactly_its_numbers(parts: list[tuple[str, tuple[int, int, bool]]]) -> None:
    texts, expected = "", [""]
    for literal, span in parts:
        inside, numbers = bracket(span)
        texts += f"{literal}[{inside}]"
        expected = [f"{before}{literal}{number}" for before in expected for number in numbers]
    assert list(ranges.expand(texts)) == expected


@given(st.lists(SPANS, min_size=1, max_size=4))
def test_several_ranges_in_one_bracket_follow_each_other(spans: list[tuple[int, int, bool]]) -> None:
    found = [bracket(span) for span in spans]
    expected = [f"n{number}" for _, numbers in found for number in numbers]
    assert list(ranges.expand(f"n[{','.join(inside for inside, _ in found)}]")) == expected


@given(st.lists(NAMES, min_size=1, max_size=12, unique=True), st.sampled_from([",", " ", ", ", "\n"]))
def test_names_come_back_in_their_order(hosts: list[str], between: str) -> None:
    assert list(select(between.join(hosts), Listed(tuple(reversed(hosts)), {}))) == hosts


@given(st.lists(NAMES, min_size=1, max_size=12, unique=True), st.data())
def test_exclusion_is_set_difference_that_keeps_the_order(hosts: list[str], data: st.DataObject) -> None:
    spared = data.draw(st.lists(st.sampled_from(hosts), unique=True, max_size=len(hosts) - 1))
    items = data.draw(st.permutations(["all", *(f"!{name}" for name in spared)]))
    left = [name for name in hosts if name not in spared]
    assert list(select(",".join(items), Listed(tuple(hosts), {}))) == left


@given(
    st.lists(NAMES, min_size=1, max_size=8, unique=True),
    st.dictionaries(NAMES, st.lists(st.integers(0, 7), max_size=6), min_size=1, max_size=4),
)
def test_groups_are_the_union_in_order_each_host_once(hosts: list[str], groups: dict[str, list[int]]) -> None:
    members = {name: tuple(hosts[number % len(hosts)] for number in numbers) for name, numbers in groups.items()}
    expected = list(dict.fromkeys(host for name in members for host in members[name]))
    text = ",".join(f"@{name}" for name in members)
    if expected:
        assert list(select(text, Listed(tuple(hosts), members))) == expected


@given(st.one_of(st.text(max_size=60), SELECTION_LIKE), st.booleans())
def test_any_text_is_selected_or_refused_with_all_parts(text: str, known: bool) -> None:  # noqa: FBT001  (drawn)
    listed = Listed(("a", "ab", "a0"), {"b": ("ab",)}, lambda _: known)
    try:
        found = select(text, listed)
    except (BadInput, Several) as error:
        for one in getattr(error, "errors", (error,)):
            assert one.message
            assert one.required
            assert one.next_command
        return
    assert found
    assert len(set(found)) == len(found)
    for name in found:
        assert names.host_name(name) == name
        assert re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._-]*", name)


@given(st.text(max_size=40))
def test_any_pattern_is_expanded_or_a_value_error(text: str) -> None:
    try:
        found = ranges.expand(text)
    except ValueError:
        return
    assert 1 <= len(found) <= ranges.MAX_HOSTS
