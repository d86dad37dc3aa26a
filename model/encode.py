"""One embedding for every column of a lake, by a model trained now or before."""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float32

from datahub_hyperjoin.model.config import ModelConfig, Scoring
from datahub_hyperjoin.model.errors import NothingToLearnError
from datahub_hyperjoin.model.hypergraph.lake_index import LakeIndex
from datahub_hyperjoin.model.hypergraph.positions import find_positions
from datahub_hyperjoin.model.network.features import Featurizer
from datahub_hyperjoin.model.network.hin import Batch, to_device
from datahub_hyperjoin.model.saved.checkpoint import Model, save
from datahub_hyperjoin.model.saved.fingerprints import fingerprint_architecture
from datahub_hyperjoin.model.saved.journal import Journal
from datahub_hyperjoin.model.saved.reuse import begin, find_trained
from datahub_hyperjoin.model.saved.training_state import Epoch
from datahub_hyperjoin.model.training.augmented_views import TrainingData
from datahub_hyperjoin.model.training.train import fit, repeatable


@dataclass(frozen=True)
class Encoding:
    """The columns of a lake as the network sees them."""

    embeddings: Float32[np.ndarray, "column width"]
    """Unit vectors."""

    fingerprint: str
    """Of the model that made them."""

    trained: bool
    """Whether the model was fitted in this run; else it was read from its folder."""


def _device() -> torch.device:
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def _material(structure: LakeIndex, featurizer: Featurizer, config: ModelConfig) -> TrainingData:
    return TrainingData(
        structure=structure,
        featurizer=featurizer,
        walks=find_positions(structure, config),
        cells=tuple(featurizer.cells(profile.sample) for profile in structure.lake.profiles),
        config=config,
    )


@torch.inference_mode()
def _embed(
    model: Model, material: TrainingData, structure: LakeIndex
) -> Float32[np.ndarray, "column width"]:
    batch = Batch(
        features=material.whole(),
        graph=structure.graph,
        tables=torch.from_numpy(model.number_tables(material.lake)),
        walks=torch.from_numpy(material.walks),
    )
    device = _device()
    embeddings = model.network.to(device).eval()(to_device(batch, device))
    return embeddings.cpu().numpy()


def _by_names(structure: LakeIndex) -> Encoding:
    """Names as vectors, for rankings that a network has no part in."""
    return Encoding(embeddings=structure.names.vectors(), fingerprint="untrained", trained=False)


def _check_learnable(structure: LakeIndex) -> None:
    tables = len(np.unique(structure.lake.table_of[structure.keys]))
    if len(structure.keys) < 2 or tables < 2:  # noqa: PLR2004 - a pair and a negative
        raise NothingToLearnError.from_counts(tables=tables, keys=len(structure.keys))


def _train(
    model: Model,
    structure: LakeIndex,
    material: TrainingData,
    config: ModelConfig,
    watch: Callable[[Epoch], None],
) -> None:
    """Fits a model in place and saves it."""
    device = _device()
    architecture = fingerprint_architecture(model.describe_architecture(config))
    journal = Journal(config.path, f"{model.fingerprint}-{architecture}-{device.type}")
    network, random = model.network.to(device), np.random.default_rng(config.seed)
    for epoch in fit(network, material, structure.keys, random, journal):
        watch(epoch)
    network.cpu().eval()
    if config.path:
        save(model, config.path, config)
    journal.discard()


def encode(structure: LakeIndex, config: ModelConfig, watch: Callable[[Epoch], None]) -> Encoding:
    """Embeds every column, with a saved model if the configuration lets it.

    Without the network in the ranking nothing is trained, and names alone make the embeddings.

    Args:
        structure: The lake.
        config: How to train, where models are kept, and when they are used again.
        watch: Called after every epoch of training.

    Returns:
        The embeddings.

    Raises:
        NothingToLearnError: Training is needed, and there are fewer than two keys or two tables.
        NonFiniteLossError: The loss is no number any more.
        CollapsedError: All embeddings are alike.
        CheckpointMismatchError: A model to start from, or to use whatever the tables, does not fit.
    """
    if config.ranking.scoring is Scoring.SIGNALS:
        return _by_names(structure)
    with repeatable(config.seed):
        trained = find_trained(structure, config)
    with tempfile.TemporaryDirectory() as folder, repeatable(config.seed):
        if trained is None:
            _check_learnable(structure)
        model = trained or begin(structure, config, Path(folder))
        material = _material(structure, model.featurizer, config)
        if trained is None:
            _train(model, structure, material, config, watch)
        embeddings = _embed(model, material, structure)
    return Encoding(embeddings=embeddings, fingerprint=model.fingerprint, trained=trained is None)
