"""Find the nearest embeddings with FAISS."""

import faiss
import numpy as np
from jaxtyping import Float32, Int

from datahub_hyperjoin.model.errors import DimensionMismatchError, EmptyIndexError

NO_CANDIDATE = -1
"""Fills the remaining positions of a query that has too few candidates."""


class ColumnIndex:
    """An exact index of embeddings, searched by cosine similarity.

    A search skips the columns of the query's own table.

    Args:
        embeddings: One unit vector for each column.
        tables: The table of each column.
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
        """For each query, return the nearest columns of other tables.

        Args:
            queries: One unit vector for each query.
            tables: The table of each query.
            count: Number of columns to return for each query.

        Returns:
            Column indices; `NO_CANDIDATE` where other tables have fewer than `count` columns.

        Raises:
            DimensionMismatchError: The queries have another width than the index.
        """
        if queries.shape[1] != self._index.d:
            raise DimensionMismatchError.from_sizes(index=self._index.d, queries=queries.shape[1])
        nearest = np.full((len(queries), count), NO_CANDIDATE, dtype=np.int64)
        pending = np.arange(len(queries))
        width = count
        while len(pending):
            # Columns of a wide table fill the result of their own queries: search wider for them.
            width = min(2 * width, self._index.ntotal)
            _, near = self._index.search(queries[pending], width)
            apart = self._tables[near] != tables[pending][:, None]
            order = np.argsort(~apart, axis=1, kind="stable")[:, :count]
            columns = np.take_along_axis(near, order, axis=1)
            valid = np.take_along_axis(apart, order, axis=1)
            nearest[pending, : columns.shape[1]] = np.where(valid, columns, NO_CANDIDATE)
            enough = apart.sum(axis=1) >= count
            pending = pending[~enough] if width < self._index.ntotal else pending[:0]
        return nearest
