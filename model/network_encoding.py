"""Compute an embedding for every column with the network.

This needs torch, which takes seconds to import.
"""

from collections.abc import Callable
from functools import cache, partial

import numpy as np
from jaxtyping import Float32
from safetensors import SafetensorError

from datahub_hyperjoin.model.config import ModelConfig
from datahub_hyperjoin.model.errors import NothingToLearnError
from datahub_hyperjoin.model.hypergraph.lake_index import LakeIndex
from datahub_hyperjoin.model.network_steps import embed_columns, prepare_data, train
from datahub_hyperjoin.model.network_task import Elsewhere
from datahub_hyperjoin.model.remote_training import take_weights, write_task
from datahub_hyperjoin.model.saved.checkpoint import Model, save
from datahub_hyperjoin.model.saved.epoch import Epoch
from datahub_hyperjoin.model.saved.journal import Journal
from datahub_hyperjoin.model.saved.reuse import build_initial_model, find_trained
from datahub_hyperjoin.model.training.train import repeatable
from datahub_hyperjoin.storage import temporary_folder
from datahub_hyperjoin.visible import logger_of

logger = logger_of(__name__)


def _check_learnable(index: LakeIndex) -> None:
    tables = len(np.unique(index.lake.table_of[index.keys]))
    if len(index.keys) < 2 or tables < 2:  # noqa: PLR2004 - a pair and a negative
        raise NothingToLearnError.from_counts(tables=tables, keys=len(index.keys))


def _keep(model: Model, config: ModelConfig) -> None:
    """Save a trained model if `model.path` is set, and delete the journal of its training.

    The journal is deleted only after the model is saved, so a run that is killed between the two
    resumes after the last epoch.
    """
    if config.path is None:
        return
    try:
        save(model, config.path, config)
    except (OSError, SafetensorError) as error:
        message = "Cannot save the model in `model.path` %s, so the next run trains again: %s"
        logger.warning(message, config.path, error)
        return  # the next run resumes from the journal
    Journal(config.path).discard()


def encode_by_network(
    index: LakeIndex,
    config: ModelConfig,
    watch: Callable[[Epoch], None],
    elsewhere: Elsewhere | None,
) -> tuple[Float32[np.ndarray, "column width"], str, bool]:
    """Compute an embedding for every column, with a saved network or one trained in this run.

    See `encode` for the arguments and errors.

    Args:
        config: How to train, where models are saved, and when a saved model is used.
        elsewhere: Trains in another process, if one may be used.

    Returns:
        Unit vectors, the fingerprint of the model, and whether it was trained in this run.
    """
    with repeatable(config.seed):
        trained = find_trained(index, config)
    with temporary_folder() as folder, repeatable(config.seed):
        if trained is None:
            _check_learnable(index)
        model = trained or build_initial_model(index, config, folder)
        prepare = cache(partial(prepare_data, index, model.featurizer, config))
        embeddings = None
        if trained is None:
            result = elsewhere(write_task(model, index, config)) if elsewhere else None
            if result:
                take_weights(model, result)
                embeddings = result.embeddings
                for epoch in result.epochs:
                    watch(epoch)
            else:
                train(model, prepare(), watch)
            _keep(model, config)
        if embeddings is None:
            embeddings = embed_columns(model, prepare())
    return embeddings, model.fingerprint, trained is None
