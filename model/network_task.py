"""The training of a network as a task for another process, which has only what it is sent.

Most of a lake index is left out: training and encoding read no sketches, and few pairs.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float32

from datahub_hyperjoin.model.config import ModelConfig
from datahub_hyperjoin.model.hypergraph.lake_index import LakeIndex
from datahub_hyperjoin.model.saved.epoch import Epoch
from datahub_hyperjoin.model.training.pair_sampling import select_similar


@dataclass(frozen=True)
class NetworkTask:
    """An untrained model, and what training it and encoding columns read of the lake."""

    index: LakeIndex
    config: ModelConfig

    model: Mapping[str, bytes]
    """The files of the untrained model, by their names."""

    random: bytes
    """The state of torch's generator when training begins."""

    encodes: bool
    """Whether the embeddings are wanted; otherwise, only the weights are."""


@dataclass(frozen=True)
class NetworkResult:
    """A trained network, and the embeddings of the lake's columns."""

    weights: bytes
    """The trained weights as safetensors."""

    epochs: tuple[Epoch, ...]
    """All epochs of training."""

    embeddings: Float32[np.ndarray, "column width"] | None
    """Unit vectors, one per column; None if the task did not ask for them."""


Elsewhere = Callable[[NetworkTask], NetworkResult | None]
"""Performs a task in another process; returns None if that was not possible.

It raises the errors of training.
"""


def pare(index: LakeIndex) -> LakeIndex:
    """Return a copy of a lake index with only what training and encoding read."""
    profiles = (
        replace(profile, sketch=b"", form_sketch=b"", patterns=())
        for profile in index.lake.profiles
    )
    # New objects also leave behind what the old ones have computed and kept.
    return replace(
        index,
        lake=replace(index.lake, profiles=tuple(profiles)),
        overlap=select_similar(index.overlap),
        joins=replace(index.joins),
    )
