"""Compute an embedding for every column, with a saved or a new model."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from datahub_hyperjoin.model.config import ModelConfig, Scoring
from datahub_hyperjoin.model.hypergraph.lake_index import LakeIndex
from datahub_hyperjoin.model.signals.pairs import Vectors


@dataclass(frozen=True)
class Epoch:
    """The result of one epoch of training."""

    number: int
    loss: float
    # Share of held-out keys whose positive is nearest among all candidates, in [0, 1].
    recall: float
    seconds: float
    resumed: bool = False


@dataclass(frozen=True)
class NetworkTask:
    """An untrained model, and what training it and encoding columns read of the lake."""

    index: LakeIndex
    config: ModelConfig
    model: Mapping[str, bytes]
    random: bytes
    encodes: bool  # whether the embeddings are wanted; otherwise, only the weights are


@dataclass(frozen=True)
class NetworkResult:
    """A trained network, and the embeddings of the lake's columns."""

    weights: bytes
    epochs: tuple[Epoch, ...]
    # Unit vectors, one per column; None if the task did not ask for them.
    embeddings: Vectors | None


Elsewhere = Callable[[NetworkTask], NetworkResult | None]
"""Performs a task in another process; returns None if that was not possible.

It raises the errors of training.
"""


@dataclass(frozen=True)
class Encoding:
    """The embeddings of a lake's columns."""

    embeddings: Vectors
    fingerprint: str
    # Whether the model was trained in this run; otherwise it was read from its folder.
    trained: bool


def encode(
    index: LakeIndex,
    config: ModelConfig,
    watch: Callable[[Epoch], None],
    elsewhere: Elsewhere | None = None,
) -> Encoding:
    """Compute an embedding for every column."""
    # Elsewhere, no journal is kept, and `watch` receives the epochs at the end. If the ranking does
    # not use the network, nothing is trained, and names alone are encoded.
    if config.ranking.scoring is Scoring.SIGNALS:
        return Encoding(index.names.vectors(), fingerprint="untrained", trained=False)
    # torch takes seconds to import, and most runs train no network.
    from datahub_hyperjoin.model.network.encoding import encode_by_network  # noqa: PLC0415

    return encode_by_network(index, config, watch, elsewhere)
