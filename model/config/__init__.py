"""The model's settings: what a recipe may say, and what the paper says instead."""

from datahub_hyperjoin.model.config.language_model import LanguageModelConfig, VariantConfig
from datahub_hyperjoin.model.config.sections import (
    Edges,
    EpochSelection,
    FeatureConfig,
    HypergraphConfig,
    KeyConfig,
    Loss,
    ModelConfig,
    NetworkConfig,
    Positions,
    Precision,
    RankingConfig,
    Reuse,
    Scoring,
    Setting,
    TrainingConfig,
)

__all__ = [
    "Edges",
    "EpochSelection",
    "FeatureConfig",
    "HypergraphConfig",
    "KeyConfig",
    "LanguageModelConfig",
    "Loss",
    "ModelConfig",
    "NetworkConfig",
    "Positions",
    "Precision",
    "RankingConfig",
    "Reuse",
    "Scoring",
    "Setting",
    "TrainingConfig",
    "VariantConfig",
]
