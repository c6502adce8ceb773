"""The image that a recipe names for a choice. Stock images count for nothing: their tags move. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from launch.resolve import Case
from launch.resolve.docker import brand_of, exact_pin, image_of, of_brand

if TYPE_CHECKING:
    from launch.choice import Choice


def image_of_recipe(choice: Choice) -> str | None:
    """None where the recipe names none for this hardware."""
    found = choice.found
    case = Case(found.recipe, found.library, choice.variant, choice.strategy, choice.hardware)
    brand = brand_of(case.profile)
    named = (case.variant.docker_image, case.recipe.model.docker_image)
    if exact_pin(case) is None and all(of_brand(images, brand, None) is None for images in named):
        return None
    return image_of(case)
