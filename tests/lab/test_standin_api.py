"""The API of the stand-in engine, asked over HTTP: one server for the whole module, it keeps no state."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from launch.standin.make_env import build
from tests.lab.standin_gang import DENSE, HTTP_PORT, Gang, Served, all_ready, model_folder

TOOL = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("api")
    model = model_folder(folder / "model", DENSE)
    options = ["--served-model-name", "tiny", "lab/tiny", "--enable-auto-tool-choice", "--tool-call-parser", "hermes"]
    with Gang(build(folder / "envs" / "abc", "0.33.0"), folder) as gang:
        served = gang.serve(0, model, *options)
        all_ready(served)
        yield served


def chat(**more: object) -> dict[str, object]:
    return {"model": "tiny", "messages": [{"role": "user", "content": "say hello to Ada"}], **more}


def test_health_ping_version(server: Served) -> None:
    assert server.ask("GET", "/health") == (200, "")
    assert server.ask("POST", "/ping")[0] == 200
    assert server.ask("GET", "/version") == (200, {"version": "0.33.0", "simulated": True})


def test_models_are_the_served_names(server: Served) -> None:
    status, answer = server.ask("GET", "/v1/models")
    assert status == 200
    assert [card["id"] for card in answer["data"]] == ["tiny", "lab/tiny"]
    assert {card["max_model_len"] for card in answer["data"]} == {2048}
    assert all(card["simulated"] for card in answer["data"])


def test_chat_counts_words_as_tokens(server: Served) -> None:
    status, answer = server.ask("POST", "/v1/chat/completions", chat())
    assert status == 200
    text = answer["choices"][0]["message"]["content"]
    assert text.startswith("SIMULATED answer of the bringup stand-in engine")
    assert text.endswith("say hello to Ada")
    assert answer["simulated"] is True
    assert answer["usage"] == {"prompt_tokens": 4, "completion_tokens": 19, "total_tokens": 23}
    assert answer["choices"][0]["finish_reason"] == "stop"


def test_one_token_of_a_text_completion(server: Served) -> None:
    body = {"model": "lab/tiny", "prompt": "a b", "max_tokens": 1}
    status, answer = server.ask("POST", "/v1/completions", body)
    assert (status, answer["choices"][0]["text"]) == (200, "SIMULATED")
    assert answer["choices"][0]["finish_reason"] == "length"


def test_parts_of_a_message_and_a_missing_model_name(server: Served) -> None:
    content = [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]
    _, answer = server.ask("POST", "/v1/chat/completions", {"messages": [{"role": "user", "content": content}]})
    assert answer["choices"][0]["message"]["content"].endswith("one two")
    assert answer["model"] == "tiny"


def events(server: Served, path: str, body: object) -> list[str]:
    connection = http.client.HTTPConnection(server.address, HTTP_PORT, timeout=10)
    try:
        connection.request("POST", path, json.dumps(body))
        response = connection.getresponse()
        assert response.headers["content-type"] == "text/event-stream"
        lines = response.read().decode().split("\n\n")
    finally:
        connection.close()
    return [line.removeprefix("data: ") for line in lines if line]


def test_stream_ends_with_usage_and_done(server: Served) -> None:
    body = chat(stream=True, stream_options={"include_usage": True}, max_tokens=5)
    *pieces, usage, done = events(server, "/v1/chat/completions", body)
    assert done == "[DONE]"
    assert json.loads(usage)["usage"] == {"prompt_tokens": 4, "completion_tokens": 5, "total_tokens": 9}
    deltas = [json.loads(piece)["choices"][0]["delta"] for piece in pieces]
    assert deltas[0]["role"] == "assistant"
    assert "".join(delta.get("content", "") for delta in deltas) == "SIMULATED answer of the bringup"
    assert json.loads(pieces[-1])["choices"][0]["finish_reason"] == "length"


def test_stream_of_a_text_completion(server: Served) -> None:
    *pieces, done = events(server, "/v1/completions", {"prompt": "x", "stream": True, "max_tokens": 2})
    assert done == "[DONE]"
    assert "".join(json.loads(piece)["choices"][0]["text"] for piece in pieces) == "SIMULATED answer"


@pytest.mark.parametrize("stream", [False, True])
def test_a_tool_call(server: Served, stream: bool) -> None:  # noqa: FBT001
    body = chat(tools=[TOOL], stream=stream)
    if stream:
        *pieces, _ = events(server, "/v1/chat/completions", body)
        choices = [json.loads(piece)["choices"][0] for piece in pieces]
        calls = [call for choice in choices for call in choice["delta"].get("tool_calls", [])]
        assert choices[-1]["finish_reason"] == "tool_calls"
    else:
        _, answer = server.ask("POST", "/v1/chat/completions", body)
        calls = answer["choices"][0]["message"]["tool_calls"]
        assert answer["choices"][0]["finish_reason"] == "tool_calls"
    assert [call["function"]["name"] for call in calls] == ["weather"]
    assert json.loads(calls[0]["function"]["arguments"]) == {"simulated": True}


@pytest.mark.parametrize(
    ("path", "body", "status", "text"),
    [
        ("/v1/chat/completions", chat(model="other"), 404, "The model `other` does not exist."),
        ("/v1/chat/completions", chat(max_tokens=0), 400, "max_tokens must be at least 1, got 0."),
        ("/v1/completions", {"prompt": "x", "max_tokens": 5000}, 400, "maximum context length is 2048 tokens"),
        ("/v1/completions", [1], 400, "must be a JSON object"),
    ],
)
def test_errors_have_the_real_form(server: Served, path: str, body: object, status: int, text: str) -> None:
    found, answer = server.ask("POST", path, body)
    assert found == status
    assert text in answer["error"]["message"]
    assert answer["error"]["code"] == status


def test_unknown_paths_methods_and_ranks(server: Served) -> None:
    assert server.ask("GET", "/server_info") == (404, {"detail": "Not Found"})
    assert server.ask("POST", "/health")[0] == 405
    assert server.chat(x_data_parallel_rank="1")[1]["error"]["message"].endswith("is out of range [0, 1).")


def test_metrics_count_real_requests(server: Served) -> None:
    def value(name: str) -> float:
        _, page = server.ask("GET", "/metrics")
        return float(next(line.rpartition(" ")[2] for line in page.splitlines() if line.startswith(f"{name}{{")))

    before = value("vllm:generation_tokens_total"), value("vllm:request_success_total")
    server.ask("POST", "/v1/completions", {"prompt": "x", "max_tokens": 3})
    after = value("vllm:generation_tokens_total"), value("vllm:request_success_total")
    assert (after[0] - before[0], after[1] - before[1]) == (3, 1)
    assert value("vllm:num_requests_running") == 0
    _, page = server.ask("GET", "/metrics")
    assert 'kv_cache_max_concurrency="16.0",kv_cache_size_tokens="32768",num_gpu_blocks="2048"' in page
    assert page.startswith("# SIMULATED")


def raw(server: Served, data: bytes) -> bytes:
    with socket.create_connection((server.address, HTTP_PORT), timeout=5) as connection:
        connection.sendall(data)
        answer = b""
        with suppress(ConnectionResetError):
            while more := connection.recv(4096):
                answer += more
    return answer


def test_what_is_not_http_is_dropped_and_the_server_goes_on(server: Served) -> None:
    assert raw(server, b"SSH-2.0-scanner\r\n\r\n") == b""
    assert raw(server, b"GET /health HTTP/1.1\r\ncontent-length: -5\r\n\r\n") == b""
    assert raw(server, b"x" * 2**17) == b""
    assert server.health() == 200


def test_several_requests_over_one_connection(server: Served) -> None:
    two = b"GET /health HTTP/1.1\r\n\r\nGET /health HTTP/1.1\r\nconnection: close\r\n\r\n"
    assert raw(server, two).count(b"HTTP/1.1 200 OK") == 2


def test_an_api_key_is_asked_for_and_not_logged(tmp_path: Path) -> None:
    model = model_folder(tmp_path / "model", DENSE)
    with Gang(build(tmp_path / "envs" / "abc", "0.33.0"), tmp_path) as gang:
        served = gang.serve(0, model, "--api-key", "s3cret")
        all_ready(served)
        assert served.chat() == (401, {"error": "Unauthorized"})
        assert served.chat(authorization="Bearer s3cret")[0] == 200
        assert served.health() == 200
        assert "s3cret" not in served.text()


def test_auto_tool_choice_needs_its_flag(tmp_path: Path) -> None:
    model = model_folder(tmp_path / "model", DENSE)
    with Gang(build(tmp_path / "envs" / "abc", "0.33.0"), tmp_path) as gang:
        served = gang.serve(0, model, VLLM_API_KEY="from-the-environment")
        all_ready(served)
        key = "Bearer from-the-environment"
        status, answer = served.ask(
            "POST", "/v1/chat/completions", chat(model=str(model), tools=[TOOL]), authorization=key
        )
        assert status == 400
        assert '"auto" tool choice requires --enable-auto-tool-choice' in answer["error"]["message"]
