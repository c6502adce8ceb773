"""All planned settings over a recipe's commands: the family's, the profile's, what was typed, what follows. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from launch.choosing.settings import dest_of, over, words
from launch.planned.family import family_words
from launch.planned.lora import DYNAMIC
from launch.planned.profile import Limits, profile_words
from launch.planned.safety import refuse_contradicted_planned, safety_reasons
from launch.planned.speculation import speculation_words
from launch.vllm_args.parse import load, parse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from launch.choosing.choice import Choice
    from launch.choosing.reasons import Reason
    from launch.request import Request
    from launch.vllm_args.translations import Translated


def planned(
    choice: Choice, request: Request, said: Sequence[Translated]
) -> tuple[list[Translated], tuple[Reason, ...]]:
    """`said`, the recipe's commands by node, with every planned setting; and the reason for each.

    Raises `BadInput` for what was typed and cannot be had.
    """
    version = choice.vllm
    refuse_contradicted_planned(choice, request, request.name or choice.slug)
    flags = load(version)["flags"]
    typed = {dest: str(one) for one in request.settings if (dest := dest_of(one.flag, flags))}
    head = parse(said[0].argv, version)
    lacking, reasons = family_words(choice, head, typed)
    if request.wanted.profile:
        changed, why = profile_words(request.wanted.profile, Limits(choice, head, typed))
        lacking, reasons = [*lacking, *changed], [*reasons, *why]
    said = _over(said, lacking, version)
    said = _over(said, words(request.settings, version), version)
    lacking, why = speculation_words(parse(said[0].argv, version), choice.place, typed)
    said = _over(said, lacking, version)
    if request.wanted.lora_dynamic:
        said = [replace(one, env={**one.env, DYNAMIC: "1"}) for one in said]
    safety = safety_reasons(choice, request, parse(said[0].argv, version), typed, head)
    return list(said), (*reasons, *why, *safety)


def _over(said: Sequence[Translated], wanted: Sequence[str], version: str) -> Sequence[Translated]:
    return [replace(one, argv=over(one.argv, wanted, version)) for one in said] if wanted else said
