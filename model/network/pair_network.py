"""The pair network: message passing between candidate pairs, columns and tables.

It carries HIN's idea from columns to pairs. Columns are the vertices of HIN's hypergraph, and
tables its hyperedges. Here each candidate pair has a state, too. In every round, pairs send their
states to their columns, columns send theirs to their tables, and all of them send theirs back. The
network has no vector for a table, a word or a value, so it reads lakes that it was not trained on.

It is computed with NumPy, because torch would take seconds to import, which is most of the time of
a small run. `benchmarks.pair_network.torch_network` is the same network with gradients.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Float32, Int
from scipy.special import erf

from datahub_hyperjoin.arrow_bytes import starts_run
from datahub_hyperjoin.model.signals.pairs import ColumnInts, PairInts

_EMPTY = np.float32(-5.0)
"""The maximum of a group without pairs. Few elements of a normalised state vector are smaller."""
_PRIOR = np.float32(0.5)
"""Number added to the total weight of a group, so that the mean of improbable pairs is near 0."""

_SOURCES = 10
"""Number of vectors that update the state of a pair. They come from the pair, its reverse, its
columns, their tables, the groups that contain the pair, and the pair's lead."""

_MOST_IN_SINGLE = 1 << 23
"""Number of pairs up to which their states are kept in single precision between rounds. Those of
more pairs take half of the memory, in half precision, which changes log-odds by about 0.001."""

_Weights = Mapping[str, np.ndarray]
_States = Float[np.ndarray, "_ width"]
_Items = Float32[np.ndarray, "item width"]
_Inputs = Float32[np.ndarray, "item input"]
_Outputs = Float32[np.ndarray, "item output"]


@dataclass(frozen=True)
class CandidatePairs:
    """The input of the pair network: all or some of the candidate pairs of a lake."""

    rows: Float32[np.ndarray, "pair feature"]
    # Log-odds of a join by the noisy-or, from which the weights of messages are computed.
    log_odds: Float32[np.ndarray, " pair"]
    left: PairInts
    right: PairInts
    # Position of the pair with its columns swapped; -1 if the swapped pair is not a candidate.
    reverse: PairInts
    table_of: ColumnInts
    # For each pair, the index of its group. The pairs between the same two tables form a group.
    tables: PairInts
    # For each pair, the index of its group. The pairs of one key column with candidates in one
    # table form a group.
    towards: PairInts

    def without_rows(self) -> "CandidatePairs":
        """Return the pairs without their features, which take most of the memory."""
        return replace(self, rows=np.empty((len(self.rows), 0), np.float32))


def _linear(items: _Inputs, weights: _Weights, layer: str) -> _Outputs:
    return items @ weights[f"{layer}.weight"].T + weights[f"{layer}.bias"]


def _gelu(items: _Outputs) -> _Outputs:
    """Apply GELU (Hendrycks and Gimpel, 2016)."""
    return items * (0.5 * (1 + erf(items * np.float32(0.5**0.5))))


def _normalised(items: _Items, weights: _Weights, layer: str) -> _Items:
    """Apply layer normalisation (Ba, Kiros and Hinton, 2016)."""
    items = items - items.mean(axis=1, keepdims=True)
    deviation = np.sqrt(np.square(items).mean(axis=1, keepdims=True) + np.float32(1e-5))
    return items / deviation * weights[f"{layer}.weight"] + weights[f"{layer}.bias"]


def _sort_groups(
    group: Int[np.ndarray, " item"],
) -> tuple[Int[np.ndarray, " item"], Int[np.ndarray, " group"]]:
    """Return the items in the order of their groups, and where each group starts."""
    order = np.argsort(group, kind="stable")
    return order, np.flatnonzero(starts_run(group[order]))


def _reduce(
    function: np.ufunc, items: _Items, starts: Int[np.ndarray, " group"]
) -> Float32[np.ndarray, "group width"]:
    """Return what `reduceat` returns, in less time if most groups have one or two items."""
    # NumPy reduces each number of each group by a call of its own.
    further = np.diff(starts, append=len(items)) - 1
    reduced = items[starts]
    two, more = np.flatnonzero(further == 1), further > 1
    reduced[two] = function(reduced[two], items[starts[two] + 1])
    if more.any():
        first = np.cumsum(further[more] + 1) - further[more] - 1
        reduced[more] = function.reduceat(items[np.repeat(more, further + 1)], first)
    return reduced


@dataclass(frozen=True)
class _Groups:
    """The vectors of items, aggregated by group."""

    groups: Int[np.ndarray, " group"]
    maximum: Float32[np.ndarray, "group width"]
    total: Float32[np.ndarray, "group width"]
    weight: Float32[np.ndarray, "group 1"]

    @classmethod
    def empty(cls, count: int, width: int) -> "_Groups":
        """Return groups without items."""
        maximum, total = np.full((count, width), _EMPTY), np.zeros((count, width), np.float32)
        return cls(np.arange(count), maximum, total, np.zeros((count, 1), np.float32))

    @classmethod
    def of(
        cls, items: _Items, weight: Float32[np.ndarray, "item 1"], group: Int[np.ndarray, " item"]
    ) -> "_Groups":
        """Aggregate items by group; groups without items are omitted."""
        order, starts = _sort_groups(group)
        items, weight = items[order], weight[order]
        maximum = np.maximum(_reduce(np.maximum, items, starts), _EMPTY)
        total = _reduce(np.add, weight * items, starts)
        return cls(group[order[starts]], maximum, total, _reduce(np.add, weight, starts))

    def add(self, part: "_Groups") -> None:
        """Merge the groups of `part` into these groups."""
        at = part.groups
        self.maximum[at] = np.maximum(self.maximum[at], part.maximum)
        self.total[at] += part.total
        self.weight[at] += part.weight

    @property
    def mean(self) -> Float32[np.ndarray, "group width"]:
        return self.total / (self.weight + _PRIOR)


class _Round:
    """One round of messages between candidate pairs, columns and tables."""

    def __init__(
        self,
        weights: _Weights,
        name: str,
        states: Sequence[_States],
        parts: Sequence[CandidatePairs],
    ) -> None:
        self._weights, self._name = weights, name
        table_of, width = parts[0].table_of, states[0].shape[1]
        out, back = (_Groups.empty(len(table_of), width) for _ in range(2))
        for each, part in zip(states, parts, strict=True):
            items, certainty = self._weigh(each, part)
            out.add(_Groups.of(items, certainty, part.left))
            back.add(_Groups.of(items, certainty, part.right))
        received = np.concatenate([out.maximum, out.mean, back.maximum, back.mean], axis=1)
        column = _gelu(_linear(received, weights, f"{name}.column.0"))
        inside = _Groups.of(column, np.ones((len(table_of), 1), np.float32), table_of)
        received = np.concatenate([inside.total / inside.weight, inside.maximum], axis=1)
        table = np.zeros((int(table_of.max()) + 1, width), np.float32)
        table[inside.groups] = _gelu(_linear(received, weights, f"{name}.table.0"))
        # The first layer of the update is linear, so each column's share of it is computed once
        # instead of once for each of its pairs.
        by_source = np.split(weights[f"{name}.update.0.weight"].T, _SOURCES)
        (own, self._reverse, left, left_table, right, right_table) = by_source[:6]
        (self._mean_between, self._maximum_between, self._towards, lead) = by_source[6:]
        # The lead is the pair's state minus the maximum of its left column.
        self._own = own + lead
        self._left = column @ left + (table @ left_table)[table_of] - out.maximum @ lead
        self._right = column @ right + (table @ right_table)[table_of]

    def _weigh(
        self, states: Float[np.ndarray, "item width"], part: CandidatePairs
    ) -> tuple[Float32[np.ndarray, "item width"], Float32[np.ndarray, "item 1"]]:
        """Normalise the states of a part's pairs, and compute each pair's weight for averaging."""
        single = states.astype(np.float32, copy=False)
        items = _normalised(single, self._weights, f"{self._name}.norm")
        odds = _linear(items, self._weights, f"{self._name}.weight") + part.log_odds[:, None]
        return items, 1 / (1 + np.exp(-odds))

    def changes(self, states: _States, part: CandidatePairs) -> Float32[np.ndarray, "_ width"]:
        """Return how much the state of each pair in `part` changes in this round."""
        items, certainty = self._weigh(states, part)
        between = _Groups.of(items, certainty, part.tables)
        order, starts = _sort_groups(part.towards)
        towards = np.maximum(_reduce(np.maximum, items[order], starts), _EMPTY)
        weights, layer = self._weights, f"{self._name}.update"
        hidden = items @ self._own + weights[f"{layer}.0.bias"]
        mutual = np.flatnonzero(part.reverse >= 0)
        hidden[mutual] += items[part.reverse[mutual]] @ self._reverse
        hidden += self._left[part.left]
        hidden += self._right[part.right]
        of_tables = between.mean @ self._mean_between + between.maximum @ self._maximum_between
        hidden += of_tables[part.tables]
        hidden += (towards @ self._towards)[part.towards]
        return _linear(_gelu(hidden), weights, f"{layer}.2")


class PairNetwork:
    """A network that corrects the log-odds of a join for each candidate pair."""

    def __init__(self, weights: _Weights) -> None:
        self._weights = weights
        rounds = (name.split(".") for name in weights if name.startswith("rounds."))
        self._rounds = sorted({f"rounds.{number}" for _, number, *_ in rounds})

    def correct_parts(self, parts: Iterable[CandidatePairs]) -> list[Float[np.ndarray, " _"]]:
        """For each part, return the corrections to add to the log-odds of its pairs."""
        # No two parts have pairs between the same two tables, and none is empty. The features of
        # each part are read once and then forgotten.
        weights = self._weights
        states = list[_States]()
        pairs, count = list[CandidatePairs](), 0
        for part in parts:
            scaled = np.clip((part.rows - weights["mean"]) / weights["scale"], -5, 5)
            started = _gelu(_linear(scaled, weights, "start.0"))
            states.append(_linear(started, weights, "start.2"))
            pairs.append(part.without_rows())
            count += len(part.left)
            if count > _MOST_IN_SINGLE:
                states = [state.astype(np.float16, copy=False) for state in states]
        for name in self._rounds if states else ():
            messages = _Round(weights, name, states, pairs)
            for state, part in zip(states, pairs, strict=True):
                state += messages.changes(state, part)  # noqa: PLW2901 (in place)
        return [
            _linear(state.astype(np.float32, copy=False), weights, "output")[:, 0].astype(
                np.float64
            )
            for state in states
        ]
