"""Train the compared models on the lakes of `benchmarks.school`, and store them in files."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property, partial
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Bool, Float
from safetensors import safe_open
from safetensors.numpy import save_file
from safetensors.torch import load_file
from typing_extensions import assert_never

from benchmarks.compare_scorers.context import measure_context
from benchmarks.pair_network.examples import LabelledPairs
from benchmarks.pair_network.raw_inputs import RawInputs
from benchmarks.pair_network.torch_network import TorchPairNetwork
from benchmarks.pair_network.training import Trainable, corrections_of, fit_network, score
from benchmarks.trees.examples import Examples, average_precision
from benchmarks.trees.fit import fit
from datahub_hyperjoin.model.ranking.pair_features import PAIR_FEATURES
from datahub_hyperjoin.model.tree_ensemble import TreeEnsemble
from datahub_hyperjoin.tables import DataType

logger = logging.getLogger(__name__)

SHARES = (0.25, 0.35, 0.5, 0.7, 1.0)
"""Shares of a correction to try; the validation lakes decide which share is added."""

Correct = Callable[[LabelledPairs], Float[np.ndarray, " pair"]]
"""Returns what a model adds to the log-odds of each pair of a query column."""


class Kind(Enum):
    """A kind of model that corrects noisy-or scores."""

    TREES = "trees"
    TREES_WITH_CONTEXT = "trees with context"
    RAW_INPUTS = "raw inputs"
    WITHOUT_MESSAGES = "network without messages"
    NETWORK = "network"

    @property
    def slug(self) -> str:
        """The kind's name as it appears in file names."""
        return self.value.replace(" ", "-")


@dataclass(frozen=True)
class School:
    """The training and validation lakes, which are read when they are first needed."""

    read: Callable[[str], Sequence[LabelledPairs]]
    """Reads the lakes of a split."""

    @cached_property
    def train(self) -> Sequence[LabelledPairs]:
        """The lakes to learn from."""
        return self.read("train")

    @cached_property
    def validation(self) -> Sequence[LabelledPairs]:
        """The lakes that decide which epoch is best, and what share of each correction is added."""
        return self.read("validation")


@dataclass(frozen=True)
class Model:
    """A trained model."""

    correct: Correct
    share: float
    """Factor by which the model's corrections of the log-odds are multiplied."""

    def score(self, lake: LabelledPairs) -> Float[np.ndarray, " asked"]:
        """Score the pairs of the query columns.

        Pairs of other types than the school's keys stay as they are.

        Args:
            lake: The pairs.
        """
        return score(lake, self.share * self.correct(lake) * are_learnt(lake))


def are_learnt(lake: LabelledPairs) -> Bool[np.ndarray, " pair"]:
    """Return which pairs consist of text or integer columns.

    All joins of the training lakes have these types.

    Args:
        lake: The pairs.
    """

    def has(side: str, kind: DataType) -> Bool[np.ndarray, " pair"]:
        return lake.graph.rows[:, PAIR_FEATURES.index(f"{side}: is {kind.value}")] > 0

    first, second = (
        has(side, DataType.TEXT) | has(side, DataType.INTEGER) for side in ("left", "right")
    )
    return first & second


def obtain(kind: Kind, seed: int, school: School, file: Path, epochs: int) -> Model:
    """Return a trained model, from its file if there is one.

    Args:
        kind: The kind of model.
        seed: Seed of all draws.
        school: The lakes to learn from.
        file: Where the model is kept.
        epochs: Epochs of the networks.
    """
    if not file.is_file():
        logger.info("Training %s with seed %d", kind.value, seed)
        _train(kind, seed, school, file, epochs)
    with safe_open(file, framework="numpy") as kept:
        share = float(kept.metadata()["share"])
    return Model(_load(kind, file), share)


def _train(kind: Kind, seed: int, school: School, file: Path, epochs: int) -> None:
    part = file.with_suffix(".part")
    torch.manual_seed(seed)
    network = _network(kind)
    if network is None:
        arrays = _fit_trees(kind, seed, school.train)
    else:
        fit_network(network, school.train, school.validation, epochs=epochs, seed=seed)
        arrays = {name: tensor.numpy() for name, tensor in network.state_dict().items()}
    save_file(arrays, part)
    share, precision = _choose_share(_load(kind, part), school.validation)
    logger.info("MAP %.4f on validation lakes with %.2f of the corrections", precision, share)
    save_file(arrays, file, metadata={"share": str(share), "validation": f"{precision:.4f}"})
    part.unlink()


def _fit_trees(kind: Kind, seed: int, lakes: Sequence[LabelledPairs]) -> dict[str, np.ndarray]:
    trees = fit([_examples(lake, kind) for lake in lakes], seed=seed, share=1.0)
    return {name: np.ascontiguousarray(array) for name, array in vars(trees).items()}


def _network(kind: Kind) -> Trainable | None:
    """Return a network with its initial weights, or None if the model consists of trees."""
    match kind:
        case Kind.TREES | Kind.TREES_WITH_CONTEXT:
            return None
        case Kind.RAW_INPUTS:
            return RawInputs(len(PAIR_FEATURES))
        case Kind.WITHOUT_MESSAGES | Kind.NETWORK:
            return TorchPairNetwork(len(PAIR_FEATURES), messages=kind is Kind.NETWORK)
    assert_never(kind)


def _load(kind: Kind, file: Path) -> Correct:
    network = _network(kind)
    if network is None:
        return partial(_correct_by_trees, TreeEnsemble.load(file), kind)
    network.load_state_dict(load_file(file))
    network.eval()
    return lambda lake: corrections_of(lake, network)


def _examples(lake: LabelledPairs, kind: Kind) -> Examples:
    if kind is Kind.TREES:
        return lake.ranked
    context = measure_context(lake.graph)[lake.asked]
    return replace(lake.ranked, rows=np.hstack([lake.ranked.rows, context]))


def _correct_by_trees(
    trees: TreeEnsemble, kind: Kind, lake: LabelledPairs
) -> Float[np.ndarray, " pair"]:
    corrections = np.zeros(len(lake.graph.left))
    corrections[lake.asked] = trees(_examples(lake, kind).rows)
    return corrections


def _choose_share(correct: Correct, lakes: Sequence[LabelledPairs]) -> tuple[float, float]:
    """Choose how much of a correction to add; return this share and the mean average precision."""
    corrected = [(lake, lake.ranked, correct(lake)) for lake in lakes]
    precision = {
        share: float(
            np.mean([average_precision(r, score(lake, share * c)) for lake, r, c in corrected])
        )
        for share in SHARES
    }
    best = max(precision, key=precision.__getitem__)
    return best, precision[best]
