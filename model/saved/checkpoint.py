"""A trained network in a folder: weights, what it fits and was made from, and its word vectors."""

import dataclasses
import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Int
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from datahub_hyperjoin.errors import CheckpointMismatchError
from datahub_hyperjoin.model.config import ModelConfig
from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.network.features import Featurizer
from datahub_hyperjoin.model.network.hin import HIN, UNSEEN, NetworkSizes
from datahub_hyperjoin.model.network.word_vectors import WordVectors
from datahub_hyperjoin.model.saved.files import DESCRIPTION, VECTORS, WEIGHTS, replacing
from datahub_hyperjoin.model.saved.fingerprints import (
    Architecture,
    describe_architecture,
    fingerprint_architecture,
)
from datahub_hyperjoin.tables import TableId


@dataclass(frozen=True)
class Model:
    """Everything that encoding needs."""

    network: HIN
    sizes: NetworkSizes
    vocabulary: tuple[str, ...]
    vectors: WordVectors

    tables: tuple[TableId | None, ...]
    """Whose vector each row of `network.table_position` is, from row 1."""

    fingerprint: str
    """Of the data and the settings it was trained with."""

    start: str = ""
    """The fingerprint of the model that its training started from, if it did from one."""

    @property
    def featurizer(self) -> Featurizer:
        """Turns names and cells into what this network reads."""
        return Featurizer(self.vectors, self.vocabulary)

    def number_tables(self, lake: Lake) -> Int[np.ndarray, " column"]:
        """The row of each column's table.

        Args:
            lake: Columns, of tables that training saw or not.

        Returns:
            Rows of `network.table_position`; `UNSEEN` for a table that training did not see.
        """
        rows = {table: row for row, table in enumerate(self.tables, start=1) if table}
        return np.array([rows.get(of.id.table, UNSEEN) for of in lake.profiles], dtype=np.int64)

    def describe_architecture(self, config: ModelConfig) -> Architecture:
        """What its weights fit.

        Args:
            config: The settings.

        Returns:
            One value a property.
        """
        return describe_architecture(config, self.sizes, self.vocabulary, self.vectors.path)


def holds_model(folder: Path) -> bool:
    """Whether a folder looks like a saved model's.

    Args:
        folder: Where `save` may have written one.

    Returns:
        True if its description and its weights are there.
    """
    return all(folder.joinpath(name).is_file() for name in (DESCRIPTION, WEIGHTS))


def save(model: Model, folder: Path, config: ModelConfig) -> None:
    """Writes a model, whole or not at all: until its last file is there, the folder holds none.

    Args:
        model: What to keep.
        folder: Where; a model that is there already is replaced.
        config: The settings it was made with.
    """
    folder.mkdir(parents=True, exist_ok=True)
    described = folder / DESCRIPTION
    with replacing(described) as part:
        part.write_text(json.dumps(_describe(model, config), indent=1), "utf-8")
        with replacing(folder / WEIGHTS) as weights:
            save_file(model.network.state_dict(), weights)
            described.unlink(missing_ok=True)
        if config.features.vectors:
            folder.joinpath(VECTORS).unlink(missing_ok=True)
        elif model.vectors.path.resolve() != folder.joinpath(VECTORS).resolve():
            with replacing(folder / VECTORS) as vectors:
                shutil.copyfile(model.vectors.path, vectors)


def _describe(model: Model, config: ModelConfig) -> dict[str, Any]:
    return {
        "fingerprint": model.fingerprint,
        "start": model.start,
        "architecture": model.describe_architecture(config),
        "sizes": dataclasses.asdict(model.sizes),
        "vocabulary": model.vocabulary,
        "tables": [table and dataclasses.astuple(table) for table in model.tables],
    }


def describe_model(folder: Path) -> dict[str, Any]:
    """What a saved model says of itself.

    Args:
        folder: Where `save` wrote it.

    Returns:
        Its description; an empty one where there is none that can be read.
    """
    try:
        found = json.loads(folder.joinpath(DESCRIPTION).read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def load_model(folder: Path, config: ModelConfig, *, key: str = "model.path") -> Model:
    """Reads the model in a folder.

    Args:
        folder: Where `save` wrote it.
        config: The settings of this run.
        key: The recipe's key that names the folder.

    Returns:
        The model, ready to encode, whatever it was made from.

    Raises:
        CheckpointMismatchError: The folder holds no whole model, or one of another version,
            architecture or vocabulary.
    """
    description = describe_model(folder)
    try:
        _check_architecture(folder, config, description, key)
        return _read(folder, config, description)
    except (OSError, ValueError, KeyError, TypeError, RuntimeError, SafetensorError) as error:
        if isinstance(error, CheckpointMismatchError):
            raise
        raise CheckpointMismatchError.without_model(key, str(folder)) from error


def _check_architecture(
    folder: Path, config: ModelConfig, description: dict[str, Any], key: str
) -> None:
    found: Architecture = description.get("architecture", {})
    sizes, vocabulary = NetworkSizes(**description["sizes"]), description["vocabulary"]
    needed = dataclasses.replace(
        sizes, steps=config.setting.walk_length, vocabulary=len(vocabulary)
    )
    vectors = config.features.vectors or folder / VECTORS
    expected = describe_architecture(config, needed, vocabulary, vectors)
    differs = sorted(name for name in {*found, *expected} if found.get(name) != expected.get(name))
    if "format" in differs:
        differs = ["format"]  # the rest may have another meaning there
    if differs:
        raise CheckpointMismatchError.from_architectures(
            key,
            str(folder),
            found=fingerprint_architecture(found),
            expected=fingerprint_architecture(expected),
            differs=_list(differs, found, expected),
        )


def _list(names: Sequence[str], found: Architecture, expected: Architecture) -> str:
    return ", ".join(
        f"{name} ({found.get(name, 'absent')}, here {expected.get(name, 'absent')})"
        for name in names
    )


def _read(folder: Path, config: ModelConfig, description: dict[str, Any]) -> Model:
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
