"""The configuration of the model."""

from datahub_hyperjoin.model.config.method import (
    OURS,
    PAPER,
    Edges,
    EpochSelection,
    Loss,
    Method,
    Positions,
)
from datahub_hyperjoin.model.config.sections import (
    FeatureConfig,
    HypergraphConfig,
    KeyConfig,
    LanguageModelConfig,
    ModelConfig,
    NetworkConfig,
    Precision,
    RankingConfig,
    Reuse,
    Scoring,
    TrainingConfig,
)

__all__ = [
    "OURS",
    "PAPER",
    "Edges",
    "EpochSelection",
    "FeatureConfig",
    "HypergraphConfig",
    "KeyConfig",
    "LanguageModelConfig",
    "Loss",
    "Method",
    "ModelConfig",
    "NetworkConfig",
    "Positions",
    "Precision",
    "RankingConfig",
    "Reuse",
    "Scoring",
    "TrainingConfig",
]
