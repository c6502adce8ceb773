"""`--set`: how it is read, what of it this vLLM takes, and what it replaces in a command."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inventory.errors import BadInput
from launch.choosing.settings import SHORT, Setting, over, settings, words
from launch.vllm_args import check, parse
from launch.vllm_args.parse import full_flag, load

V33 = "0.33.0"
MTP = '{"method":"mtp","num_speculative_tokens":1}'


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", []),
        ("max-model-len=200000,kv-cache-dtype=fp8", [("max-model-len", "200000"), ("kv-cache-dtype", "fp8")]),
        (f"speculative-config={MTP},max-num-seqs=8", [("speculative-config", MTP), ("max-num-seqs", "8")]),
        (" --max-num-seqs = 8 , ", [("max-num-seqs", "8")]),
        ("enable-prefix-caching", [("enable-prefix-caching", None)]),
        ("served='a,b',x=1", [("served", "a,b"), ("x", "1")]),
        ('chat-template="{{ a,b }}"', [("chat-template", "{{ a,b }}")]),
        (r'a={"b":"}\","},c=1', [("a", r'{"b":"}\","}'), ("c", "1")]),
        ("a=[1,2],b=(3,4)", [("a", "[1,2]"), ("b", "(3,4)")]),
        ("a=", [("a", "")]),
        ("a=b=c", [("a", "b=c")]),
    ],
)
def test_commas_end_a_setting_outside_quotes_and_braces(text: str, found: list[tuple[str, str | None]]) -> None:
    assert [(one.name, one.value) for one in settings(text)] == found


@pytest.mark.parametrize("text", ["a={", "a='b", "a=[1,2", "=1", "a b=1", ",=", "$(x)=1", "a;b"])
def test_what_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(BadInput) as caught:
        settings(text)
    assert caught.value.id == "flag-value"
    assert "--set" in caught.value.next_command


@given(
    st.lists(
        st.tuples(
            st.from_regex(r"[a-z][a-z-]{0,10}[a-z]", fullmatch=True),
            st.recursive(
                st.integers() | st.text(alphabet='ab,"\\{}[]= ', max_size=8),
                lambda inner: st.dictionaries(st.text(alphabet="ab,", max_size=3), inner, max_size=3),
                max_leaves=4,
            ).map(lambda value: {"k": value}),
        ),
        max_size=4,
    )
)
def test_json_survives_whatever_stands_in_it(pairs: list[tuple[str, object]]) -> None:
    text = ",".join(f"{name}={json.dumps(value)}" for name, value in pairs)
    assert [(one.name, json.loads(one.value or "")) for one in settings(text)] == pairs


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("max_model_len=1k", ["--max-model-len", "1k"]),
        ("cudagraph-capture-sizes=1 2 4", ["--cudagraph-capture-sizes", "1", "2", "4"]),
        ("enable-prefix-caching=false", ["--no-enable-prefix-caching"]),
        ("enable-prefix-caching=yes", ["--enable-prefix-caching"]),
        ("trust-remote-code", ["--trust-remote-code"]),
        ("attention-config.backend=FLASHINFER", ["--attention-config.backend", "FLASHINFER"]),
    ],
)
def test_settings_become_words_of_the_command(text: str, found: list[str]) -> None:
    assert words(settings(text), V33) == found


@pytest.mark.parametrize(
    ("text", "id_", "says"),
    [
        ("max-modle-len=1", "flag-value", "--max-model-len"),
        ("max-model-len=much", "flag-value", "not a whole number"),
        ("max-model-len", "flag-value", "needs a value"),
        ("kv-transfer-config=nonsense", "flag-value", "JSON"),
        ("scheduling-policy=best", "flag-value", "one of"),
        ("port=9000", "override-contradicts", "--port"),
        ("data-parallel-address=10.0.0.1", "override-contradicts", "facts of the head"),
        ("headless", "override-contradicts", "--strategy"),
        ("served-model-name=x", "override-contradicts", "--name"),
        ("max-num-seqs=1,max_num_seqs=2", "override-contradicts", "max-num-seqs=1"),
    ],
)
def test_what_this_vllm_or_the_plan_does_not_take(text: str, id_: str, says: str) -> None:
    with pytest.raises(BadInput) as caught:
        words(settings(text), V33)
    assert caught.value.id == id_
    assert says in str(caught.value)


def test_a_setting_takes_the_place_of_every_spelling() -> None:
    argv = ("vllm", "serve", "m", "-tp", "8", "--max-model-len=1000", "--seed", "-1", "--enable-prefix-caching", "-O2")
    done = over(
        argv, words(settings("tensor-parallel-size=4,max-model-len=2000,enable-prefix-caching=false"), V33), V33
    )
    assert done[:6] == ("vllm", "serve", "m", "--seed", "-1", "-O2")
    values = parse(done, V33).values
    assert (values["tensor_parallel_size"], values["max_model_len"], values["seed"]) == (4, 2000, -1)
    assert values["enable_prefix_caching"] is False
    assert check(done, {}, V33) == ()


def test_a_key_behind_a_dot_changes_that_key_alone() -> None:
    argv = ("vllm", "serve", "m", "--attention-config", '{"backend":"A","indexer_kv_dtype":"mxfp4"}', "-tp", "2")
    done = over(argv, ["--attention-config.indexer_kv_dtype", "fp8", "--attention-config.use_cudnn", "true"], V33)
    assert done[3:5] == ("-tp", "2")
    assert json.loads(done[6]) == {"backend": "A", "indexer_kv_dtype": "fp8", "use_cudnn": True}
    alone = over(argv[:3], ["--attention-config.backend", "A"], V33)
    assert alone == (*argv[:3], "--attention-config.backend", "A")


def test_a_setting_is_shown_as_it_can_be_typed_again() -> None:
    assert str(Setting("speculative-config", MTP)) == f"--set 'speculative-config={MTP}'"
    assert str(Setting("trust-remote-code")) == "--set trust-remote-code"


@pytest.mark.parametrize("version", ["0.32.0", V33])
def test_short_options_are_those_of_each_version(version: str) -> None:
    schema = load(version)
    short = {
        flag[1:]: full_flag(schema["options"][dest])[2:] for flag, dest in schema["flags"].items() if flag[1] != "-"
    }
    assert short == SHORT


@pytest.mark.parametrize(
    "text", ["tp=4", "-tp=4", "tensor-parallel-size=4", "tensor_parallel_size=4", " --tensor-parallel-size = 4"]
)
def test_an_option_is_written_in_full_however_it_was_typed(text: str) -> None:
    assert words(settings(text), V33) == ["--tensor-parallel-size", "4"]


def test_a_key_behind_a_short_option() -> None:
    assert words(settings("-cc.mode=3"), V33) == ["--compilation-config.mode", "3"]


def test_two_names_of_one_option_contradict_and_two_unknown_ones_do_not() -> None:
    with pytest.raises(BadInput) as both:
        words(settings("tp=4,tensor_parallel_size=2"), V33)
    assert both.value.id == "override-contradicts"
    with pytest.raises(BadInput) as unknown:
        words(settings("foo=1,bar=2"), V33)
    assert "--foo" in unknown.value.observed
