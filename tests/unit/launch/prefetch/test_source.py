from __future__ import annotations

from pathlib import Path

import pytest

from inventory.errors import BadInput
from launch.prefetch.source import Fetch, Origin, read_fetch, read_rate, read_source
from launch.prefetch.token import hub_token


@pytest.mark.parametrize(
    ("typed", "rate"),
    [("", None), ("200M", 200_000_000), ("1.5G", 1_500_000_000), ("800k", 800_000), ("5MB/s", 5_000_000), ("7", 7)],
)
def test_rates_are_decimal_bytes_a_second(typed: str, rate: int | None) -> None:
    assert read_rate(typed) == rate


@pytest.mark.parametrize("typed", ["fast", "-1M", "0", "0.0001k", "1e9", "200Mi", "; rm -rf /"])
def test_what_is_no_rate_is_refused(typed: str) -> None:
    with pytest.raises(BadInput, match="limit-rate"):
        read_rate(typed)


def test_a_folder_needs_to_be_told_whose_it_is() -> None:
    with pytest.raises(BadInput, match="--fetch beside it"):
        read_source("/data/model", None)
    assert read_source("/data/model/", Fetch.PUSH).folder == "/data/model"


@pytest.mark.parametrize("typed", ["data", "./data", "/a/../b", "/a\nb", "s3://x"])
def test_only_absolute_folders_are_taken(typed: str) -> None:
    with pytest.raises(BadInput, match="from"):
        read_source(typed, Fetch.PUSH)


def test_names_of_sources_and_ways() -> None:
    assert read_source("", None).origin is Origin.HUB
    assert read_source("modelscope", None).origin is Origin.MODELSCOPE
    assert read_fetch("") is None
    assert read_fetch("hub-each") is Fetch.HUB_EACH
    with pytest.raises(BadInput, match="hub-once, hub-each, shared, push"):
        read_fetch("twice")


def test_the_token_is_found_where_the_hubs_own_tools_look_and_never_shown(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("hf_secret\n")
    for environ in ({"HF_TOKEN": "hf_secret"}, {"HF_TOKEN_PATH": str(file)}, {"HF_HOME": str(tmp_path)}):
        token = hub_token(environ)
        assert token
        assert token.reveal() == "hf_secret"
        assert "secret" not in f"{token} {token!r}"
    assert hub_token({"HF_HOME": str(tmp_path / "none")}) is None
    file.write_text("<html>not found</html>")
    with pytest.raises(BadInput) as caught:
        hub_token({"HF_HOME": str(tmp_path)})
    assert caught.value.id == "hub-token"
    assert "html" not in str(caught.value)
