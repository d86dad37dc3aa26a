"""Measure the quality of rankings on lakes with known joins."""

from datahub_hyperjoin.evaluate.labelled_lake import read_labelled_lakes
from datahub_hyperjoin.evaluate.report import as_text, write_results
from datahub_hyperjoin.evaluate.run import (
    EvaluationProgress,
    LakeResult,
    Pipeline,
    ProfiledLake,
    RankingMethod,
    RecipeSettings,
    evaluate,
    measure,
    parse_settings,
    profile_lakes,
    recipe_config,
)

__all__ = [
    "EvaluationProgress",
    "LakeResult",
    "Pipeline",
    "ProfiledLake",
    "RankingMethod",
    "RecipeSettings",
    "as_text",
    "evaluate",
    "measure",
    "parse_settings",
    "profile_lakes",
    "read_labelled_lakes",
    "recipe_config",
    "write_results",
]
