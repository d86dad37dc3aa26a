"""Compute an embedding for every column, with a saved or a new model."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float32

from datahub_hyperjoin.model.config import ModelConfig, Scoring
from datahub_hyperjoin.model.hypergraph.lake_index import LakeIndex
from datahub_hyperjoin.model.network_task import Elsewhere
from datahub_hyperjoin.model.saved.epoch import Epoch


@dataclass(frozen=True)
class Encoding:
    """The embeddings of a lake's columns."""

    embeddings: Float32[np.ndarray, "column width"]
    """Unit vectors, one per column."""

    fingerprint: str
    """The fingerprint of the model."""

    trained: bool
    """Whether the model was trained in this run; otherwise it was read from its folder."""


def _encode_names(index: LakeIndex) -> Encoding:
    """Encode columns by their names, without a network."""
    return Encoding(embeddings=index.names.vectors(), fingerprint="untrained", trained=False)


def encode(
    index: LakeIndex,
    config: ModelConfig,
    watch: Callable[[Epoch], None],
    elsewhere: Elsewhere | None = None,
) -> Encoding:
    """Compute an embedding for every column.

    If no saved model can be used, a new one is trained.

    If the ranking does not use the network, nothing is trained, and names alone are encoded.

    Args:
        config: How to train, where models are saved, and when a saved model is used.
        elsewhere: Trains in another process, if one may be used; there, no journal is kept, and
            `watch` receives the epochs at the end.
    """
    if config.ranking.scoring is Scoring.SIGNALS:
        return _encode_names(index)
    # torch takes seconds to import, and most runs train no network.
    from datahub_hyperjoin.model.network_encoding import encode_by_network  # noqa: PLC0415

    embeddings, fingerprint, trained = encode_by_network(index, config, watch, elsewhere)
    return Encoding(embeddings=embeddings, fingerprint=fingerprint, trained=trained)
