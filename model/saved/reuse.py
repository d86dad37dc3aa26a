"""Which model encodes: one saved before as it is, one that goes on learning, or a new one."""

import logging
from dataclasses import replace
from pathlib import Path

from typing_extensions import assert_never

from datahub_hyperjoin.errors import CheckpointMismatchError
from datahub_hyperjoin.model.config import ModelConfig, Reuse
from datahub_hyperjoin.model.hypergraph.lake_index import LakeIndex
from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.network.features import Featurizer, build_vocabulary
from datahub_hyperjoin.model.network.hin import HIN, NetworkSizes
from datahub_hyperjoin.model.network.word_vectors import WordVectors, train_vectors
from datahub_hyperjoin.model.saved.checkpoint import Model, describe_model, holds_model, load_model
from datahub_hyperjoin.model.saved.fingerprints import fingerprint
from datahub_hyperjoin.model.saved.journal import Journal

logger = logging.getLogger(__name__)


def find_trained(structure: LakeIndex, config: ModelConfig) -> Model | None:
    """The saved model that this run may use as it is.

    Args:
        structure: The lake.
        config: Where models stand, and when they are used again.

    Returns:
        A model that needs no training, or none.

    Raises:
        CheckpointMismatchError: A model is to be used whatever the tables, and is of another
            version, architecture or vocabulary.
    """
    match config.reuse:
        case Reuse.NEVER:
            return None
        case Reuse.EXACT:
            return _find_exact(structure, config)
        case Reuse.ALWAYS:
            return _find_any(config)
    assert_never(config.reuse)


def _find_exact(structure: LakeIndex, config: ModelConfig) -> Model | None:
    if config.path is None or not config.path.exists():
        return None
    found = str(describe_model(config.path).get("fingerprint", "none"))
    expected = fingerprint(structure, config, _start_of(config))
    try:
        if found != expected:
            raise CheckpointMismatchError.from_fingerprints(found=found, expected=expected)
        model = load_model(config.path, config)
    except CheckpointMismatchError as error:
        logger.info("Training again: %s", error)
        return None
    Journal(config.path).discard()
    return model


def _find_any(config: ModelConfig) -> Model | None:
    if config.path and holds_model(config.path):
        return load_model(config.path, config)
    return load_model(config.start, config, key="model.start") if config.start else None


def _start_of(config: ModelConfig) -> str:
    """The fingerprint of the model that this run's model starts from.

    One that starts from itself and has learnt this lake already started from its predecessor.
    """
    if config.start is None:
        return ""
    same = config.path is not None and config.path.resolve() == config.start.resolve()
    return str(describe_model(config.start).get("start" if same else "fingerprint", ""))


def begin(structure: LakeIndex, config: ModelConfig, folder: Path) -> Model:
    """The model as it is before training.

    Args:
        structure: The lake that it will learn.
        config: Its settings, and the model that it starts from.
        folder: Where word vectors trained on the lake are kept meanwhile.

    Returns:
        A model with a row for each table of the lake.

    Raises:
        CheckpointMismatchError: The model to start from is of another version, architecture or
            vocabulary.
    """
    if config.start:
        return _go_on(load_model(config.start, config, key="model.start"), structure, config)
    lake = structure.lake
    vectors = _find_vectors(lake, config, folder)
    vocabulary = build_vocabulary(lake, config.setting.vocabulary)
    sizes = NetworkSizes(
        vocabulary=len(vocabulary),
        dimension=vectors.dimension,
        content=4 * Featurizer(vectors, vocabulary).cell_width,
        tables=len(lake.titles),
        steps=config.setting.walk_length,
    )
    return Model(
        network=HIN(config, sizes),
        sizes=sizes,
        vocabulary=vocabulary,
        vectors=vectors,
        tables=lake.tables,
        fingerprint=fingerprint(structure, config),
    )


def _find_vectors(lake: Lake, config: ModelConfig, folder: Path) -> WordVectors:
    if config.features.vectors:
        return WordVectors(config.features.vectors)
    return train_vectors(lake, config, path=folder / "vectors.bin")


def _go_on(model: Model, structure: LakeIndex, config: ModelConfig) -> Model:
    """The same weights with the rows of this lake's tables; a new table's row begins at zero."""
    lake = structure.lake
    sizes = replace(model.sizes, tables=len(lake.titles))
    weights = model.network.state_dict()
    old = weights["table_position.weight"]
    rows = {table: row for row, table in enumerate(model.tables, start=1) if table}
    fresh = old.new_zeros(len(lake.titles) + 1, old.shape[1])
    for row, table in enumerate(lake.tables, start=1):
        if table in rows:
            fresh[row] = old[rows[table]]
    network = HIN(config, sizes)
    network.load_state_dict({**weights, "table_position.weight": fresh})
    return replace(
        model,
        network=network,
        sizes=sizes,
        tables=lake.tables,
        fingerprint=fingerprint(structure, config, model.fingerprint),
        start=model.fingerprint,
    )
