"""Evaluate gradient-boosted regression trees (Friedman, 2001) that were trained elsewhere."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import numpy as np
from jaxtyping import Float, Float32, Int, UInt8
from safetensors.numpy import load_file

from datahub_hyperjoin.model.signals.pairs import chunks

_ROWS = 4096
"""Number of rows evaluated at once. With fewer, the calls of NumPy take a third of the time; with
more, the arrays of a step do not stay in the processor's cache."""


@dataclass(frozen=True)
class _Conditions:
    """The distinct conditions of all nodes; several nodes may have the same condition."""

    # Each feature that is compared, with its thresholds.
    thresholds: tuple[tuple[int, Float32[np.ndarray, "_ 1"]], ...]
    # The index of each node's condition among all conditions, in the order of `thresholds`.
    of_node: Int[np.ndarray, "node tree"]

    @classmethod
    def of(
        cls, feature: Int[np.ndarray, "tree node"], threshold: Float32[np.ndarray, "tree node"]
    ) -> "_Conditions":
        compared = np.stack([feature.ravel(), threshold.ravel()]).astype(np.float64)
        distinct, number = np.unique(compared, axis=1, return_inverse=True)
        features, starts = np.unique(distinct[0].astype(np.int64), return_index=True)
        thresholds = np.split(distinct[1].astype(np.float32)[:, None], starts[1:])
        pairs = zip(features.tolist(), thresholds, strict=True)
        return cls(tuple(pairs), np.ascontiguousarray(number.reshape(feature.shape).T))

    def check(self, rows: Float32[np.ndarray, "row feature"]) -> UInt8[np.ndarray, "condition _"]:
        """For each condition and row, return a bit: whether the row meets the condition."""
        columns = np.ascontiguousarray(rows.T)
        parts = [
            np.packbits(columns[feature] > thresholds, axis=1)
            for feature, thresholds in self.thresholds
        ]
        return np.concatenate(parts)


@dataclass(frozen=True)
class TreeEnsemble:
    """An ensemble of regression trees that all have the same depth."""

    # The trees are complete: the children of node i are the nodes 2i + 1 and 2i + 2. So all are
    # evaluated together, level by level. What a node decides about a row is one bit, and bits of
    # many rows are combined at once.

    feature: Int[np.ndarray, "tree node"]  # the feature that each inner node compares
    # The threshold of each inner node; rows whose feature is greater go to the right child.
    threshold: Float32[np.ndarray, "tree node"]
    # The output of each leaf, from left to right; a tree has one leaf more than inner nodes.
    value: Float32[np.ndarray, "tree leaf"]

    def __call__(self, rows: Float32[np.ndarray, "row feature"]) -> Float[np.ndarray, " row"]:
        """For each row, return the sum of all trees' outputs."""
        parts = [self._evaluate(rows[some]) for some in chunks(len(rows), _ROWS)]
        return np.concatenate(parts) if parts else np.zeros(0)

    @cached_property
    def _conditions(self) -> _Conditions:
        return _Conditions.of(self.feature, self.threshold)

    def _evaluate(self, rows: Float32[np.ndarray, "row feature"]) -> Float[np.ndarray, " row"]:
        leaf = np.zeros((len(self.value), len(rows)), dtype=np.uint8)
        for steps in self._descend(self._conditions.check(rows)):
            leaf <<= 1
            leaf |= np.unpackbits(steps, axis=1, count=len(rows))
        total = np.zeros(len(rows))
        # Tree by tree, since the outputs of all trees would not fit into the cache.
        for outputs, reached in zip(self.value.astype(np.float64), leaf, strict=True):
            total += outputs.take(reached)
        return total

    def _descend(
        self, conditions: UInt8[np.ndarray, "condition byte"]
    ) -> Iterator[UInt8[np.ndarray, "tree byte"]]:
        """Yield a bit for each level, tree and row: whether the row goes to the right child."""
        above: list[UInt8[np.ndarray, "tree byte"]] = []
        nodes = self.feature.shape[1]
        for level in range((nodes + 1).bit_length() - 1):
            first = 2**level - 1
            decided = conditions.take(self._conditions.of_node[first : 2 * first + 1], axis=0)
            # The steps so far halve the nodes of this level until one is left for each row.
            for is_right in above:
                left, right = np.split(decided, 2)
                decided = left ^ ((left ^ right) & is_right)
            above.append(decided[0])
            yield decided[0]

    @classmethod
    def load(cls, path: Path) -> "TreeEnsemble":
        """Load trees from a safetensors file."""
        arrays = load_file(path)
        return cls(arrays["feature"].astype(np.int64), arrays["threshold"], arrays["value"])


@cache
def shipped_trees(path: Path) -> TreeEnsemble:
    """Load regression trees that come with the package."""
    return TreeEnsemble.load(path)
