"""Settings of clients: what the handbook's section 6.8 says, and never a key among the words."""

from __future__ import annotations

import subprocess
from dataclasses import replace

import pytest

from launch.serving.clients import CLIENTS, Served, claude_code, curl, remarks

SERVED = Served(
    ("http://10.2.0.1:8000", "http://10.2.0.2:8000"),
    "glm-5",
    "0.33.0",
    asks_key=False,
    key_file=None,
    calls_tools=True,
    max_model_len=200_000,
)


def variables(text: str) -> dict[str, str]:
    """What a shell makes of the lines; the program at the end is not run."""
    script = text.removesuffix("\nclaude") + "\nenv -0"
    told = subprocess.run(["env", "-i", "sh", "-euc", script], capture_output=True, text=True, check=True).stdout
    return dict(line.partition("=")[::2] for line in told.split("\0") if line)


def test_claude_code_gets_every_model_and_both_keys() -> None:
    found = variables(claude_code(SERVED))
    assert found["ANTHROPIC_BASE_URL"] == "http://10.2.0.1:8000", "without /v1"
    assert {value for name, value in found.items() if name.endswith("_MODEL")} == {"glm-5"}
    assert len([name for name in found if name.endswith("_MODEL")]) == 3
    assert {found["ANTHROPIC_AUTH_TOKEN"], found["ANTHROPIC_API_KEY"]} == {"unused"}


def test_a_key_is_read_from_its_file_by_the_shell(tmp_path_factory: pytest.TempPathFactory) -> None:
    file = tmp_path_factory.mktemp("a key's $(place)") / "key"
    file.write_text("sk-secret-0123456789\n")
    keyed = replace(SERVED, asks_key=True, key_file=str(file))
    for client in CLIENTS.values():
        assert "sk-secret" not in client(keyed)
    assert {*variables(claude_code(keyed)).values()} >= {"sk-secret-0123456789"}


@pytest.mark.parametrize(("vllm", "is_set"), [("0.17.1", True), ("0.9.2", True), ("0.17.2", False), ("0.33.0", False)])
def test_the_changing_hash_is_switched_off_for_versions_that_do_not_take_it_out(vllm: str, *, is_set: bool) -> None:
    assert ("CLAUDE_CODE_ATTRIBUTION_HEADER=0" in claude_code(replace(SERVED, vllm=vllm))) is is_set


@pytest.mark.parametrize("model", ["it's", "a b", "$(touch x)", "`x`", "ü"])
def test_names_are_words_of_the_shell(model: str) -> None:
    odd = replace(SERVED, model=model)
    assert variables(claude_code(odd))["ANTHROPIC_DEFAULT_OPUS_MODEL"] == model
    for client in CLIENTS.values():
        assert subprocess.run(["sh", "-n"], input=client(odd), text=True, check=False).returncode == 0


def test_curl_sends_the_key_by_a_pipe() -> None:
    text = curl(replace(SERVED, asks_key=True, key_file="/root/key"))
    assert text.startswith("printf")
    assert "--config -" in text


def test_pitfalls_are_told() -> None:
    def told(client: str = "claude-code", **changed: object) -> str:
        return "\n".join(remarks(client, replace(SERVED, **changed)))  # type: ignore[arg-type]

    assert "slash" in told(model="org/model")
    assert "--feature tool_calling" in told(calls_tools=False)
    assert "tool_calling" not in told(calls_tools=None)
    assert "WebSearch" in told()
    assert "WebSearch" not in told("openai")
    assert "10.2.0.2" in told("curl")
    assert "KEY_FILE" in told(asks_key=True)
