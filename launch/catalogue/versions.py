"""Which vLLM a recipe is planned for: its own pinned version, or the newest schema where only an image has it. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inventory.errors import BadInput
from launch.choosing.reasons import Reason
from launch.resolve.constraints import applies

if TYPE_CHECKING:
    from launch.catalogue.find import Found
    from launch.resolve.gates import Place


def version_of(found: Found, place: Place, strategy: str) -> tuple[str, Reason]:
    """The version whose option schema the commands are checked against. Raises `BadInput` where none is told."""
    pinned = found.recipe.bringup.vllm_version
    if pinned is not None:
        return pinned, Reason("vLLM", pinned, "pinned by the recipe", source=f"{found.id}: bringup.vllm_version")
    if not any(one.image_only and applies(one, place, strategy) for one in found.recipe.bringup.constraints):
        raise BadInput(
            f"{found.id} does not say which vLLM it is for",
            id="version-open",
            observed="no bringup.vllm_version in the recipe",
            required="a pinned version",
            next_command=f"set bringup.vllm_version in {found.path}",
        )
    from launch.catalogue.validate import version_for

    newest = version_for("", found)
    rule = "the newest option schema here stands in for that of the image, which nobody has published: not proven"
    return newest, Reason("vLLM", newest, rule, source=f"{found.id}: bringup.constraints", warns=True)
