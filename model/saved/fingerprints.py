"""What a saved model fits, and what it was made from, each as a fingerprint.

The *architecture* is all that must agree for weights to mean what they meant in training. The
*data* fingerprint adds what they were learnt from: the lake, what people say of it, the settings.
"""

import dataclasses
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from datahub_hyperjoin.catalog_facts import CatalogFacts
from datahub_hyperjoin.model.config import ModelConfig
from datahub_hyperjoin.model.hypergraph.lake_index import LakeIndex
from datahub_hyperjoin.model.network.hin import NetworkSizes
from datahub_hyperjoin.model.saved.files import digest
from datahub_hyperjoin.model.signals.keys import find_keys
from datahub_hyperjoin.model.signals.pairs import PairValues
from datahub_hyperjoin.model.signals.priors import CatalogPriors

Architecture = Mapping[str, object]
"""What weights fit, by the recipe's keys where it is the recipe that says it."""

FORMAT = 2
"""Raised when the network or its features change, so that older weights are refused."""
_SHAPE = ("heads", "mixer_layers", "name_vectors", "node_layers", "positions")
"""Choices of the method that determine which weights there are and what they mean."""
_AFTER_TRAINING = ("hyperedges_at_inference", "candidates", "defer_duplicates")
"""Choices of the method that do not change the weights."""


def _short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def describe_architecture(
    config: ModelConfig, sizes: NetworkSizes, vocabulary: Sequence[str], vectors: Path
) -> Architecture:
    """What weights must fit in order to be used.

    Args:
        config: The settings.
        sizes: Those that words and positions give the network; how many tables it knows is no
            part of its architecture.
        vocabulary: Its name tokens.
        vectors: Its fastText model.

    Returns:
        One value a property, as JSON has them.
    """
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
    return dict(json.loads(json.dumps(architecture, sort_keys=True, default=str)))


def fingerprint_architecture(architecture: Architecture) -> str:
    """Tells whether weights fit.

    Args:
        architecture: What they fit.

    Returns:
        16 hexadecimal digits.
    """
    return _short(json.dumps(architecture, sort_keys=True))


def _taught(structure: LakeIndex, config: ModelConfig) -> Iterator[str]:
    """What training would not know without the catalog, its people and a language model."""
    lake, known = structure.lake, structure.known
    alone = find_keys(lake, config.keys, CatalogPriors.from_facts(lake, CatalogFacts()))
    if not np.array_equal(structure.keys, alone):
        yield f"keys {structure.keys.tolist()}"
    for name in ("connected", "accepted", "rejected"):
        pairs: PairValues = getattr(known, name)
        if len(pairs):
            yield f"{name} {pairs.left.tolist()} {pairs.right.tolist()}"
    if structure.naming.variants:
        yield f"variants {sorted(structure.naming.variants.items())}"


def fingerprint(structure: LakeIndex, config: ModelConfig, start: str = "") -> str:
    """Tells whether a saved model was made from these columns with these settings.

    Ranking, hyperedges at inference, and where models stand and when they are used again do not
    count: they do not change the weights. Nor does the use of columns in queries, which only
    ranking looks at. Of a language model only the names count that it gave, and neither which one
    it was nor its key.

    Args:
        structure: The columns with their sketches and samples, and what is known of them.
        config: The settings.
        start: The fingerprint of the model that training starts from, if it starts from one.

    Returns:
        16 hexadecimal digits.
    """
    settings = dataclasses.asdict(config)
    for key in ("ranking", "path", "reuse", "start", "variants"):
        settings.pop(key)
    for choice in _AFTER_TRAINING:
        settings["setting"].pop(choice)
    settings["features"].pop("reference")
    found = hashlib.sha256(f"{FORMAT}{start}{json.dumps(settings, default=str)}".encode())
    lake = structure.lake
    for table, profile in zip(lake.table_of, lake.profiles, strict=True):
        content = (profile.counts, profile.sample, profile.type, profile.distinct)
        found.update(f"{lake.titles[table]}\0{profile.id}\0{content}".encode())
        found.update(profile.sketch)
    for fact in _taught(structure, config):
        found.update(fact.encode())
    return found.hexdigest()[:16]
