"""Whatever stands in a capture: neither the order of hosts nor noise changes the answer, and any text is read."""

from __future__ import annotations

import json

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from launch.diagnosis import show
from launch.diagnosis.clock import Clock
from launch.diagnosis.judge import judge
from launch.diagnosis.lines import read
from launch.diagnosis.replay import File, capture_of
from launch.diagnosis.table import Role, by_id, by_message
from tests.unit.launch.diagnosis import said
from tests.unit.launch.diagnosis.captures import begins, line, traceback, wrapped


def is_cause(name: str) -> bool:
    """Whether all failures of this id, or with this message, are causes."""
    return all(by_id()[one].role is Role.CAUSE for one in by_message().get(name, (name,)))


CAUSES = [(name, text) for name, text in said.ALL if is_cause(name) and "\n" not in text]
HOSTS = ("tray1", "tray2", "tray3", "gpu-07", "node4.rack2")
NOISE = (
    "INFO 11-29 10:00:01 [loggers.py:1] Engine 000: Avg prompt throughput: 1.0 tokens/s, Running: 1 reqs",
    "t1:41:88 [0] NCCL INFO Channel 00/08 : 0 1 2 3",
    '(APIServer pid=7) INFO:     10.0.0.1:4000 - "GET /health HTTP/1.1" 200 OK',
    "(Worker_TP0 pid=9) WARNING 11-29 10:00:03 [x.py:1] Falling back to a slower path",
    "\rLoading safetensors checkpoint shards:  50% Completed | 5/10 [00:05<00:05,  1.0it/s]",
    "",
    "\x1b[32mINFO\x1b[0m something green",
)


def capture_with(name: str, text: str, host: str, others: list[str], noise: list[str]) -> list[File]:
    """`text` fails `host` first; all others are its victims."""
    del name
    files = [
        File(f"{host}.log", host, begins("10:00:00") + "\n".join(noise) + "\n" + traceback("10:05:00", text), cut=False)
    ]
    closed = traceback("10:05:30", "RuntimeError: [pair.cc:547] Connection closed by peer [10.0.0.2]:3112")
    files += [File(f"{one}.log", one, begins("10:00:01") + closed + wrapped("10:05:40"), cut=False) for one in others]
    return files


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    cause=st.sampled_from(CAUSES),
    hosts=st.permutations(HOSTS),
    count=st.integers(1, 4),
    noise=st.lists(st.sampled_from(NOISE), max_size=6),
    seed=st.randoms(use_true_random=False),
)
def test_order_names_and_noise_change_nothing(cause, hosts, count, noise, seed) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
    name, text = cause
    files = capture_with(name, text, hosts[0], hosts[1 : 1 + count], noise)
    first = judge(capture_of(files))
    seed.shuffle(files)
    again = judge(capture_of(files))
    assert first.first is not None
    assert name in {first.first.id, first.first.message}
    assert first.first.host == hosts[0]
    assert first == again


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    texts=st.lists(st.text(max_size=300), max_size=4),
    names=st.sampled_from(["tray1.log", "tray1/kernel.txt", "x/a.txt"]),
)
def test_any_text_can_be_judged_and_shown(texts: list[str], names: str) -> None:
    files = [File(f"{at}{names}", f"tray{at}", text, cut=False) for at, text in enumerate(texts)]
    capture = capture_of(files)
    judged = judge(capture)
    assert all(isinstance(one, str) for one in show.lines(judged, capture))
    assert list(show.as_data(judged, capture))


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    head=st.sampled_from(
        ["", "Nov 29 12:00:00 t vllm[1]: ", "2026-11-29T12:00:00Z ", "(EngineCore_DP1 pid=7) ", "{", "[", "99"]
    ),
    text=st.text(max_size=80),
)
def test_no_line_loses_its_number_and_none_breaks_the_reader(head: str, text: str) -> None:
    found = read(f"{head}{text}", Clock(near=1.8e9))
    assert all(one.number >= 1 and one.raw for one in found)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(message=st.text(st.characters(blacklist_categories=("Cs", "Cc")), min_size=1, max_size=60))
def test_a_message_is_the_same_in_every_form(message: str) -> None:
    plain = line("12:00:00", message).rstrip("\n")
    forms = [
        plain,
        f"Nov 29 12:00:00 tray1 vllm[123]: {plain}",
        json.dumps({"log": plain + "\n", "time": "2026-11-29T12:00:00Z"}),
    ]
    texts = {one.text.rstrip() for form in forms for one in read(form, Clock(near=1.795e9))}
    assert len(texts) <= 1
