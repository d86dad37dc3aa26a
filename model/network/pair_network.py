"""The pair network: message passing between candidate pairs, columns and tables.

It carries HIN's idea from columns to pairs. Columns are the vertices of HIN's hypergraph, and
tables its hyperedges. Here each candidate pair has a state, too. In every round, pairs send their
states to their columns, columns send theirs to their tables, and all of them send theirs back. The
network has no vector for a table, a word or a value, so it reads lakes that it was not trained on.

It is computed with NumPy, because torch would take seconds to import, which is most of the time of
a small run. `benchmarks.pair_network.torch_network` is the same network with gradients.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Float32, Int
from scipy.special import erf

_EMPTY = np.float32(-5.0)
"""Maximum of a group without pairs; states are normalised, so most of their numbers are greater."""
_PRIOR = np.float32(0.5)
"""Weight of a mean's prior of 0, so that a group of improbable pairs has a mean near 0."""
_CHUNK = 1 << 14
"""Pairs whose states are updated at once, which bounds the memory of a step to some 50 MB."""

_Weights = Mapping[str, np.ndarray]
_Items = Float32[np.ndarray, "item width"]
_Inputs = Float32[np.ndarray, "item input"]
_Outputs = Float32[np.ndarray, "item output"]


@dataclass(frozen=True)
class CandidatePairs:
    """The input of the pair network: the candidate pairs of a lake, sorted by key column."""

    rows: Float32[np.ndarray, "pair feature"]
    """The features of each pair."""

    log_odds: Float32[np.ndarray, " pair"]
    """Log-odds of a join by the noisy-or, which weigh the messages."""

    left: Int[np.ndarray, " pair"]
    """The key column of each pair."""

    right: Int[np.ndarray, " pair"]
    """The candidate of each pair."""

    reverse: Int[np.ndarray, " pair"]
    """Position of the same pair in the other order; -1 if it is no candidate."""

    table_of: Int[np.ndarray, " column"]
    """The table of each column."""

    tables: Int[np.ndarray, " pair"]
    """Group of the pairs between the same two tables."""

    towards: Int[np.ndarray, " pair"]
    """Group of the pairs between the same column and the same table."""


def _linear(items: _Inputs, weights: _Weights, layer: str) -> _Outputs:
    return items @ weights[f"{layer}.weight"].T + weights[f"{layer}.bias"]


def _activated(items: _Inputs, weights: _Weights, layer: str) -> _Outputs:
    """Apply a linear layer and GELU (Hendrycks and Gimpel, 2016)."""
    linear = _linear(items, weights, layer)
    return linear * (0.5 * (1 + erf(linear * np.float32(0.5**0.5))))


def _normalised(items: _Items, weights: _Weights, layer: str) -> _Items:
    """Apply layer normalisation (Ba, Kiros and Hinton, 2016)."""
    items = items - items.mean(axis=1, keepdims=True)
    deviation = np.sqrt(np.square(items).mean(axis=1, keepdims=True) + np.float32(1e-5))
    return items / deviation * weights[f"{layer}.weight"] + weights[f"{layer}.bias"]


def _chunks(group: Int[np.ndarray, " item"]) -> Iterator[slice]:
    """Yield slices of sorted items that divide no group, of about as many items as `_CHUNK`."""
    starts = np.flatnonzero(np.diff(group, prepend=-1))
    wanted = np.arange(0, len(group), _CHUNK)
    bounds = np.unique(starts[np.searchsorted(starts, wanted, side="right") - 1])
    yield from map(slice, bounds, [*bounds[1:], len(group)])


def _aggregate(
    items: _Items,
    weight: Float32[np.ndarray, " item"],
    group: Int[np.ndarray, " item"],
    count: int,
    *,
    prior: np.float32 = _PRIOR,
) -> tuple[Float32[np.ndarray, "group width"], Float32[np.ndarray, "group width"]]:
    """Compute the maximum and the weighted mean of the items of each group.

    Args:
        items: The items, in any order.
        weight: The weight of each item in the mean.
        group: The group of each item.
        count: Number of groups, also of empty ones.
        prior: Weight of a prior of 0 in the mean.
    """
    maximum = np.full((count, items.shape[1]), _EMPTY)
    mean = np.zeros_like(maximum)
    order = np.argsort(group, kind="stable")
    for some in _chunks(group[order]):
        chosen = order[some]
        starts = np.flatnonzero(np.diff(group[chosen], prepend=-1))
        groups, members, weights = group[chosen[starts]], items[chosen], weight[chosen, None]
        maximum[groups] = np.maximum(np.maximum.reduceat(members, starts), _EMPTY)
        total = np.add.reduceat(weights, starts) + prior
        mean[groups] = np.add.reduceat(weights * members, starts) / total
    return maximum, mean


def _highest(items: _Items, group: Int[np.ndarray, " item"]) -> _Items:
    """Return, for each item, the maximum of its group."""
    number = np.unique(group, return_inverse=True)[1]
    order = np.argsort(number, kind="stable")
    starts = np.flatnonzero(np.diff(number[order], prepend=-1))
    return np.maximum(np.maximum.reduceat(items[order], starts), _EMPTY)[number]


class _Round:
    """One round of messages between candidate pairs, columns and tables.

    Args:
        weights: The weights of the network.
        name: Prefix of the round's own weights.
        states: The states of all pairs before the round.
        pairs: The pairs.
    """

    def __init__(self, weights: _Weights, name: str, states: _Items, pairs: CandidatePairs) -> None:
        self._weights, self._name, self._pairs = weights, name, pairs
        self._items = np.empty_like(states)
        certainty = np.empty(len(states), np.float32)
        for some in _chunks(pairs.left):
            self._items[some] = _normalised(states[some], weights, f"{name}.norm")
            odds = _linear(self._items[some], weights, f"{name}.weight")[:, 0]
            certainty[some] = 1 / (1 + np.exp(-odds - pairs.log_odds[some]))
        self._send(certainty)

    def _send(self, certainty: Float32[np.ndarray, " pair"]) -> None:
        """Aggregate the vectors of pairs into vectors for columns, tables and pairs of tables."""
        pairs, weights, name = self._pairs, self._weights, self._name
        columns = len(pairs.table_of)
        self._leading, mean = _aggregate(self._items, certainty, pairs.left, columns)
        back = _aggregate(self._items, certainty, pairs.right, columns)
        self._column = np.empty_like(mean)
        for start in range(0, columns, _CHUNK):
            some = slice(start, start + _CHUNK)
            messages = (each[some] for each in (self._leading, mean, *back))
            received = np.concatenate([*messages], axis=1)
            self._column[some] = _activated(received, weights, f"{name}.column.0")
        equal = np.ones(columns, np.float32)
        inside = _aggregate(
            self._column, equal, pairs.table_of, _count(pairs.table_of), prior=np.float32(0)
        )
        self._table = _activated(
            np.concatenate([inside[1], inside[0]], axis=1), weights, f"{name}.table.0"
        )
        self._between = _aggregate(self._items, certainty, pairs.tables, _count(pairs.tables))

    def changes(self, some: slice) -> _Items:
        """Return how much the states of some pairs change in this round.

        Args:
            some: A slice of the pairs that has all pairs of its key columns.
        """
        pairs, items = self._pairs, self._items[some]
        left, right, reverse = pairs.left[some], pairs.right[some], pairs.reverse[some]
        maximum, mean = self._between
        received = [
            items,
            np.where(reverse[:, None] >= 0, self._items[reverse], np.float32(0)),
            self._column[left],
            self._table[pairs.table_of[left]],
            self._column[right],
            self._table[pairs.table_of[right]],
            mean[pairs.tables[some]],
            maximum[pairs.tables[some]],
            _highest(items, pairs.towards[some]),
            items - self._leading[left],
        ]
        hidden = _activated(
            np.concatenate(received, axis=1), self._weights, f"{self._name}.update.0"
        )
        return _linear(hidden, self._weights, f"{self._name}.update.2")


def _count(group: Int[np.ndarray, " item"]) -> int:
    return int(group.max()) + 1 if len(group) else 0


class PairNetwork:
    """A network that corrects the log-odds of a join for each candidate pair.

    Args:
        weights: The trained weights, by the names that torch gives them.
    """

    def __init__(self, weights: _Weights) -> None:
        self._weights = weights
        rounds = (name.split(".") for name in weights if name.startswith("rounds."))
        self._rounds = sorted({f"rounds.{number}" for _, number, *_ in rounds})

    def correct(self, pairs: CandidatePairs) -> Float[np.ndarray, " pair"]:
        """Return the correction to add to each pair's log-odds of a join.

        Args:
            pairs: The candidate pairs of a lake.
        """
        weights = self._weights
        states = np.empty((len(pairs.left), len(weights["start.2.bias"])), np.float32)
        for some in _chunks(pairs.left):
            scaled = np.clip((pairs.rows[some] - weights["mean"]) / weights["scale"], -5, 5)
            states[some] = _linear(_activated(scaled, weights, "start.0"), weights, "start.2")
        for name in self._rounds:
            messages = _Round(weights, name, states, pairs)
            for some in _chunks(pairs.left):
                states[some] += messages.changes(some)
        return _linear(states, weights, "output")[:, 0].astype(np.float64)
