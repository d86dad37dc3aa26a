"""Evaluate gradient-boosted regression trees (Friedman, 2001).

The trees are complete binary trees, so that all trees take a step towards the leaves at once: the
children of node i are the nodes 2i + 1 and 2i + 2.
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from jaxtyping import Float, Float32, Int
from safetensors.numpy import load_file

SHIPPED = Path(__file__).with_name("trees.safetensors")
"""The trees for lakes with values that come with the package; `trees.md` describes them."""

SHIPPED_FOR_NAMES = Path(__file__).with_name("name_trees.safetensors")
"""The trees for lakes whose values are not read; `name_trees.md` describes them."""

_CHUNK = 256
"""Rows evaluated at once: the arrays of a step stay in the processor's cache."""


@dataclass(frozen=True)
class TreeEnsemble:
    """An ensemble of regression trees that all have the same depth."""

    feature: Int[np.ndarray, "tree node"]
    """The feature that each inner node compares."""

    threshold: Float32[np.ndarray, "tree node"]
    """A row whose feature is greater goes to the right child."""

    value: Float32[np.ndarray, "tree leaf"]
    """The output of each leaf, from left to right; one more than nodes."""

    def __call__(self, rows: Float32[np.ndarray, "row feature"]) -> Float[np.ndarray, " row"]:
        """For each row, return the sum of all trees' outputs.

        Args:
            rows: The features of each row.
        """
        starts = range(0, len(rows), _CHUNK)
        parts = [self._evaluate(rows[start : start + _CHUNK]) for start in starts]
        return np.concatenate(parts) if parts else np.zeros(0)

    def _evaluate(self, rows: Float32[np.ndarray, "row feature"]) -> Float[np.ndarray, " row"]:
        trees, nodes = self.feature.shape
        # `take` from flat arrays is several times as fast as an index of two arrays.
        row, tree = np.arange(len(rows))[:, None] * rows.shape[1], np.arange(trees)
        node = np.zeros((len(rows), trees), dtype=np.int64)
        for _ in range((nodes + 1).bit_length() - 1):
            at = node + tree * nodes
            is_right = rows.take(row + self.feature.take(at)) > self.threshold.take(at)
            node = 2 * node + 1 + is_right
        leaf = node - nodes + tree * (nodes + 1)
        return self.value.take(leaf).sum(axis=1, dtype=np.float64)

    @classmethod
    def load(cls, path: Path) -> "TreeEnsemble":
        """Load trees from a safetensors file.

        Args:
            path: A file with the arrays `feature`, `threshold` and `value`.
        """
        arrays = load_file(path)
        return cls(arrays["feature"].astype(np.int64), arrays["threshold"], arrays["value"])


@cache
def shipped_trees(path: Path = SHIPPED) -> TreeEnsemble:
    """Load regression trees that come with the package.

    Args:
        path: Their file.
    """
    return TreeEnsemble.load(path)
