r"""Find the nearest columns by each of six measures: the edges of OmniMatch's graph.

OmniMatch (Koutras et al., VLDB 2025) connects each column with the three most similar columns of
other tables, separately for each measure and without a threshold. The measures compare

- distinct values, by the Jaccard coefficient and by containment in both directions;
- the rarest token of each value, by the Jaccard coefficient;
- the most frequent token of each value, by the cosine of the mean of their words' vectors;
- all tokens with their shares p and q of a column, by the Jensen-Shannon divergence,

$$1 - JS = \frac{1}{2} \sum_t p_t \log_2 \frac{p_t + q_t}{p_t} + q_t \log_2 \frac{p_t + q_t}{q_t}$$

over the tokens t that both have. Values are in lower case and without a trailing `.0`.

Columns with similarity 0 are not connected, while the authors connect any three. Their divergence
uses natural logarithms, which does not change the order. Word vectors differ from the authors'
(`benchmarks.rivals.words`).
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Float32
from scipy import sparse

from benchmarks.rivals.cells import Cells
from benchmarks.rivals.overlap import incidence, occurrences
from benchmarks.rivals.words import word_vectors

MEASURES = 6
"""Number of measures; the two directions of containment are two measures."""

Similarity = Float[np.ndarray, "row column"]
"""Similarity of some columns to all columns, by one measure."""

_NEIGHBOURS = 3
_AT_ONCE = 512
_NO_TOKEN = re.compile(r"[\W_]+")


def neighbours(lake: Sequence[Cells]) -> list[sparse.csr_array]:
    """Find the most similar columns in other tables for each column, by each measure.

    Returns:
        One matrix per measure; the neighbours in a row have equal weights that sum to 1.
    """
    tables = np.unique([cells.name.table for cells in lake], return_inverse=True)[1]
    texts = _read(lake)
    blocks: list[list[sparse.csr_array]] = [[] for _ in range(MEASURES)]
    for start in range(0, len(lake), _AT_ONCE):
        part = slice(start, start + _AT_ONCE)
        own = tables[part, None] == tables
        for rows, similarity in zip(blocks, _measure(texts, part), strict=True):
            rows.append(_nearest(np.where(own, 0, similarity)))
    return [sparse.vstack(rows, format="csr") for rows in blocks]


@dataclass(frozen=True, eq=False)
class _Texts:
    values: sparse.csr_array
    rarest: sparse.csr_array
    meanings: Float32[np.ndarray, "column width"]
    shares: sparse.csr_array


def _read(lake: Sequence[Cells]) -> _Texts:
    values = [_clean(cells.counts) for cells in lake]
    split = [{value: _split(value) for value in counts} for counts in values]
    tokens = [_count(counts, parts) for counts, parts in zip(values, split, strict=True)]
    _, occur = occurrences(tokens)
    lengths = np.maximum(occur.sum(axis=1), 1)
    return _Texts(
        incidence(values)[1],
        incidence(_choose(min, split, tokens))[1],
        _meanings(_choose(max, split, tokens)),
        sparse.csr_array(sparse.diags_array(1 / lengths) @ occur),
    )


def _clean(counts: Mapping[str, int]) -> Counter[str]:
    clean: Counter[str] = Counter()
    for value, count in counts.items():
        clean[value.lower().removesuffix(".0")] += count
    return clean


def _split(value: str) -> list[str]:
    return [token for token in _NO_TOKEN.split(value) if token]


def _count(counts: Mapping[str, int], split: Mapping[str, Sequence[str]]) -> Counter[str]:
    frequencies: Counter[str] = Counter()
    for value, tokens in split.items():
        for token in tokens:
            frequencies[token] += counts[value]
    return frequencies


def _choose(
    best: Callable[..., str],
    split: Sequence[Mapping[str, Sequence[str]]],
    tokens: Sequence[Mapping[str, int]],
) -> list[list[str]]:
    """Choose one token of each value, such as the rarest in the column."""
    return [
        sorted({best(part, key=counts.__getitem__) for part in parts.values() if part})
        for parts, counts in zip(split, tokens, strict=True)
    ]


def _meanings(columns: Sequence[Sequence[str]]) -> Float32[np.ndarray, "column width"]:
    """Return the mean word vector of each column, scaled to length 1.

    Columns without words get zeros.
    """
    words, holds = incidence(columns)
    sums = holds @ word_vectors(words) if words else np.zeros((len(columns), 1))
    lengths = np.linalg.norm(sums, axis=1, keepdims=True)
    return (sums / np.maximum(lengths, 1e-12)).astype(np.float32)


def _measure(texts: _Texts, part: slice) -> Iterator[Similarity]:
    common, sizes = _common(texts.values, part)
    yield _jaccard(common, sizes, part)
    yield common / np.maximum(sizes[part, None], 1)
    yield common / np.maximum(sizes, 1)
    yield _jaccard(*_common(texts.rarest, part), part)
    yield texts.meanings[part] @ texts.meanings.T
    yield token_similarity(texts.shares, part)


def _common(
    holds: sparse.csr_array, part: slice
) -> tuple[Similarity, Float[np.ndarray, " column"]]:
    return (holds[part] @ holds.T).toarray(), np.diff(holds.indptr).astype(np.float64)


def _jaccard(common: Similarity, sizes: Float[np.ndarray, " column"], part: slice) -> Similarity:
    return common / np.maximum(sizes[part, None] + sizes - common, 1)


def token_similarity(shares: sparse.csr_array, part: slice) -> Similarity:
    """Compare columns by the Jensen-Shannon divergence of their tokens.

    Only common tokens contribute, so each column is compared with the columns in the index lists
    of its tokens instead of with all columns.

    Args:
        shares: The share of each token, one row per column; a row sums to 1 or is empty.
        part: The columns that are compared with all columns.

    Returns:
        1 for equal shares, 0 for columns without a common token.
    """
    by_token = shares.tocsc()
    columns = shares.shape[0]
    rows = []
    for column in range(columns)[part]:
        own = slice(shares.indptr[column], shares.indptr[column + 1])
        having = by_token[:, shares.indices[own]]
        q = having.data
        p = np.repeat(shares.data[own], np.diff(having.indptr))
        both = p * np.log2((p + q) / p) + q * np.log2((p + q) / q)
        rows.append(np.bincount(having.indices, weights=both / 2, minlength=columns))
    return np.stack(rows)


def _nearest(similarity: Similarity) -> sparse.csr_array:
    """Build a matrix that gives equal weights to the most similar columns in each row.

    Among equally near columns, the first in the lake are taken.

    Three times argmax, which keeps that order, where a partial sort would not.
    """
    rows = np.arange(len(similarity))
    remaining = similarity.copy()
    nearest, positive = [], []
    for _ in range(_NEIGHBOURS):
        nearest.append(remaining.argmax(axis=1))
        positive.append(remaining[rows, nearest[-1]] > 0)
        remaining[rows, nearest[-1]] = 0
    columns, kept = np.stack(nearest, axis=1), np.stack(positive, axis=1)
    weights = kept / np.maximum(kept.sum(axis=1, keepdims=True), 1)
    entries = (weights[kept], (np.nonzero(kept)[0], columns[kept]))
    return sparse.csr_array(entries, similarity.shape)
