"""How alike the cells of columns are written, whether or not any two of them are equal.

Columns that hold the same things with typing errors, in another order of words, or with other
punctuation share few values and most of their trigrams. A column is the bag of its sampled cells'
trigrams, weighed by TF-IDF with logarithmic counts (Salton and Buckley, 1988) and projected at
random to a dense vector, which keeps cosines (Li, Hastie and Church, 2006).
"""

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from jaxtyping import Float32, Int
from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer
from sklearn.preprocessing import normalize
from sklearn.random_projection import SparseRandomProjection

_TRIGRAMS = 2**16
"""Places that trigrams are hashed to; a lake of one script has some ten thousand."""

# scikit-learn has no annotations, and what type checkers guess from its defaults is wrong.
_BAG: dict[str, Any] = {
    "analyzer": "char_wb",
    "ngram_range": (3, 3),
    "strip_accents": "unicode",
    "n_features": _TRIGRAMS,
    "alternate_sign": False,
    "norm": None,
    "dtype": np.float32,
}
"""Trigrams of words, counted."""
_PROJECTION: dict[str, Any] = {
    "n_components": 1024,
    "density": 0.05,
    "dense_output": True,
    "random_state": 0,
}
"""Its cosines are off by some 0.03."""


@cache
def _projection() -> SparseRandomProjection:
    """Depends on no lake, and takes most of a second to draw: once a process is enough."""
    return SparseRandomProjection(**_PROJECTION).fit(np.zeros((1, _TRIGRAMS), dtype=np.float32))


class CellSimilarity:
    """Cosines of the columns' trigrams.

    Args:
        samples: Some cells of each column, as written; letter case and accents make no difference.

    >>> alike = CellSimilarity([["Zürich", "Basel"], ["basel (CH)", "zurich (CH)"], ["7", "12"]])
    >>> cosines = alike.between(np.array([[0]]), np.array([[0, 1, 2]]))[0, 0]
    >>> [round(float(cosine), 1) for cosine in cosines]
    [1.0, 0.6, 0.0]
    """

    def __init__(self, samples: Sequence[Sequence[str]]) -> None:
        counts = HashingVectorizer(**_BAG).transform(map(" ".join, samples))
        weighed = TfidfTransformer(sublinear_tf=True).fit_transform(counts)
        projected = normalize(_projection().transform(weighed))
        self.vectors: Float32[np.ndarray, "column width"] = projected.astype(np.float32)
        """Unit vectors; zeros for a column without cells."""

    def between(
        self, left: Int[np.ndarray, "query l"], right: Int[np.ndarray, "query r"]
    ) -> Float32[np.ndarray, "query l r"]:
        """Compares each left column with each right one, query by query.

        Args:
            left: Columns.
            right: Columns.

        Returns:
            Cosines in [0, 1]; 0 for a column without cells.
        """
        cosines = self.vectors[left] @ self.vectors[right].swapaxes(1, 2)
        return np.clip(cosines, 0.0, 1.0)
