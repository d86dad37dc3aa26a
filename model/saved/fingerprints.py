"""Compute fingerprints of architectures and training inputs.

The *architecture* is everything that must be equal for weights to keep their meaning. The *data*
fingerprint covers what they were learned from: the lake, the catalog's facts and the settings.
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
from datahub_hyperjoin.model.saved.files import FORMAT, digest
from datahub_hyperjoin.model.signals.pairs import PairValues
from datahub_hyperjoin.model.signals.priors import CatalogPriors, find_keys

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
    """Describe the architecture on which the saved weights of a network depend.

    Args:
        sizes: The sizes that the lake determines. The number of tables is not part of the
            architecture.
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
    # As JSON, so that it equals an architecture that was read from a file.
    return dict(json.loads(json.dumps(architecture, sort_keys=True, default=str)))


def fingerprint_architecture(architecture: Architecture) -> str:
    """Return the fingerprint of an architecture."""
    return _short(json.dumps(architecture, sort_keys=True))


def _list_facts(index: LakeIndex, config: ModelConfig) -> Iterator[str]:
    """Yield, as texts, the catalog facts, decisions and name variants that training uses.

    A fact appears only if it changes training. A catalog without such facts therefore leaves the
    fingerprint as it is, and a saved model stays usable.
    """
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
    """Compute a model's fingerprint from the lake, the catalog facts, settings and start model.

    It leaves out everything that does not change the weights: ranking, hyperedges at inference, the
    folders and reuse of models, and the joins in SQL queries, which only ranking reads. Of a
    language model, it contains the name variants, but neither the model's name nor its key.

    Args:
        start: The fingerprint of the model that training starts from, if any.
    """
    settings = dataclasses.asdict(config)
    # These do not change training by themselves; the start and the variants are hashed below.
    for key in ("ranking", "path", "reuse", "start", "variants", "max_memory"):
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
