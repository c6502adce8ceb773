"""The image of a choice: its recipe's, or the release's. Stock tags that move count for nothing. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from launch.resolve import Case
from launch.resolve.docker import STOCK, brand_of, exact_pin, image_of, of_brand

if TYPE_CHECKING:
    from launch.choosing.choice import Choice


def image_of_recipe(choice: Choice) -> str | None:
    """None where the recipe names none for this hardware."""
    found = choice.found
    case = Case(found.recipe, found.library, choice.variant, choice.strategy, choice.hardware)
    brand = brand_of(case.profile)
    named = (case.variant.docker_image, case.recipe.model.docker_image)
    if exact_pin(case) is None and all(of_brand(images, brand, None) is None for images in named):
        return None
    return image_of(case)


def image_of_choice(choice: Choice) -> str | None:
    """The recipe's image, else the one that vLLM publishes for its pinned release and this brand of GPUs.

    Whether a registry has that release is seen when its digest is asked for, before anything is changed.
    """
    named = image_of_recipe(choice)
    stock = STOCK.get(brand_of(choice.found.library.profile(choice.hardware)))
    return named or (f"{stock}:v{choice.vllm}" if stock and choice.vllm else None)
