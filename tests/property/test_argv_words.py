from __future__ import annotations

import json
import shlex

from hypothesis import given
from hypothesis import strategies as st

from inventory.quoting import quote_all
from launch.resolve.words import groups, last_of_each, shown
from launch.vllm_args import Kind, parse
from launch.vllm_args.parse import load

VERSION = "0.33.0"
FLAGS = sorted(flag for flag in load(VERSION)["flags"] if flag.startswith("--"))
WORDS = st.one_of(st.sampled_from(FLAGS), st.text(max_size=12).filter(lambda word: "\0" not in word))
ARGV = st.lists(WORDS, max_size=12)


@given(ARGV)
def test_a_command_survives_the_shell(words: list[str]) -> None:
    assert shlex.split(quote_all(words)) == words


@given(ARGV)
def test_each_flag_stays_once_and_nothing_is_added_or_moved(words: list[str]) -> None:
    after = list(last_of_each(words))
    flags = [word for word in after if word.startswith("-")]
    assert len(flags) == len(set(flags))
    assert set(flags) == {word for word in words if word.startswith("-")}
    left = iter(words)
    assert all(word in left for word in after), "a subsequence"


@given(ARGV)
def test_positionals_stay(words: list[str]) -> None:
    """One that stood behind a dropped flag may become the value of the flag before it: the public rule's own hazard."""
    plain = [one[0] for one in groups(words) if not one[0].startswith("-")]
    left = iter(last_of_each(words))
    assert all(word in left for word in plain)


@given(st.lists(st.sampled_from(FLAGS), max_size=4), st.text("abc'\" $\\{}", min_size=1))
def test_shown_for_a_person_reads_back(flags: list[str], value: str) -> None:
    argv = ["vllm", "serve", "org/m", *(word for flag in dict.fromkeys(flags) for word in (flag, value))]
    if value.startswith("$") and value[1:].isupper():
        return
    assert shlex.split(shown(argv).replace(" \\\n", " ")) == argv


@given(st.lists(st.text(max_size=10), max_size=10))
def test_reading_any_words_never_fails(words: list[str]) -> None:
    parse(words, VERSION)


@given(ARGV)
def test_reading_flags_with_any_values_never_fails(words: list[str]) -> None:
    parsed = parse(["vllm", "serve", "org/m", *words], VERSION)
    assert parsed.values.keys() <= load(VERSION)["options"].keys()


OPTIONS = {
    name: one for name, one in load(VERSION)["options"].items() if len(one["flags"]) > 1 and "choices" not in one
}


@given(st.sampled_from(sorted(OPTIONS)), st.data())
def test_all_spellings_of_an_option_mean_the_same_and_two_of_them_clash(dest: str, data: st.DataObject) -> None:
    option = OPTIONS[dest]
    on = [flag for flag in option["flags"] if flag not in option.get("off", ())]
    value = [] if option["type"] == "flag" else [{"json": "{}", "float": "0.5"}.get(option["type"], "1")]
    one, other = data.draw(st.sampled_from(on)), data.draw(st.sampled_from(option["flags"]))
    underscored = one.replace("-", "_").replace("__", "--", 1) if one.startswith("--") else one
    assert parse(["m", underscored, *value], VERSION).values == parse(["m", on[0], *value], VERSION).values
    if not option.get("repeat"):
        again = [*value] if other not in option.get("off", ()) else []
        kinds = [refusal.kind for refusal in parse(["m", one, *value, other, *again], VERSION).refusals]
        assert Kind.DUPLICATE in kinds


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-1000, 1000) | st.text("ab.:", max_size=5),
    lambda inner: st.dictionaries(st.text("abc", min_size=1, max_size=3), inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(st.text("abc", min_size=1, max_size=3), JSON, min_size=1, max_size=3))
def test_json_is_read_as_it_was_written(value: dict[str, object]) -> None:
    read = parse(["m", "--override-generation-config", json.dumps(value)], VERSION)
    assert read.values["override_generation_config"] == value
