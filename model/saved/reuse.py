"""Decide whether to use a saved model, to train it further or to ignore it."""

from dataclasses import replace
from pathlib import Path

from typing_extensions import assert_never

from datahub_hyperjoin.errors import CheckpointMismatchError, DamagedModelError
from datahub_hyperjoin.model.config import ModelConfig, Reuse
from datahub_hyperjoin.model.hypergraph.lake_index import LakeIndex
from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.network.features import Featurizer, build_vocabulary
from datahub_hyperjoin.model.network.hin import HIN, NetworkSizes
from datahub_hyperjoin.model.network.word_vectors import WordVectors, train_vectors
from datahub_hyperjoin.model.saved.checkpoint import Model, load_model
from datahub_hyperjoin.model.saved.description import describe_model
from datahub_hyperjoin.model.saved.files import holds_model
from datahub_hyperjoin.model.saved.fingerprints import fingerprint
from datahub_hyperjoin.model.saved.journal import Journal
from datahub_hyperjoin.visible import logger_of

logger = logger_of(__name__)


def find_trained(index: LakeIndex, config: ModelConfig) -> Model | None:
    """Load a saved model if it needs no further training."""
    match config.reuse:
        case Reuse.NEVER:
            return None
        case Reuse.EXACT:
            return _find_exact(index, config)
        case Reuse.ALWAYS:
            return _find_any(config)
    assert_never(config.reuse)


def _find_exact(index: LakeIndex, config: ModelConfig) -> Model | None:
    if config.path is None or not config.path.exists():
        return None
    saved = str(describe_model(config.path).get("fingerprint", "none"))
    expected = fingerprint(index, config, _start_of(config))
    try:
        if saved != expected:
            raise CheckpointMismatchError.from_fingerprints(saved=saved, expected=expected)
        model = load_model(config.path, config)
    except CheckpointMismatchError as error:
        logger.info("Training again: %s", error)
        return None
    except DamagedModelError as error:
        logger.warning("Training again, because %s", error)
        return None
    # Left by a run that was killed between saving the model and deleting the journal.
    Journal(config.path).discard()
    return model


def _find_any(config: ModelConfig) -> Model | None:
    if config.path and holds_model(config.path):
        return load_model(config.path, config)
    return load_model(config.start, config, key="model.start") if config.start else None


def _start_of(config: ModelConfig) -> str:
    """Return the fingerprint of the saved model that training starts from, or an empty string.

    If `path` and `start` are one folder, the model in it may be the result of an earlier run on the
    same lake. Its fingerprint then contains that of its own predecessor, which is returned instead.
    """
    if config.start is None:
        return ""
    same = config.path is not None and config.path.resolve() == config.start.resolve()
    return str(describe_model(config.start).get("start" if same else "fingerprint", ""))


def build_initial_model(index: LakeIndex, config: ModelConfig, folder: Path) -> Model:
    """Create a new model for training, or adapt a saved model to the lake.

    Returns:
        A model with a table vector for each table of the lake.
    """
    if config.start:
        return _continue(load_model(config.start, config, key="model.start"), index, config)
    lake = index.lake
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
        fingerprint=fingerprint(index, config),
    )


def _find_vectors(lake: Lake, config: ModelConfig, folder: Path) -> WordVectors:
    if config.features.vectors:
        return WordVectors(config.features.vectors)
    return train_vectors(lake, config, path=folder / "vectors.bin")


def _continue(model: Model, index: LakeIndex, config: ModelConfig) -> Model:
    """Copy a saved model, and give the copy one table vector for each table of this lake.

    A known table keeps its table vector, which is found by the table's name, because the row of the
    table changes with the lake. A new table's vector starts at zero, which is also what an unseen
    table has.
    """
    lake = index.lake
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
        fingerprint=fingerprint(index, config, model.fingerprint),
        start=model.fingerprint,
    )
