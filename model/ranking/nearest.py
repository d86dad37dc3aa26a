"""The nearest columns of every query at once, by FAISS."""

import faiss
import numpy as np
from jaxtyping import Float32, Int

from datahub_hyperjoin.errors import DimensionMismatchError, EmptyIndexError

NO_CANDIDATE = -1
"""Fills the places of a query that has fewer candidates than asked for."""


class ColumnIndex:
    """Columns by cosine, exact.

    A column of the query's own table is never a candidate.

    Args:
        embeddings: Unit vectors, one a column.
        tables: Each column's table.
    """

    def __init__(
        self,
        embeddings: Float32[np.ndarray, "column width"],
        tables: Int[np.ndarray, " column"],
    ) -> None:
        if not len(embeddings):
            raise EmptyIndexError.without_columns()
        self._tables = tables
        self._index = faiss.IndexFlatIP(embeddings.shape[1])
        self._index.add(np.ascontiguousarray(embeddings, dtype=np.float32))

    def search(
        self,
        queries: Float32[np.ndarray, "query width"],
        tables: Int[np.ndarray, " query"],
        count: int,
    ) -> Int[np.ndarray, "query candidate"]:
        """The nearest columns of other tables, nearest first.

        Args:
            queries: Unit vectors.
            tables: Each query's table.
            count: Candidates for each query.

        Returns:
            Columns; `NO_CANDIDATE` where other tables have fewer than `count`.

        Raises:
            DimensionMismatchError: Queries are of another width.
        """
        if queries.shape[1] != self._index.d:
            raise DimensionMismatchError.from_sizes(index=self._index.d, queries=queries.shape[1])
        found = np.full((len(queries), count), NO_CANDIDATE, dtype=np.int64)
        waiting = np.arange(len(queries))
        width = count
        while len(waiting):
            # A wide table crowds its own columns into the answer: ask those queries for more.
            width = min(2 * width, self._index.ntotal)
            _, near = self._index.search(queries[waiting], width)
            other = self._tables[near] != tables[waiting][:, None]
            order = np.argsort(~other, axis=1, kind="stable")[:, :count]
            picked = np.take_along_axis(near, order, axis=1)
            valid = np.take_along_axis(other, order, axis=1)
            found[waiting, : picked.shape[1]] = np.where(valid, picked, NO_CANDIDATE)
            enough = other.sum(axis=1) >= count
            waiting = waiting[~enough] if width < self._index.ntotal else waiting[:0]
        return found
