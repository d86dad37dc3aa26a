"""Check a whole recipe, with everything that it reads and writes, without running it."""

from datahub_hyperjoin.recipe_check.check import RecipeCheck, check_recipe

__all__ = ["RecipeCheck", "check_recipe"]
