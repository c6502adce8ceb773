"""Whether a host of a capture serves: completions and tokens prove it, `/health` and logs do not."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from launch.diagnosis.health import Health, healths
from launch.diagnosis.replay import File, capture_of, host_of
from tests.unit.launch.diagnosis.captures import begins, line


def health(files: Mapping[str, str], host: str = "tray1") -> Health:
    hosts = {name.split("/")[0] for name in files if "/" in name}
    capture = capture_of([File(name, host_of(name, hosts), text, cut=False) for name, text in files.items()])
    return healths(capture, capture.sources)[host]


def page(*engines: tuple[int, float]) -> str:
    """Requests that wait and tokens made so far, of each engine."""
    return "".join(
        f'vllm:num_requests_running{{engine="{at}",model_name="m"}} 0\n'
        f'vllm:num_requests_waiting{{engine="{at}",model_name="m"}} {waiting}\n'
        f'vllm:generation_tokens_total{{engine="{at}",model_name="m"}} {tokens}\n'
        for at, (waiting, tokens) in enumerate(engines)
    )


@pytest.mark.parametrize(
    ("answer", "state", "kind"),
    [
        ("-> 200 in 1.2 s", "healthy", ""),
        ("200", "healthy", ""),
        ("-> 500 Internal Server Error", "unhealthy", "engine-dead"),
        ("-> timeout after 20 s", "unhealthy", "hung"),
        ("=> timed out after 200 s", "unhealthy", "hung"),
        ("no answer in 300 s", "unhealthy", "hung"),
        ("-> connection refused", "unhealthy", "refused"),
    ],
)
@pytest.mark.parametrize("asked", ["", "max_tokens=128 ", "max_tokens=400 temperature=0 ", "from 10.0.0.200:51200 "])
def test_what_was_asked_is_no_answer(answer: str, state: str, kind: str, asked: str) -> None:
    told = health({"tray1/probe.txt": f"GET /health 200\nPOST /v1/chat/completions {asked}{answer}\n"})
    assert (told.state, told.kind) == (state, kind)


def test_where_nothing_listens_it_is_not_ready() -> None:
    told = health({"tray1/probe.txt": "GET /health connection refused\nPOST /v1/completions -> connection refused\n"})
    assert (told.state, told.kind) == ("not_ready", "refused")


def test_health_and_models_prove_nothing() -> None:
    assert health({"tray1/probe.txt": "GET /health 200\nGET /v1/models 200\n"}).ready is False


@pytest.mark.parametrize(
    ("first", "last", "state", "kind"),
    [
        ([(3, 100.0)], [(7, 100.0)], "unhealthy", "hung"),
        ([(3, 100.0)], [(7, 2.5e6)], "healthy", "overload"),
        ([(0, 100.0)], [(0, 200.0)], "healthy", ""),
        ([(0, 100.0), (4, 50.0)], [(0, 9000.0), (9, 50.0)], "unhealthy", "hung"),
        ([(2, 100.0), (0, 50.0)], [(2, 9000.0), (0, 50.0)], "healthy", "overload"),
    ],
)
def test_tokens_that_move_and_those_that_do_not(
    first: list[tuple[int, float]], last: list[tuple[int, float]], state: str, kind: str
) -> None:
    """One engine of several that is stuck makes the host unhealthy: a part of all requests hangs."""
    told = health({"tray1/metrics_t0.txt": page(*first), "tray1/metrics_t120.txt": page(*last)})
    assert (told.state, told.kind) == (state, kind)


def test_the_engine_that_is_stuck_is_named() -> None:
    told = health(
        {"tray1/metrics_t0.txt": page((0, 1.0), (4, 50.0)), "tray1/metrics_t9.txt": page((0, 9.0), (9, 50.0))}
    )
    assert "engine 1" in told.reason


def test_a_log_that_others_have_outlived_is_stalled() -> None:
    loads = begins("10:00:00") + line("10:00:30", "Starting to load model /m...", process="Worker_TP0", level="INFO")
    goes_on = begins("10:00:00") + line("10:25:00", "Waiting for 1 remote engine", process="APIServer", level="INFO")
    assert health({"tray1.log": loads}).state == "starting"
    assert health({"tray1.log": loads, "tray2.log": goes_on}).state == "stalled"


@pytest.mark.parametrize(
    ("files", "state"),
    [
        ({"tray1/unit.txt": "ActiveState=failed\nResult=exit-code\n"}, "failed"),
        ({"tray1/state.json": '{"deployment": "x", "status": "stopped"}'}, "stopped"),
        ({"tray1.log": begins("10:00:00") + "INFO:     Application startup complete.\n"}, "unknown"),
        ({"tray1/df.txt": "/ 1\n"}, "unknown"),
    ],
)
def test_what_units_records_and_logs_tell(files: dict[str, str], state: str) -> None:
    assert health(files).state == state
