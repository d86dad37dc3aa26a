"""Change single settings of a small model, and run the model on a lake."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from datahub_hyperjoin.catalog_facts import CatalogFacts
from datahub_hyperjoin.model.config import (
    OURS,
    ModelConfig,
    NetworkConfig,
    RankingConfig,
    Scoring,
    TrainingConfig,
)
from datahub_hyperjoin.model.encode import Epoch, encode
from datahub_hyperjoin.model.hypergraph.lake_index import LakeIndex, build_lake_index
from datahub_hyperjoin.model.hypergraph.positions import find_positions
from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.network.features import Featurizer, build_vocabulary, train_vectors
from datahub_hyperjoin.model.training import train
from datahub_hyperjoin.model.training.augmented_views import PairBatch, ViewSource, sample_pairs

NOTHING = CatalogFacts()
BLEND = RankingConfig(scoring=Scoring.BLEND)
"""A ranking configuration that requires a trained network."""
SMALL = ModelConfig(
    setting=replace(OURS, dimension=16, heads=4, dropout=0.0),
    network=NetworkConfig(width=32),
    training=TrainingConfig(epochs=3),
    ranking=BLEND,
)
SHORT = ModelConfig(setting=replace(OURS, dimension=8), ranking=BLEND)
"""The setting `ours`, but with a trained network and with short word vectors."""


def switched(config: ModelConfig, **keys: object) -> ModelConfig:
    """Replace settings such as `features.names`, which is written as `features__names`."""
    for key, value in keys.items():
        section, _, name = key.partition("__")
        changed: Any = replace(getattr(config, section), **{name: value})
        config = replace(config, **{section: changed})
    return config


def build(lake: Lake, config: ModelConfig) -> LakeIndex:
    return build_lake_index(lake, config, NOTHING)


def data_from(index: LakeIndex, config: ModelConfig, folder: Path) -> ViewSource:
    """Make training data from a lake, with word vectors trained on the same lake."""
    lake = index.lake
    vectors = train_vectors(lake, config, path=folder / "v.bin")
    featurizer = Featurizer(vectors, build_vocabulary(lake, 100))
    return ViewSource(
        index=index,
        featurizer=featurizer,
        positions=find_positions(index, config),
        cells=tuple(featurizer.cells(profile.sample) for profile in lake.profiles),
        config=config,
    )


def training_data(lake: Lake, config: ModelConfig, folder: Path) -> ViewSource:
    return data_from(build(lake, config), config, folder)


def draw(lake: Lake, config: ModelConfig, folder: Path, seed: int = 0) -> PairBatch:
    data = training_data(lake, config, folder)
    return sample_pairs(data, data.index.keys, np.random.default_rng(seed))


def report(epochs: Sequence[tuple[float, float]], monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace the losses and recalls that the training reports with the given ones."""
    losses, recalls = (iter(values) for values in zip(*epochs, strict=True))
    learn = train._run_epoch  # noqa: SLF001 - it still learns; only what it says is another's

    def run_epoch(*arguments: Any) -> float:  # noqa: ANN401 - handed on
        learn(*arguments)
        return next(losses)

    monkeypatch.setattr(train, "_run_epoch", run_epoch)
    monkeypatch.setattr(train, "measure_recall", lambda *_: next(recalls))


def run(lake: Lake, config: ModelConfig) -> tuple[np.ndarray, list[Epoch]]:
    epochs: list[Epoch] = []
    return encode(build(lake, config), config, epochs.append).embeddings, epochs
