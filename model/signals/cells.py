"""Compare columns by the trigrams of their cells, so that misspelled values match, too.

Columns that hold the same values with typing errors, in another word order or with other
punctuation share few values but most of their trigrams. Each column is represented by the bag of
trigrams of its sampled cells, weighted by TF-IDF with logarithmic counts (Salton and Buckley, 1988)
and projected at random to a dense vector, which preserves cosines (Li, Hastie and Church, 2006).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from jaxtyping import Float32, Int, Int16, Num, UInt16
from scipy import sparse

from datahub_hyperjoin.model.array_cache import cached_arrays
from datahub_hyperjoin.model.signals.partition import number_distinct
from datahub_hyperjoin.model.signals.sparse_rows import scale_rows
from datahub_hyperjoin.model.signals.stored_vectors import StoredVectors
from datahub_hyperjoin.model.signals.trigrams import count_trigrams
from datahub_hyperjoin.packed_texts import PackedTexts

_TRIGRAMS = 2**16
"""Number of buckets for hashed trigrams; a lake in one script has about ten thousand trigrams."""

_SAMPLES = 1024
"""Number of samples that are joined to texts at once, which bounds memory."""

_AT_ONCE = 192
"""Number of vectors that are compared at once; more would not fit into the processor's cache."""

# scikit-learn has no annotations, and the types that checkers infer from its defaults are wrong.
_PROJECTION: dict[str, Any] = {
    "n_components": 1024,
    "density": 0.05,
    "dense_output": True,
    "random_state": 0,
}
"""Settings of the random projection, which changes cosines by about 0.03."""

_MANY = 1 << 15
"""Number of columns above which vectors have half of the components, and so need half of the memory
and of the time to be compared. Their cosines change by about 0.04."""


@cache
def _projection(width: int) -> sparse.csr_array:
    """Return a sparse random matrix that projects trigram counts to vectors of `width` components.

    The first call on a machine takes a second; the matrix is then kept in the user's cache folder.
    """
    arrays = cached_arrays("projection-2", _draw_projection, packages=("numpy", "scikit-learn"))
    shape = (_TRIGRAMS, _PROJECTION["n_components"])
    # Every entry has the same size, so that a sign says all.
    data = arrays["signs"] * arrays["size"]
    whole = sparse.csr_array((data, arrays["indices"], arrays["indptr"]), shape=shape)
    # The components are drawn independently, so some of them are a projection, too.
    return whole if width == shape[1] else whole[:, :width]


def _draw_projection() -> dict[str, np.ndarray]:
    # It takes a second to import, and most runs find the matrix in the cache.
    from sklearn.random_projection import SparseRandomProjection  # noqa: PLC0415

    drawn = SparseRandomProjection(**_PROJECTION).fit(np.zeros((1, _TRIGRAMS), dtype=np.float32))
    # Transposed once here, since a product would transpose it for each block of columns.
    matrix = drawn.components_.T.tocsr()
    return {
        "signs": np.sign(matrix.data).astype(np.int16),
        "size": np.abs(matrix.data[:1]),
        "indices": matrix.indices.astype(np.int32),
        "indptr": matrix.indptr.astype(np.int32),
    }


@dataclass(frozen=True)
class _Counts:
    """How often each of some samples has each trigram, in half of the bytes of a sparse matrix."""

    indices: UInt16[np.ndarray, " entry"]
    data: Num[np.ndarray, " entry"]
    indptr: Int[np.ndarray, " bound"]

    @classmethod
    def of(cls, counts: sparse.csr_array) -> "_Counts":
        greatest = int(counts.data.max(initial=0))
        data = counts.data.astype(np.min_scalar_type(greatest))
        return cls(counts.indices.astype(np.uint16), data, counts.indptr)

    def unpack(self) -> sparse.csr_array:
        parts = (self.data.astype(np.float32), self.indices.astype(np.int32), self.indptr)
        return sparse.csr_array(parts, shape=(len(self.indptr) - 1, _TRIGRAMS))


def _rarity(
    blocks: Sequence[_Counts], columns: Int[np.ndarray, " sample"]
) -> Float32[np.ndarray, " trigram"]:
    """Return the smoothed IDF of each trigram, as scikit-learn defines it.

    `columns` is the number of columns with each sample.
    """
    holders, start = np.zeros(_TRIGRAMS), 0
    for counts in blocks:
        stop = start + len(counts.indptr) - 1
        times = np.repeat(columns[start:stop], np.diff(counts.indptr))
        holders += np.bincount(counts.indices, times, minlength=_TRIGRAMS)
        start = stop
    rarity: Float32[np.ndarray, " trigram"] = np.log(
        np.float32(columns.sum() + 1) / (holders.astype(np.float32) + 1)
    )
    return rarity + 1


def _project(
    counts: sparse.csr_array, rarity: Float32[np.ndarray, " trigram"], width: int
) -> Float32[np.ndarray, "column width"]:
    """Weigh the counts of each column by TF-IDF, and project them to a unit vector."""
    data = (np.log(counts.data) + 1) * rarity[counts.indices]
    weighted = sparse.csr_array((data, counts.indices, counts.indptr), shape=counts.shape)
    projected: Float32[np.ndarray, "column width"] = (
        scale_rows(weighted) @ _projection(width)
    ).toarray()
    lengths = np.sqrt(np.einsum("ij,ij->i", projected, projected))
    projected /= np.where(lengths > 0, lengths, 1)[:, None]
    return projected


def _round(vectors: Float32[np.ndarray, "column width"]) -> Int16[np.ndarray, "column width"]:
    """Scale each vector so that its greatest number becomes ±32,767, and round it to integers.

    Integers take half of the memory of single precision and change cosines by less than 0.00001,
    where the projection changes them by 0.03. Processors convert integers faster than half
    precision.
    """
    greatest = np.abs(vectors).max(axis=1, keepdims=True)
    return np.rint(vectors * (32_767 / np.where(greatest > 0, greatest, 1))).astype(np.int16)


def _inverse_lengths(codes: Int16[np.ndarray, "column width"]) -> Float32[np.ndarray, " column"]:
    """Return 1 / length of each vector; 0 for a vector of zeros."""
    lengths = np.sqrt(np.einsum("ij,ij->i", codes, codes, dtype=np.float64))
    return (1 / np.where(lengths > 0, lengths, np.inf)).astype(np.float32)


def _count(samples: Sequence[Sequence[str]]) -> Iterator[_Counts]:
    for start in range(0, max(len(samples), 1), _SAMPLES):
        texts = [*map(" ".join, samples[start : start + _SAMPLES])]
        yield from map(_Counts.of, count_trigrams(texts, _TRIGRAMS))


class CellSimilarity:
    """The similarity of columns, measured by the trigrams of their cells.

    Args:
        samples: Some cells of each column, as written; letter case and accents are ignored.

    >>> similarity = CellSimilarity([["Zürich", "Basel"], ["basel (CH)", "zurich (CH)"], ["7"]])
    >>> cosines = similarity.between(np.array([[0]]), np.array([[0, 1, 2]]))[0, 0]
    >>> [round(float(cosine), 1) for cosine in cosines]
    [1.0, 0.6, 0.0]
    """

    def __init__(self, samples: Sequence[Sequence[str]]) -> None:
        distinct, number = number_distinct(map(PackedTexts.of, samples))
        stored = number.astype(np.int32)
        blocks = [*_count(distinct)]
        rarity = _rarity(blocks, np.bincount(stored, minlength=len(distinct)))
        width = _PROJECTION["n_components"] // (2 if len(samples) > _MANY else 1)
        codes = np.empty((len(distinct), width), dtype=np.int16)
        filled = 0
        # The sparse products of all samples at once would take three times the memory of the
        # vectors.
        while blocks:
            counts = blocks.pop(0).unpack()
            rows = counts.shape[0]
            codes[filled : filled + rows] = _round(_project(counts, rarity, width))
            filled += rows
        self._inverse_lengths = _inverse_lengths(codes)
        self.vectors = StoredVectors(codes, self._inverse_lengths, stored)
        """Unit vectors; zeros for a column without cells."""

    def between(
        self, left: Int[np.ndarray, "query l"], right: Int[np.ndarray, "query r"]
    ) -> Float32[np.ndarray, "query l r"]:
        """For each query, compare the cells of each left column with those of every right column.

        Row *i* of `left` and row *i* of `right` hold the columns of one query.

        Returns:
            Cosines in [0, 1]; 0 for a column without cells.
        """
        step = max(_AT_ONCE // max(left.shape[1] + right.shape[1], 1), 1)
        cosines = [
            self._of(left[start : start + step])
            @ self._of(right[start : start + step]).swapaxes(1, 2)
            for start in range(0, max(len(left), 1), step)
        ]
        scale = self._scale(left)[:, :, None] * self._scale(right)[:, None, :]
        return np.clip(np.concatenate(cosines) * scale, 0.0, 1.0)

    def _of(self, columns: Int[np.ndarray, "*shape"]) -> Float32[np.ndarray, "*shape width"]:
        return self.vectors.numbers[self.vectors.stored[columns]].astype(np.float32)

    def _scale(self, columns: Int[np.ndarray, "*shape"]) -> Float32[np.ndarray, "*shape"]:
        return self._inverse_lengths[self.vectors.stored[columns]]
