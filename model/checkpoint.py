"""A trained network in a folder: weights, what it was made from, and its word vectors.

`weights.safetensors` holds the weights, `model.json` the sizes and fingerprint. `vectors.bin` is
the fastText model if it was trained on the lake: it contains words of the lake's values, so the
folder deserves the care that the lake does. A pretrained one stays where it is.
"""

import dataclasses
import hashlib
import json
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from datahub_hyperjoin.errors import CheckpointMismatchError
from datahub_hyperjoin.knowledge import Knowledge
from datahub_hyperjoin.model.config import ModelConfig
from datahub_hyperjoin.model.features import Featurizer
from datahub_hyperjoin.model.hin import HIN, Sizes
from datahub_hyperjoin.model.keys import find_keys
from datahub_hyperjoin.model.known import Known, PairValues
from datahub_hyperjoin.model.structure import Structure
from datahub_hyperjoin.model.vectors import WordVectors

_WEIGHTS, _DESCRIPTION, _VECTORS = "weights.safetensors", "model.json", "vectors.bin"
FILES = frozenset({_WEIGHTS, _DESCRIPTION, _VECTORS})
"""Everything that a saved model's folder may hold."""
_FORMAT = 1
"""Raised when the network or its features change, so that older weights are refused."""


@dataclass(frozen=True)
class Model:
    """Everything that encoding needs."""

    network: HIN
    sizes: Sizes
    vocabulary: tuple[str, ...]
    vectors: WordVectors
    fingerprint: str
    """Of the data and the settings it was trained with."""

    @property
    def featurizer(self) -> Featurizer:
        """Turns names and cells into what this network reads."""
        return Featurizer(self.vectors, self.vocabulary)


def _taught(structure: Structure, config: ModelConfig) -> Iterator[str]:
    """What training would not know without the catalog and its people."""
    lake, known = structure.lake, structure.known
    alone = find_keys(lake, config.keys, Known.from_knowledge(lake, Knowledge()))
    if not np.array_equal(structure.keys, alone):
        yield f"keys {structure.keys.tolist()}"
    for name in ("connected", "accepted", "rejected"):
        pairs: PairValues = getattr(known, name)
        if len(pairs):
            yield f"{name} {pairs.left.tolist()} {pairs.right.tolist()}"


def fingerprint(structure: Structure, config: ModelConfig) -> str:
    """Tells whether a saved model was made from these columns with these settings.

    Ranking and the model's folder do not count: they do not change the weights. Nor does the use
    of columns in queries, which only ranking looks at.

    Args:
        structure: The columns with their sketches and samples, and what is known of them.
        config: The settings.

    Returns:
        16 hexadecimal digits.
    """
    settings = dataclasses.asdict(config)
    settings.pop("ranking")
    settings.pop("path")
    digest = hashlib.sha256(f"{_FORMAT}{json.dumps(settings, default=str)}".encode())
    lake = structure.lake
    for table, profile in zip(lake.table_of, lake.profiles, strict=True):
        content = (profile.counts, profile.sample, profile.type, profile.distinct)
        digest.update(f"{lake.titles[table]}\0{profile.id}\0{content}".encode())
        digest.update(profile.sketch)
    for fact in _taught(structure, config):
        digest.update(fact.encode())
    return digest.hexdigest()[:16]


def save(model: Model, folder: Path, config: ModelConfig) -> None:
    """Writes a model, whole or not at all.

    Args:
        model: What to keep.
        folder: Where; a model that is there already is replaced.
        config: The settings it was made with.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}-") as name:
        fresh = Path(name, "model")
        fresh.mkdir()
        save_file(model.network.state_dict(), fresh / _WEIGHTS)
        if config.features.vectors is None:
            shutil.copyfile(model.vectors.path, fresh / _VECTORS)
        description = {
            "fingerprint": model.fingerprint,
            "sizes": dataclasses.asdict(model.sizes),
            "vocabulary": model.vocabulary,
        }
        fresh.joinpath(_DESCRIPTION).write_text(json.dumps(description, indent=1), "utf-8")
        if folder.exists():
            folder.rename(Path(name, "old"))
        fresh.rename(folder)


def load(folder: Path, config: ModelConfig, *, expected: str) -> Model:
    """Reads the model in a folder.

    Args:
        folder: Where `save` wrote it.
        config: The settings of this run.
        expected: The fingerprint this run needs.

    Returns:
        The model, ready to encode.

    Raises:
        CheckpointMismatchError: The folder holds another model, or none that can be read.
    """
    try:
        description = json.loads(folder.joinpath(_DESCRIPTION).read_text("utf-8"))
        found = str(description["fingerprint"])
        if found == expected:
            return _read(folder, config, description)
    except (OSError, ValueError, KeyError, SafetensorError) as error:
        raise CheckpointMismatchError.from_fingerprints(found="none", expected=expected) from error
    raise CheckpointMismatchError.from_fingerprints(found=found, expected=expected)


def _read(folder: Path, config: ModelConfig, description: dict[str, Any]) -> Model:
    sizes = Sizes(**description["sizes"])
    network = HIN(config.network, sizes)
    network.load_state_dict(load_file(folder / _WEIGHTS))
    return Model(
        network=network.eval(),
        sizes=sizes,
        vocabulary=tuple(description["vocabulary"]),
        vectors=WordVectors(config.features.vectors or folder / _VECTORS),
        fingerprint=description["fingerprint"],
    )
