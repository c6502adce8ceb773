import dataclasses
import json
import traceback

import pytest
from pydantic import BaseModel, TypeAdapter, ValidationError

from inventory.secret import Secret, Url

WORD = "hunter2"
WITH_PASSWORD = f"http://ops:{WORD}@proxy.example.com:3128/path?q=1"


class Model(BaseModel):
    token: Secret
    proxy: Url


@dataclasses.dataclass(frozen=True)
class Plan:
    token: Secret
    proxy: Url


def model() -> Model:
    return Model(token=Secret(WORD), proxy=Url(WITH_PASSWORD))


def every_text_of(value: object) -> list[str]:
    return [str(value), repr(value), f"{value}", f"{value!s:>40}", "%s" % value, "{}".format(value)]  # noqa: UP031, UP032


@pytest.mark.parametrize(
    "value", [Secret(WORD), Url(WITH_PASSWORD), model(), [Secret(WORD)], {"a": Url(WITH_PASSWORD)}]
)
def test_no_way_to_print_shows_it(value: object) -> None:
    for text in every_text_of(value):
        assert WORD not in text
        assert "***" in text


def test_written_as_json_it_is_hidden() -> None:
    plan = Plan(Secret(WORD), Url(WITH_PASSWORD))
    for text in (model().model_dump_json(), TypeAdapter(Plan).dump_json(plan).decode(), str(model().model_dump())):
        assert WORD not in text
    assert json.loads(model().model_dump_json())["token"] == "***"  # noqa: S105


def test_a_format_width_works() -> None:
    assert f"{Secret(WORD):>6}" == "   ***"


def test_only_reveal_gives_it() -> None:
    assert model().token.reveal() == WORD
    assert model().proxy.reveal() == WITH_PASSWORD


def test_a_traceback_does_not_hold_it() -> None:
    def fail(secret: Secret) -> None:
        raise ValueError(secret)

    with pytest.raises(ValueError, match=r"\*\*\*") as caught:
        fail(Secret(WORD))
    assert WORD not in "".join(traceback.format_exception(caught.value))


def test_a_url_shows_all_but_user_and_password() -> None:
    assert str(Url(WITH_PASSWORD)) == "http://***@proxy.example.com:3128/path?q=1"
    assert str(Url("https://pypi.example.com/simple")) == "https://pypi.example.com/simple"
    assert str(Url(f"http://[{WORD}")) == "***"


def test_equal_secrets_are_equal_and_hash_alike() -> None:
    assert Secret(WORD) == Secret(WORD)
    assert len({Secret(WORD), Secret(WORD), Secret("other")}) == 2


def test_a_number_is_no_secret() -> None:
    with pytest.raises(ValidationError):
        Model.model_validate_json('{"token": 1, "proxy": "http://a"}', strict=True)
