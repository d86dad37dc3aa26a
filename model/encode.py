"""One embedding for every column of a lake, by a model trained now or before."""

import logging
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float32

from datahub_hyperjoin.errors import CheckpointMismatchError, NothingToLearnError
from datahub_hyperjoin.model.checkpoint import Model, fingerprint, load, save
from datahub_hyperjoin.model.config import ModelConfig
from datahub_hyperjoin.model.features import Featurizer, build_vocabulary
from datahub_hyperjoin.model.hin import HIN, Batch, Sizes, to_device
from datahub_hyperjoin.model.hypergraph import Hypergraph
from datahub_hyperjoin.model.positions import return_probabilities
from datahub_hyperjoin.model.structure import Structure
from datahub_hyperjoin.model.train import Epoch, fit, repeatable
from datahub_hyperjoin.model.vectors import WordVectors, train_vectors
from datahub_hyperjoin.model.views import Material

logger = logging.getLogger(__name__)


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


def _material(structure: Structure, featurizer: Featurizer, steps: int) -> Material:
    return Material(
        structure=structure,
        featurizer=featurizer,
        walks=return_probabilities(structure.joins, steps),
        cells=tuple(featurizer.cells(profile.sample) for profile in structure.lake.profiles),
    )


def _train(
    structure: Structure,
    config: ModelConfig,
    vectors: WordVectors,
    watch: Callable[[Epoch], None],
) -> tuple[Model, Material]:
    lake = structure.lake
    vocabulary = build_vocabulary(lake, config.features.vocabulary)
    featurizer = Featurizer(vectors, vocabulary)
    material = _material(structure, featurizer, config.hypergraph.walk_length)
    sizes = Sizes(
        vocabulary=len(vocabulary),
        dimension=vectors.dimension,
        content=4 * featurizer.cell_width,
        tables=len(lake.titles),
        steps=config.hypergraph.walk_length,
    )
    network = HIN(config.network, sizes).to(_device())
    random = np.random.default_rng(config.seed)
    for epoch in fit(network, material, structure.keys, config.training, random):
        watch(epoch)
    model = Model(
        network=network.cpu().eval(),
        sizes=sizes,
        vocabulary=vocabulary,
        vectors=vectors,
        fingerprint=fingerprint(structure, config),
    )
    return model, material


@torch.inference_mode()
def _embed(
    model: Model, material: Material, graph: Hypergraph
) -> Float32[np.ndarray, "column width"]:
    batch = Batch(
        features=material.whole(),
        graph=graph,
        tables=torch.from_numpy(material.lake.table_of + 1),
        walks=torch.from_numpy(material.walks),
    )
    device = _device()
    embeddings = model.network.to(device).eval()(to_device(batch, device))
    return embeddings.cpu().numpy()


def _check_learnable(structure: Structure) -> None:
    tables = len(np.unique(structure.lake.table_of[structure.keys]))
    if len(structure.keys) < 2 or tables < 2:  # noqa: PLR2004 - a pair and a negative
        raise NothingToLearnError.from_counts(tables=tables, keys=len(structure.keys))


def _fresh(structure: Structure, config: ModelConfig, watch: Callable[[Epoch], None]) -> Encoding:
    with tempfile.TemporaryDirectory() as folder, repeatable(config.seed):
        pretrained = config.features.vectors
        vectors = (
            WordVectors(pretrained)
            if pretrained
            else train_vectors(
                structure.lake,
                config.features,
                seed=config.seed,
                path=Path(folder, "vectors.bin"),
            )
        )
        model, material = _train(structure, config, vectors, watch)
        if config.path:
            save(model, config.path, config)
        embeddings = _embed(model, material, structure.graph)
    return Encoding(embeddings=embeddings, fingerprint=model.fingerprint, trained=True)


def encode(structure: Structure, config: ModelConfig, watch: Callable[[Epoch], None]) -> Encoding:
    """Embeds every column, with the saved model if it was made from the same data and settings.

    Args:
        structure: The lake.
        config: How to train, and where the model is kept.
        watch: Called after every epoch of training.

    Returns:
        The embeddings.

    Raises:
        NothingToLearnError: There are fewer than two keys or two tables.
        NonFiniteLossError: The loss is no number any more.
        CollapsedError: All embeddings are alike.
    """
    _check_learnable(structure)
    if config.path is None or not config.path.exists():
        return _fresh(structure, config, watch)
    try:
        model = load(config.path, config, expected=fingerprint(structure, config))
    except CheckpointMismatchError as error:
        logger.info("Training again: %s", error)
        return _fresh(structure, config, watch)
    with repeatable(config.seed):
        material = _material(structure, model.featurizer, config.hypergraph.walk_length)
        embeddings = _embed(model, material, structure.graph)
    return Encoding(embeddings=embeddings, fingerprint=model.fingerprint, trained=False)
