"""Read and check a recipe, and explain in sentences what to correct."""

from datahub_hyperjoin.recipe.keys import recipe_keys
from datahub_hyperjoin.recipe.read import in_sentences, list_faults, read_recipe
from datahub_hyperjoin.recipe.requirements import check_requirements, unmet_requirements

__all__ = [
    "check_requirements",
    "in_sentences",
    "list_faults",
    "read_recipe",
    "recipe_keys",
    "unmet_requirements",
]
