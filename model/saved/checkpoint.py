"""Save a trained network, and decide whether to use, to train or to ignore a saved one.

The *architecture* is everything that must be equal for weights to keep their meaning. The *data*
fingerprint covers what they were learned from: the lake, the catalog's facts and the settings.
"""

import dataclasses
import hashlib
import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from typing_extensions import assert_never

from datahub_hyperjoin.catalog_facts import CatalogFacts
from datahub_hyperjoin.errors import CheckpointMismatchError, DamagedModelError
from datahub_hyperjoin.model.config import ModelConfig, Reuse
from datahub_hyperjoin.model.hypergraph.lake_index import LakeIndex
from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.network.features import (
    Featurizer,
    WordVectors,
    build_vocabulary,
    train_vectors,
)
from datahub_hyperjoin.model.network.hin import HIN, UNSEEN, NetworkSizes
from datahub_hyperjoin.model.saved.files import (
    DESCRIPTION,
    FORMAT,
    VECTORS,
    WEIGHTS,
    Description,
    describe_model,
    digest,
    find_damage,
    holds_model,
    write_description,
)
from datahub_hyperjoin.model.saved.journal import Journal
from datahub_hyperjoin.model.signals.pairs import ColumnInts, PairValues
from datahub_hyperjoin.model.signals.priors import CatalogPriors, find_keys
from datahub_hyperjoin.storage import replacing
from datahub_hyperjoin.tables import TableId
from datahub_hyperjoin.visible import logger_of

logger = logger_of(__name__)

Architecture = Mapping[str, object]
"""The properties on which the weights of a network depend, by name."""

_SHAPE = ("heads", "mixer_layers", "name_vectors", "node_layers", "positions")
"""Choices of the method that determine the weights and their meaning."""
_AFTER_TRAINING = (
    "hyperedges_at_inference",
    "candidates",
    "defer_duplicates",
    "entity_kinds",
    "tree_correction",
    "network_correction",
    "decision_effects",
)
"""Choices of the method that do not change the weights."""


def _short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def describe_architecture(
    config: ModelConfig, sizes: NetworkSizes, vocabulary: Sequence[str], vectors: Path
) -> Architecture:
    """Describe the architecture on which the saved weights of a network depend."""
    shape = {f"network.{choice}": getattr(config.setting, choice) for choice in _SHAPE}
    architecture: dict[str, object] = shape | {
        "format": FORMAT,
        "features.names": config.features.names,
        "features.values": config.features.values,
        "network.width": config.network.width,
        "hypergraph.walk_length": sizes.steps,
        "dimension of word vectors": sizes.dimension,
        "content": sizes.content,
        "vocabulary": _short("\0".join(vocabulary)),
        "word vectors": digest(vectors),
    }
    # As JSON, so that it equals an architecture that was read from a file.
    return dict(json.loads(json.dumps(architecture, sort_keys=True, default=str)))


def fingerprint_architecture(architecture: Architecture) -> str:
    """Return the fingerprint of an architecture."""
    return _short(json.dumps(architecture, sort_keys=True))


def _list_facts(index: LakeIndex, config: ModelConfig) -> Iterator[str]:
    """Yield, as texts, the catalog facts, decisions and name variants that training uses."""
    # A fact appears only if it changes training. A catalog without such facts therefore leaves the
    # fingerprint as it is, and a saved model stays usable.
    lake, priors = index.lake, index.priors
    without_facts = find_keys(lake, config.keys, CatalogPriors.from_facts(lake, CatalogFacts()))
    if not np.array_equal(index.keys, without_facts):
        yield f"keys {index.keys.tolist()}"
    for name in ("connected", "accepted", "rejected"):
        pairs: PairValues = getattr(priors, name)
        if len(pairs):
            yield f"{name} {pairs.left.tolist()} {pairs.right.tolist()}"
    if index.naming.variants:
        yield f"variants {sorted(index.naming.variants.items())}"


def fingerprint(index: LakeIndex, config: ModelConfig, start: str = "") -> str:
    """Compute a model's fingerprint from the lake, the catalog facts, settings and start model."""
    # It leaves out everything that does not change the weights: ranking, hyperedges at inference,
    # the folders and reuse of models, and the joins in SQL queries, which only ranking reads. Of a
    # language model, it contains the name variants, but neither the model's name nor its key.
    settings = dataclasses.asdict(config)
    # These do not change training by themselves; the start and the variants are hashed below.
    for key in ("ranking", "path", "reuse", "start", "llm", "max_memory"):
        settings.pop(key)
    for choice in _AFTER_TRAINING:
        settings["setting"].pop(choice)
    hashed = hashlib.sha256(f"{FORMAT}{start}{json.dumps(settings, default=str)}".encode())
    lake = index.lake
    for table, profile in zip(lake.table_of, lake.profiles, strict=True):
        content = (profile.counts, profile.sample, profile.type, profile.distinct)
        hashed.update(f"{lake.titles[table]}\0{profile.id}\0{content}".encode())
        hashed.update(profile.sketch)
    for fact in _list_facts(index, config):
        hashed.update(fact.encode())
    return hashed.hexdigest()[:16]


@dataclass(frozen=True)
class Model:
    """A network, with its sizes, vocabulary and word vectors."""

    network: HIN
    sizes: NetworkSizes
    vocabulary: tuple[str, ...]
    vectors: WordVectors
    # The table of each row of `network.table_position`, from row 1.
    tables: tuple[TableId | None, ...]
    fingerprint: str
    # The fingerprint of the saved model from which training started; empty if there was none.
    start: str = ""

    @property
    def featurizer(self) -> Featurizer:
        """The object that converts names and cells to the network's inputs."""
        return Featurizer(self.vectors, self.vocabulary)

    @cached_property
    def rows(self) -> Mapping[TableId, int]:
        """The row of each table's vector in the network."""
        return {table: row for row, table in enumerate(self.tables, start=1) if table}

    def number_tables(self, lake: Lake) -> ColumnInts:
        """For each column, return the row of its table's vector in the network."""
        tables = (profile.id.table for profile in lake.profiles)
        return np.array([self.rows.get(table, UNSEEN) for table in tables], dtype=np.int64)

    def describe_architecture(self, config: ModelConfig) -> Architecture:
        """Describe the architecture on which the saved weights of the network depend."""
        return describe_architecture(config, self.sizes, self.vocabulary, self.vectors.path)


def save(model: Model, folder: Path, config: ModelConfig) -> None:
    """Save a model in a folder."""
    # If saving is interrupted, the folder holds the previous model or none.
    described = folder / DESCRIPTION
    # All files are complete before any is replaced, so a full disk costs no model.
    with ExitStack() as stack:
        description = stack.enter_context(replacing(described))
        files = {WEIGHTS: stack.enter_context(replacing(folder / WEIGHTS))}
        save_file(model.network.state_dict(), files[WEIGHTS])
        if not config.features.vectors:
            files[VECTORS] = stack.enter_context(replacing(folder / VECTORS))
            shutil.copyfile(model.vectors.path, files[VECTORS])
        described_as = {
            "fingerprint": model.fingerprint,
            "start": model.start,
            "architecture": model.describe_architecture(config),
            "sizes": dataclasses.asdict(model.sizes),
            "vocabulary": model.vocabulary,
            "tables": [table and dataclasses.astuple(table) for table in model.tables],
        }
        write_description(description, described_as, files)
        # Until the new description comes, as the last file, the folder counts as one without model.
        described.unlink(missing_ok=True)
    if config.features.vectors:
        folder.joinpath(VECTORS).unlink(missing_ok=True)


def load_model(folder: Path, config: ModelConfig, *, key: str = "model.path") -> Model:
    """Load a saved model from a folder."""
    if damaged := find_damage(folder):
        raise DamagedModelError.in_file(key, str(folder), damaged)
    description = describe_model(folder)
    try:
        _check_architecture(folder, config, description, key)
        return _read(folder, config, description)
    except (OSError, ValueError, KeyError, TypeError, RuntimeError, SafetensorError) as error:
        if isinstance(error, CheckpointMismatchError):
            raise
        raise CheckpointMismatchError.without_model(key, str(folder)) from error


def _check_architecture(
    folder: Path, config: ModelConfig, description: Description, key: str
) -> None:
    # The description of a damaged or older model may lack any entry: `load_model` catches that.
    saved: Architecture = description.get("architecture", {})
    sizes, vocabulary = NetworkSizes(**description["sizes"]), description["vocabulary"]
    needed = dataclasses.replace(
        sizes, steps=config.setting.walk_length, vocabulary=len(vocabulary)
    )
    vectors = config.features.vectors or folder / VECTORS
    expected = describe_architecture(config, needed, vocabulary, vectors)
    differs = sorted(name for name in {*saved, *expected} if saved.get(name) != expected.get(name))
    if "format" in differs:
        differs = ["format"]  # in another format, the other entries may have another meaning
    if differs:
        raise CheckpointMismatchError.from_architectures(
            key,
            str(folder),
            saved=fingerprint_architecture(saved),
            expected=fingerprint_architecture(expected),
            differs=", ".join(
                f"{name} ({saved.get(name, 'absent')}, here {expected.get(name, 'absent')})"
                for name in differs
            ),
        )


def _read(folder: Path, config: ModelConfig, description: Description) -> Model:
    sizes = NetworkSizes(**description["sizes"])
    network = HIN(config, sizes)
    network.load_state_dict(load_file(folder / WEIGHTS))
    return Model(
        network=network.eval(),
        sizes=sizes,
        vocabulary=tuple(description["vocabulary"]),
        vectors=WordVectors(config.features.vectors or folder / VECTORS),
        tables=tuple(table and TableId(*table) for table in description["tables"]),
        fingerprint=str(description["fingerprint"]),
        start=str(description["start"]),
    )


def find_trained(index: LakeIndex, config: ModelConfig) -> Model | None:
    """Load a saved model if it needs no further training."""
    match config.reuse:
        case Reuse.NEVER:
            return None
        case Reuse.EXACT:
            return _find_exact(index, config)
        case Reuse.ALWAYS:
            if config.path and holds_model(config.path):
                return load_model(config.path, config)
            start = config.start
            return load_model(start, config, key="model.start") if start else None
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


def _start_of(config: ModelConfig) -> str:
    """Return the fingerprint of the saved model that training starts from, or an empty string."""
    # If `path` and `start` are one folder, the model in it may be the result of an earlier run on
    # the same lake. Its fingerprint then contains that of its own predecessor, which is returned
    # instead.
    if config.start is None:
        return ""
    same = config.path is not None and config.path.resolve() == config.start.resolve()
    return str(describe_model(config.start).get("start" if same else "fingerprint", ""))


def build_initial_model(index: LakeIndex, config: ModelConfig, folder: Path) -> Model:
    """Create a new model for training, or adapt a saved model to the lake."""
    if config.start:
        return _continue(load_model(config.start, config, key="model.start"), index, config)
    lake = index.lake
    given = config.features.vectors
    vectors = WordVectors(given) if given else train_vectors(lake, config, path=folder / VECTORS)
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


def _continue(model: Model, index: LakeIndex, config: ModelConfig) -> Model:
    """Copy a saved model, and give the copy one table vector for each table of this lake."""
    # A known table keeps its table vector, which is found by the table's name, because the row of
    # the table changes with the lake. A new table's vector starts at zero, which is also what an
    # unseen table has.
    lake = index.lake
    sizes = replace(model.sizes, tables=len(lake.titles))
    weights = model.network.state_dict()
    old = weights["table_position.weight"]
    fresh = old.new_zeros(len(lake.titles) + 1, old.shape[1])
    for row, table in enumerate(lake.tables, start=1):
        if table and table in model.rows:
            fresh[row] = old[model.rows[table]]
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
