"""What a deploy writes as `command.sh` is read back word for word, with and without a container."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from launch.building.command import HostCommand
from launch.building.container import ContainerRun
from launch.building.unit import UnitSettings, command_file
from launch.planned.wanted import KEY_FILE
from launch.serving.stored_command import read_command

FOLDER = "/var/lib/bringup/deployments/m/0123456789ab"
MODEL = "/var/lib/bringup/weights/m/1"
ARGV = (
    "/opt/env/bin/vllm",
    "serve",
    MODEL,
    "--tokenizer-mode",
    "deepseek_v4",
    "--port=8000",
    "--enable-auto-tool-choice",
)
ENV = (("HOME", "/var/lib/bringup/caches"), ("ODD", "a'b $(c) ü"), ("EMPTY", ""))
RUN = ContainerRun(engine="docker", image="bringup/x:1", brand="nvidia", gpus=(0,), folders=((MODEL, False),))


def settings(*, key: bool = False, container: ContainerRun | None = None) -> UnitSettings:
    return UnitSettings(
        "m", "0123456789ab", FOLDER, "root", key_file=f"{FOLDER}/{KEY_FILE}" if key else None, container=container
    )


@pytest.mark.parametrize("key", [False, True])
@pytest.mark.parametrize("container", [None, RUN])
def test_a_command_is_read_back(container: ContainerRun | None, *, key: bool) -> None:
    found = read_command(command_file(HostCommand("tray1", ENV, ARGV), settings(key=key, container=container)))
    assert found is not None
    assert found.model == MODEL
    assert found.options == ARGV[3:]
    assert found.container == (container and "docker")
    assert found.program == ("vllm" if container else "/opt/env/bin/vllm")
    assert {name: found.env[name] for name, _ in ENV} == dict(ENV)
    assert "BRINGUP_DEPLOYMENT" not in found.env, "what has it is stopped with the ranks"


def test_values_stand_behind_their_flag_or_an_equals_sign() -> None:
    found = read_command(command_file(HostCommand("tray1", ENV, ARGV), settings()))
    assert found is not None
    assert found.value_of("--tokenizer-mode") == "deepseek_v4"
    assert found.value_of("--port") == "8000"
    assert found.value_of("--tokenizer") is None


word = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=20)


@given(words=st.lists(word.filter(lambda text: text not in {"serve", "\n"}), max_size=5), value=word)
def test_any_word_is_read_back(words: list[str], value: str) -> None:
    argv = ("/opt/vllm", "serve", MODEL, *words)
    found = read_command(command_file(HostCommand("tray1", (("A", value),), argv), settings()))
    assert found is not None
    assert found.options == tuple(words)
    assert found.env["A"] == value


@pytest.mark.parametrize("text", ["", "#!/bin/sh\nexec env -i \\\n  sleep 9\n", "\nexec env -i 'open", "serve me"])
def test_what_bringup_did_not_write_is_nothing(text: str) -> None:
    assert read_command(text) is None
