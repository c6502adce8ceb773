"""What an endpoint lets others do is said in every plan."""

from __future__ import annotations

from inventory.secret import Secret
from launch.choosing.reasons import Reason
from launch.planned.api_key import ApiKey
from launch.planned.typed import Flags, typed_settings
from launch.planned.wanted import Wanted
from launch.request import Request
from tests.unit.launch.gangs import facts, hosts
from tests.unit.launch.real_gangs import decided


def reasons(model: str, flags: Flags = Flags(), key: ApiKey | None = None, **more: object) -> dict[str, Reason]:  # noqa: B008
    members = hosts(1)
    request = Request(model=model, settings=typed_settings(flags), wanted=Wanted(api_key=key), **more)  # type: ignore[arg-type]
    found = decided(request, members, facts(members, [8], "NVIDIA H200")).placement.reasons
    return {one.decision: one for one in found}


def test_an_open_endpoint_is_said() -> None:
    assert "--api-key generate" in reasons("glm-5")["API key"].rule
    keyed = reasons("glm-5", key=ApiKey(Secret("sk-0123456789abcdef"), "/k"))["API key"]
    assert keyed.chosen == "*** (/k)"


def test_code_of_the_model_runs_only_where_the_recipe_says_and_at_which_commit() -> None:
    why = reasons("deepseek-v4-pro")["--trust-remote-code"]
    assert ("commit", "72e1d3230f6c080a530b0a1d46f8eb4602340597") in why.numbers
    assert "--trust-remote-code" not in reasons("glm-5")
    off = reasons("deepseek-v4-pro", Flags(trust_remote_code="no"))["--trust-remote-code"]
    assert (off.chosen, off.warns) == ("off", True)
    assert "--trust-remote-code" not in reasons("glm-5", Flags(trust_remote_code="no"))


def test_a_model_that_fetches_images_is_warned_of_until_domains_are_named() -> None:
    assert reasons("qwen3.5")["media domains"].warns
    assert "media domains" not in reasons("qwen3.5", Flags(media_domains="img.example"))
    assert "media domains" not in reasons("qwen3.5", features=("text_only",))
    assert "media domains" not in reasons("glm-5")
