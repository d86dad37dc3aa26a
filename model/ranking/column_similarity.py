"""Measure how similar each column is to the columns of accepted and rejected pairs."""

import numpy as np
from jaxtyping import Float32, Int
from scipy import sparse

from datahub_hyperjoin.model.hypergraph.lake_index import LakeIndex
from datahub_hyperjoin.model.ranking.nearest import NO_CANDIDATE
from datahub_hyperjoin.model.ranking.pair_scoring import PairScorer
from datahub_hyperjoin.model.signals.sparse_rows import scale_rows

_CHUNK = 128
"""Number of columns that are compared, or whose candidates are scored, at once."""


class ColumnSimilarity:
    """The similarities, from 0 to 1, between all columns of the lake and some chosen columns.

    Two columns are similar if their names and cells are similar, or if they probably join with
    the same columns. For a text column and a column of another type, only the joins count.

    Args:
        joined: Probability that two columns join, for the pairs where it is known.
    """

    def __init__(
        self, index: LakeIndex, joined: sparse.csr_array, others: Int[np.ndarray, " other"]
    ) -> None:
        # Squares, so that many weak joins do not outweigh a strong one.
        squares = joined.multiply(joined).tocsr()
        partners = scale_rows(squares)
        blocks = [
            _compare(
                index, partners, np.arange(start, min(start + _CHUNK, len(index.lake))), others
            )
            for start in range(0, len(index.lake), _CHUNK)
        ]
        self._similarity: Float32[np.ndarray, "column other"] = np.vstack(blocks)
        self._similarity[others, np.arange(len(others))] = 1.0

    def of(self, columns: Int[np.ndarray, "*shape"]) -> Float32[np.ndarray, "*shape other"]:
        """Return the similarity of each given column to each column in `others`."""
        return self._similarity[columns]


def _compare(
    index: LakeIndex,
    partners: sparse.csr_array,
    columns: Int[np.ndarray, " column"],
    others: Int[np.ndarray, " other"],
) -> Float32[np.ndarray, "column other"]:
    text, other_text = index.lake.is_text[columns][:, None], index.lake.is_text[others][None]
    names = index.names.between(columns, others)
    cells = index.cells.between(columns[None], others[None])[0]
    # Cells of numbers share digits by chance.
    by_spelling = (text == other_text) * (names + text * cells) / 2
    by_partners = (partners[columns] @ partners[others].T).toarray()
    return np.maximum(by_spelling, by_partners).astype(np.float32)


def score_candidates(
    scorer: PairScorer,
    columns: int,
    keys: Int[np.ndarray, " key"],
    candidates: Int[np.ndarray, "key candidate"],
) -> sparse.csr_array:
    """Compute the probability that each key column joins with each of its candidates.

    Returns:
        A symmetric matrix of the columns, with 1 on the diagonal.
    """
    scores = np.zeros(candidates.shape)
    for start in range(0, len(keys), _CHUNK):
        some = slice(start, start + _CHUNK)
        scores[some] = scorer.score(keys[some, None], candidates[some])[:, 0]
    rows, positions = np.nonzero(candidates != NO_CANDIDATE)
    values = scorer.to_probability(np.clip(scores[rows, positions], 0.0, 1.0))
    ends = (keys[rows], candidates[rows, positions])
    one_way = sparse.csr_array((values, ends), (columns, columns))
    both_ways = one_way.maximum(one_way.T)
    return both_ways.maximum(sparse.eye_array(columns)).tocsr()
