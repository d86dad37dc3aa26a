r"""How alike columns are by several measures, and which are nearest by each: OmniMatch's graph.

OmniMatch (Koutras et al., VLDB 2025) joins each column by an edge with the three columns of other
tables that are most like it, measure by measure, without any threshold. The measures compare

- distinct values, by the Jaccard coefficient and by containment in both directions;
- the rarest token of each value, by the Jaccard coefficient;
- the most frequent token of each value, by the cosine of the mean of their words' vectors;
- all tokens with their shares p and q of a column, by the Jensen-Shannon divergence,

$$1 - JS = \frac{1}{2} \sum_t p_t \log_2 \frac{p_t + q_t}{p_t} + q_t \log_2 \frac{p_t + q_t}{q_t}$$

over the tokens t that both have. Values are in lower case and without a trailing `.0`.

Columns that are not alike at all are no neighbours, where the authors take any. Their divergence
has natural logarithms, which changes no order. Words' vectors are others
(`datahub_hyperjoin.evaluate.rivals.words`).
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Float32
from scipy import sparse

from datahub_hyperjoin.evaluate.rivals.cells import Cells
from datahub_hyperjoin.evaluate.rivals.overlap import incidence, occurrences
from datahub_hyperjoin.evaluate.rivals.words import word_vectors

MEASURES = 6
"""How many measures there are, each direction of containment counted."""

Likeness = Float[np.ndarray, "row column"]
"""How alike some columns are to all, by one measure."""

_NEIGHBOURS = 3
_AT_ONCE = 512
_NO_TOKEN = re.compile(r"[\W_]+")


def neighbours(lake: Sequence[Cells]) -> list[sparse.csr_array]:
    """Finds the columns of other tables that are most like each.

    Args:
        lake: The columns.

    Returns:
        One matrix a measure: in each row, the same share of 1 for every neighbour.
    """
    tables = np.unique([cells.name.table for cells in lake], return_inverse=True)[1]
    texts = _read(lake)
    found: list[list[sparse.csr_array]] = [[] for _ in range(MEASURES)]
    for start in range(0, len(lake), _AT_ONCE):
        part = slice(start, start + _AT_ONCE)
        own = tables[part, None] == tables
        for rows, likeness in zip(found, _measure(texts, part), strict=True):
            rows.append(_nearest(np.where(own, 0, likeness)))
    return [sparse.vstack(rows, format="csr") for rows in found]


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
    found: Counter[str] = Counter()
    for value, tokens in split.items():
        for token in tokens:
            found[token] += counts[value]
    return found


def _choose(
    best: Callable[..., str],
    split: Sequence[Mapping[str, Sequence[str]]],
    tokens: Sequence[Mapping[str, int]],
) -> list[list[str]]:
    """One token of each value, the rarest or the most frequent of its column."""
    return [
        sorted({best(part, key=counts.__getitem__) for part in parts.values() if part})
        for parts, counts in zip(split, tokens, strict=True)
    ]


def _meanings(columns: Sequence[Sequence[str]]) -> Float32[np.ndarray, "column width"]:
    """Unit vectors; zeros for a column without words."""
    words, holds = incidence(columns)
    sums = holds @ word_vectors(words) if words else np.zeros((len(columns), 1))
    lengths = np.linalg.norm(sums, axis=1, keepdims=True)
    return (sums / np.maximum(lengths, 1e-12)).astype(np.float32)


def _measure(texts: _Texts, part: slice) -> Iterator[Likeness]:
    common, sizes = _common(texts.values, part)
    yield _jaccard(common, sizes, part)
    yield common / np.maximum(sizes[part, None], 1)
    yield common / np.maximum(sizes, 1)
    yield _jaccard(*_common(texts.rarest, part), part)
    yield texts.meanings[part] @ texts.meanings.T
    yield alike_shares(texts.shares, part)


def _common(holds: sparse.csr_array, part: slice) -> tuple[Likeness, Float[np.ndarray, " column"]]:
    return (holds[part] @ holds.T).toarray(), np.diff(holds.indptr).astype(np.float64)


def _jaccard(common: Likeness, sizes: Float[np.ndarray, " column"], part: slice) -> Likeness:
    return common / np.maximum(sizes[part, None] + sizes - common, 1)


def alike_shares(shares: sparse.csr_array, part: slice) -> Likeness:
    """Compares columns by the shares that their tokens have.

    Args:
        shares: One row a column, which sums to 1 unless it is empty.
        part: Which columns are compared with all.

    Returns:
        1 for the same shares, 0 for columns without a common token.
    """
    by_token = shares.tocsc()
    columns = shares.shape[0]
    rows = []
    for place in range(columns)[part]:
        own = slice(shares.indptr[place], shares.indptr[place + 1])
        having = by_token[:, shares.indices[own]]
        q = having.data
        p = np.repeat(shares.data[own], np.diff(having.indptr))
        both = p * np.log2((p + q) / p) + q * np.log2((p + q) / q)
        rows.append(np.bincount(having.indices, weights=both / 2, minlength=columns))
    return np.stack(rows)


def _nearest(likeness: Likeness) -> sparse.csr_array:
    """Of equally like columns, those that come first in the lake."""
    rows = np.arange(len(likeness))
    left = likeness.copy()
    places, alike = [], []
    for _ in range(_NEIGHBOURS):
        places.append(left.argmax(axis=1))
        alike.append(left[rows, places[-1]] > 0)
        left[rows, places[-1]] = 0
    kept, found = np.stack(places, axis=1), np.stack(alike, axis=1)
    weights = found / np.maximum(found.sum(axis=1, keepdims=True), 1)
    return sparse.csr_array((weights[found], (np.nonzero(found)[0], kept[found])), likeness.shape)
