"""Read and check a recipe, and explain in sentences what to correct."""

from datahub_hyperjoin.recipe.config import HyperJoinConfig
from datahub_hyperjoin.recipe.errors import RefusedRecipeError
from datahub_hyperjoin.recipe.read import (
    check_requirements,
    find_literal_secrets,
    in_sentences,
    list_faults,
    read_recipe,
    recipe_keys,
    refuse_literal_secrets,
    unmet_requirements,
)

__all__ = [
    "HyperJoinConfig",
    "RefusedRecipeError",
    "check_requirements",
    "find_literal_secrets",
    "in_sentences",
    "list_faults",
    "read_recipe",
    "recipe_keys",
    "refuse_literal_secrets",
    "unmet_requirements",
]
