"""From the words of a command line to what is wanted."""

from __future__ import annotations

from pathlib import Path

import pytest

from inventory.errors import BadInput
from launch.flags import HELP, SETTINGS
from launch.planned.typed import Flags
from launch.planned.wanted import NOTHING
from launch.verbs.planned import planned_settings, wanted


def test_every_shared_flag_of_settings_is_read_and_explained() -> None:
    read = {*Flags.__dataclass_fields__, "profile", "pinning", "api_key", "kv_memory", "weights_from"}
    assert read == set(SETTINGS)
    assert not [name for name in SETTINGS if name.replace("_", "-") not in HELP]


def test_what_saves_time_at_a_start_is_wanted_by_its_word_alone() -> None:
    found = wanted({"kv_memory": "measured", "weights_from": "daemon"}, "m")
    assert (found.kv_memory, found.weights_daemon) == (True, True)
    for wrong in ({"kv_memory": "5G"}, {"weights_from": "hub"}):
        with pytest.raises(BadInput):
            wanted(wrong, "m")


def test_nothing_given_is_nothing_wanted() -> None:
    empty = dict.fromkeys(SETTINGS, "")
    assert wanted(empty, "deepseek-v4-pro") == NOTHING
    assert planned_settings(empty) == ()


def test_what_is_given_is_wanted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    given = {"profile": "agent", "pinning": "off", "lora_loading": "dynamic", "api_key": "generate", "name": "pro"}
    found = wanted(given, "deepseek-v4-pro")
    assert (found.profile, found.pins, found.lora_dynamic) == ("agent", False, True)
    assert found.api_key is not None
    assert found.api_key.origin == str(tmp_path / "bringup/api-keys/pro")
    unnamed = wanted({"api_key": "generate"}, "deepseek-ai/DeepSeek-V4-Pro")
    assert unnamed.api_key is not None
    assert unnamed.api_key.origin.endswith("/deepseek-v4-pro")


@pytest.mark.parametrize("given", [{"profile": "fast"}, {"pinning": "half"}, {"lora_loading": "x"}])
def test_what_is_not_known_is_refused(given: dict[str, str]) -> None:
    with pytest.raises(BadInput):
        wanted(given, "glm-5")
