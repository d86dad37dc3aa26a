from dataclasses import replace
from pathlib import Path

import pytest

from datahub_hyperjoin.model.config import (
    FeatureConfig,
    ModelConfig,
    NetworkConfig,
    RankingConfig,
    Scoring,
    TrainingConfig,
)
from datahub_hyperjoin.model.config.network_keys import find_unused_keys

FOR_A_NETWORK = ModelConfig(
    path=Path("model"),
    start=Path("other"),
    features=FeatureConfig(vectors=Path("words.bin")),
    network=NetworkConfig(width=64),
    training=TrainingConfig(epochs=2),
)


def test_keys_of_a_network_that_is_not_trained_are_listed() -> None:
    assert find_unused_keys(FOR_A_NETWORK) == (
        "model.path",
        "model.start",
        "model.features.vectors",
        "model.network",
        "model.training",
    )
    assert find_unused_keys(ModelConfig()) == ()


@pytest.mark.parametrize("scoring", [Scoring.BLEND, Scoring.HIN])
def test_a_trained_network_reads_its_keys(scoring: Scoring) -> None:
    ranking = RankingConfig(scoring=scoring)
    assert find_unused_keys(replace(FOR_A_NETWORK, ranking=ranking)) == ()
