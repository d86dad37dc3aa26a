"""Save a trained network in a folder, and load it again.

The folder holds the weights, the fingerprints, and any word vectors trained on the lake.
"""

import dataclasses
import shutil
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Int
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from datahub_hyperjoin.errors import CheckpointMismatchError, DamagedModelError
from datahub_hyperjoin.model.config import ModelConfig
from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.network.features import Featurizer
from datahub_hyperjoin.model.network.hin import HIN, UNSEEN, NetworkSizes
from datahub_hyperjoin.model.network.word_vectors import WordVectors
from datahub_hyperjoin.model.saved.description import (
    Description,
    describe_model,
    find_damage,
    write_description,
)
from datahub_hyperjoin.model.saved.files import DESCRIPTION, VECTORS, WEIGHTS
from datahub_hyperjoin.model.saved.fingerprints import (
    Architecture,
    describe_architecture,
    fingerprint_architecture,
)
from datahub_hyperjoin.storage import replacing
from datahub_hyperjoin.tables import TableId


@dataclass(frozen=True)
class Model:
    """A network, with its sizes, vocabulary and word vectors."""

    network: HIN
    sizes: NetworkSizes
    vocabulary: tuple[str, ...]
    vectors: WordVectors

    tables: tuple[TableId | None, ...]
    """The table of each row of `network.table_position`, from row 1."""

    fingerprint: str
    """The fingerprint of the data and settings with which the model was trained."""

    start: str = ""
    """The fingerprint of the saved model from which training started; empty if there was none."""

    @property
    def featurizer(self) -> Featurizer:
        """The object that converts names and cells to the network's inputs."""
        return Featurizer(self.vectors, self.vocabulary)

    def number_tables(self, lake: Lake) -> Int[np.ndarray, " column"]:
        """For each column, return the position of its table's vector in the network.

        Returns:
            Row numbers; `UNSEEN` for a table that training has not seen.
        """
        rows = {table: row for row, table in enumerate(self.tables, start=1) if table}
        tables = (profile.id.table for profile in lake.profiles)
        return np.array([rows.get(table, UNSEEN) for table in tables], dtype=np.int64)

    def describe_architecture(self, config: ModelConfig) -> Architecture:
        """Describe the architecture on which the saved weights of the network depend."""
        return describe_architecture(config, self.sizes, self.vocabulary, self.vectors.path)


def save(model: Model, folder: Path, config: ModelConfig) -> None:
    """Save a model in a folder.

    If saving is interrupted, the folder holds the previous model or none.
    """
    described = folder / DESCRIPTION
    # All files are complete before any is replaced, so a full disk costs no model.
    with ExitStack() as stack:
        description = stack.enter_context(replacing(described))
        files = {WEIGHTS: stack.enter_context(replacing(folder / WEIGHTS))}
        save_file(model.network.state_dict(), files[WEIGHTS])
        if not config.features.vectors:
            files[VECTORS] = stack.enter_context(replacing(folder / VECTORS))
            shutil.copyfile(model.vectors.path, files[VECTORS])
        write_description(description, _describe(model, config), files)
        # Until the new description comes, as the last file, the folder counts as one without model.
        described.unlink(missing_ok=True)
    if config.features.vectors:
        folder.joinpath(VECTORS).unlink(missing_ok=True)


def _describe(model: Model, config: ModelConfig) -> Description:
    return {
        "fingerprint": model.fingerprint,
        "start": model.start,
        "architecture": model.describe_architecture(config),
        "sizes": dataclasses.asdict(model.sizes),
        "vocabulary": model.vocabulary,
        "tables": [table and dataclasses.astuple(table) for table in model.tables],
    }


def load_model(folder: Path, config: ModelConfig, *, key: str = "model.path") -> Model:
    """Load a saved model from a folder.

    Returns:
        The model, ready to encode, whatever data it was trained on.
    """
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
            differs=_list(differs, saved, expected),
        )


def _list(names: Sequence[str], saved: Architecture, expected: Architecture) -> str:
    return ", ".join(
        f"{name} ({saved.get(name, 'absent')}, here {expected.get(name, 'absent')})"
        for name in names
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
