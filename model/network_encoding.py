"""Compute an embedding for every column with the network.

This needs torch, which takes seconds to import.
"""

import logging
from collections.abc import Callable

import numpy as np
import torch
from jaxtyping import Float32
from safetensors import SafetensorError

from datahub_hyperjoin.model.config import ModelConfig
from datahub_hyperjoin.model.errors import NothingToLearnError
from datahub_hyperjoin.model.hypergraph.hyperedges import build_hypergraph
from datahub_hyperjoin.model.hypergraph.lake_index import LakeIndex
from datahub_hyperjoin.model.hypergraph.positions import find_positions
from datahub_hyperjoin.model.network.features import Featurizer
from datahub_hyperjoin.model.network.hin import Batch, to_device
from datahub_hyperjoin.model.saved.checkpoint import Model, save
from datahub_hyperjoin.model.saved.epoch import Epoch
from datahub_hyperjoin.model.saved.fingerprints import fingerprint_architecture
from datahub_hyperjoin.model.saved.journal import Journal
from datahub_hyperjoin.model.saved.reuse import build_initial_model, find_trained
from datahub_hyperjoin.model.training.augmented_views import ViewSource
from datahub_hyperjoin.model.training.train import fit, repeatable
from datahub_hyperjoin.temporary import temporary_folder

logger = logging.getLogger(__name__)


def _device() -> torch.device:
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def _prepare_data(index: LakeIndex, featurizer: Featurizer, config: ModelConfig) -> ViewSource:
    return ViewSource(
        index=index,
        featurizer=featurizer,
        positions=find_positions(index, config),
        cells=tuple(featurizer.cells(profile.sample) for profile in index.lake.profiles),
        config=config,
    )


@torch.inference_mode()
def _embed(model: Model, data: ViewSource) -> Float32[np.ndarray, "column width"]:
    batch = Batch(
        features=data.whole(),
        graph=build_hypergraph(data.index.groups, len(data.lake)),
        tables=torch.from_numpy(model.number_tables(data.lake)),
        positions=torch.from_numpy(data.positions),
    )
    device = _device()
    embeddings = model.network.to(device).eval()(to_device(batch, device))
    return embeddings.cpu().numpy()


def _check_learnable(index: LakeIndex) -> None:
    tables = len(np.unique(index.lake.table_of[index.keys]))
    if len(index.keys) < 2 or tables < 2:  # noqa: PLR2004 - a pair and a negative
        raise NothingToLearnError.from_counts(tables=tables, keys=len(index.keys))


def _train(
    model: Model,
    data: ViewSource,
    watch: Callable[[Epoch], None],
) -> None:
    """Train the network of a model, and save the model if `model.path` is set.

    The journal belongs to one training: the same data and settings, architecture and kind of
    device. It is deleted only after the model is saved, so a run that is killed between the two
    resumes after the last epoch.
    """
    device, config = _device(), data.config
    architecture = fingerprint_architecture(model.describe_architecture(config))
    journal = Journal(config.path, f"{model.fingerprint}-{architecture}-{device.type}")
    network, random = model.network.to(device), np.random.default_rng(config.seed)
    for epoch in fit(network, data, data.index.keys, random, journal):
        watch(epoch)
    network.cpu().eval()
    if config.path:
        try:
            save(model, config.path, config)
        except (OSError, SafetensorError) as error:
            message = "Cannot save the model in `model.path` %s, so the next run trains again: %s"
            logger.warning(message, config.path, error)
            return  # the next run resumes from the journal
    journal.discard()


def encode_by_network(
    index: LakeIndex, config: ModelConfig, watch: Callable[[Epoch], None]
) -> tuple[Float32[np.ndarray, "column width"], str, bool]:
    """Compute an embedding for every column, with a saved network or one trained in this run.

    See `encode` for the errors.

    Args:
        index: The lake.
        config: How to train, where models are saved, and when a saved model is used.
        watch: Receives every epoch of training.

    Returns:
        Unit vectors, the fingerprint of the model, and whether it was trained in this run.
    """
    with repeatable(config.seed):
        trained = find_trained(index, config)
    with temporary_folder() as folder, repeatable(config.seed):
        if trained is None:
            _check_learnable(index)
        model = trained or build_initial_model(index, config, folder)
        data = _prepare_data(index, model.featurizer, config)
        if trained is None:
            _train(model, data, watch)
        embeddings = _embed(model, data)
    return embeddings, model.fingerprint, trained is None
