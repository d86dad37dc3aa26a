"""Find the nearest embeddings with FAISS."""

from collections.abc import Callable

import faiss
import numpy as np
from jaxtyping import Bool, Float32, Int, Int32

from datahub_hyperjoin.model.errors import DimensionMismatchError, EmptyIndexError

Candidates = Int32[np.ndarray, "query candidate"]
"""Column indices; `NO_CANDIDATE` fills the remaining positions. The integers have only 32 bits,
because a large lake has hundreds of candidates for each of its key columns."""

NO_CANDIDATE = -1
"""Fills the remaining positions of a query that has too few candidates."""

_QUERIES = 4096
"""Number of queries that are searched at once, to bound memory. FAISS itself works in blocks of
this size, so smaller blocks would only cost time."""


class ColumnIndex:
    """An exact index of embeddings, searched by cosine similarity.

    It refers to the embeddings and copies none.

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
        self._embeddings = np.ascontiguousarray(embeddings, dtype=np.float32)

    def search(
        self,
        queries: Float32[np.ndarray, "query width"],
        tables: Int[np.ndarray, " query"],
        count: int,
    ) -> Candidates:
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
        width = self._embeddings.shape[1]
        if queries.shape[1] != width:
            raise DimensionMismatchError.from_sizes(index=width, queries=queries.shape[1])
        return self._search(lambda some: queries[some], tables, count)

    def neighbours(self, columns: Int[np.ndarray, " query"], count: int) -> Candidates:
        """For each given column of the index, return the nearest columns of other tables.

        It reads the vectors of a few thousand columns at a time, where `search` needs all of them.

        Args:
            columns: Positions in the index.
            count: Number of columns to return for each of them.
        """
        return self._search(
            lambda some: self._embeddings[columns[some]], self._tables[columns], count
        )

    def _search(
        self,
        vectors: Callable[[Int[np.ndarray, " some"]], Float32[np.ndarray, "some width"]],
        tables: Int[np.ndarray, " query"],
        count: int,
    ) -> Candidates:
        nearest = np.full((len(tables), count), NO_CANDIDATE, dtype=np.int32)
        pending, total = np.arange(len(tables)), len(self._embeddings)
        width = count
        while len(pending):
            # Columns of a wide table fill the result of their own queries: search wider for them.
            width = min(2 * width, total)
            enough = np.ones(len(pending), dtype=bool)
            for start in range(0, len(pending), _QUERIES):
                part = slice(start, start + _QUERIES)
                some = pending[part]
                _, near = faiss.knn(
                    vectors(some), self._embeddings, width, metric=faiss.METRIC_INNER_PRODUCT
                )
                nearest[some], enough[part] = self._apart(near, tables[some], count)
            pending = pending[~enough] if width < total else pending[:0]
        return nearest

    def _apart(
        self, near: Int[np.ndarray, "query width"], tables: Int[np.ndarray, " query"], count: int
    ) -> tuple[Candidates, Bool[np.ndarray, " query"]]:
        """Select the first `count` columns of other tables; mark queries with at least `count`."""
        apart = self._tables[near] != tables[:, None]
        order = np.argsort(~apart, axis=1, kind="stable")[:, :count]
        found = np.full((len(near), count), NO_CANDIDATE, dtype=np.int32)
        found[:, : order.shape[1]] = np.where(
            np.take_along_axis(apart, order, axis=1),
            np.take_along_axis(near, order, axis=1),
            NO_CANDIDATE,
        )
        return found, apart.sum(axis=1) >= count
