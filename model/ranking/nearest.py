"""Find the nearest embeddings: exactly, on a GPU, or in lists of similar ones."""

from collections.abc import Iterator
from functools import cached_property
from importlib.util import find_spec
from typing import TYPE_CHECKING

import faiss
import numpy as np
from jaxtyping import Bool, Float32, Int, Int32
from numpy.lib.stride_tricks import sliding_window_view

from datahub_hyperjoin.model.errors import EmptyIndexError
from datahub_hyperjoin.model.signals.cells import StoredVectors
from datahub_hyperjoin.model.signals.pairs import ColumnInts, Partition, chunks, concatenate_ranges

if TYPE_CHECKING:
    import torch

_Queries = Float32[np.ndarray, "query width"]
_Nearest = Int[np.ndarray, "query count"]
_QueryInts = Int[np.ndarray, " query"]
_Entries = Int[np.ndarray, " entry"]

_LISTS = 4
"""Number of lists, as a multiple of the square root of the number of vectors."""
_SPARE = 4
"""Number of vectors to compare with, at least, for each one to find."""

_SAMPLE = 32
"""Number of vectors for each list from which the centres of the lists are computed."""
_ROUNDS = 8
"""Number of rounds in which the centres are improved."""

_VECTORS = 1 << 16
"""Number of vectors that are compared with the centres at once, which bounds memory."""
_COSINES = 1 << 26
"""Number of cosines that are kept at once, which bounds memory."""
_BLOCK = 64
"""Greatest number of cosines of which only the maximum is compared at first."""


class InvertedFile:
    """Vectors in lists of similar ones, of which a search reads those nearest to the query."""

    # The time of a search grows with the square root of the number of vectors (Sivic and Zisserman,
    # 2003). Queries that read the same list are compared with it in one matrix product, so searches
    # are faster if queries of the same list follow each other.

    def __init__(self, vectors: StoredVectors, compared: int) -> None:
        root = len(vectors) ** 0.5
        self._vectors = vectors
        self._compared = round(compared * root)
        self._centres = _find_centres(vectors, round(_LISTS * root))
        self.list_of = _nearest_centre(vectors, self._centres)
        """The list of each vector."""
        self._lists = Partition.of(self.list_of, len(self._centres))

    def search(self, queries: _Queries, count: int) -> _Nearest:
        """For each query, return the nearest vectors of the lists that are nearest to it."""
        least = max(self._compared, _SPARE * count)
        some = chunks(len(queries), max(_COSINES // least, 1))
        return np.concatenate([self._search(queries[part], least, count) for part in some])

    def _search(self, queries: _Queries, least: int, count: int) -> _Nearest:
        query, of_list, before = self._choose_lists(queries, least)
        width = int((before + self._lists.sizes[of_list]).max())
        cosines = np.full((len(queries), width), -np.inf, dtype=np.float32)
        place = query * width + before  # of the first vector of a list, in all rows together
        for some in _grouped(of_list):
            start, stop = self._lists.starts[of_list[some[0]] :][:2]
            near = self._vectors.at(self._lists.members[start:stop])
            rows = sliding_window_view(cosines.ravel(), len(near), writeable=True)
            rows[place[some]] = queries[query[some]] @ near.T
        at = np.flatnonzero(cosines >= _lower_bounds(cosines, count)[:, None])
        # Each place is in the last of the lists that start at or before it.
        entry = np.searchsorted(place, at, side="right") - 1
        vector = self._lists.members[self._lists.starts[of_list[entry]] + at - place[entry]]
        order = np.lexsort((vector, -cosines.ravel()[at], at // width))
        first = np.searchsorted(at, np.arange(len(queries)) * width)
        return vector[order[first[:, None] + np.arange(count)]]

    def _choose_lists(self, queries: _Queries, least: int) -> tuple[_Entries, _Entries, _Entries]:
        """For each query, choose the nearest lists that have at least `least` vectors together."""
        order = np.argsort(-(queries @ self._centres.T), axis=1)
        sizes = self._lists.sizes[order]
        before = np.cumsum(sizes, axis=1) - sizes
        query, rank = np.nonzero((before < least) & (sizes > 0))
        return query, order[query, rank], before[query, rank]


def _find_centres(vectors: StoredVectors, lists: int) -> Float32[np.ndarray, "list width"]:
    """Compute the centres of lists by k-means on a sample of the vectors."""
    # Fixed seeds, so that a second run finds the same candidates.
    random = np.random.default_rng(0)
    size = min(len(vectors), _SAMPLE * lists)
    sample = vectors.at(np.sort(random.choice(len(vectors), size, replace=False)))
    means = faiss.Kmeans(
        vectors.width,
        lists,
        niter=_ROUNDS,
        seed=0,
        spherical=True,
        min_points_per_centroid=1,
        max_points_per_centroid=_SAMPLE,
    )
    means.train(sample)
    return np.asarray(means.centroids)


def _nearest_centre(
    vectors: StoredVectors, centres: Float32[np.ndarray, "list width"]
) -> Int[np.ndarray, " vector"]:
    nearest = np.empty(len(vectors), dtype=np.int64)
    for some in chunks(len(vectors), _VECTORS):
        _, found = faiss.knn(vectors.at(some), centres, 1, metric=faiss.METRIC_INNER_PRODUCT)
        nearest[some] = found[:, 0]
    return nearest


def _lower_bounds(cosines: _Queries, count: int) -> Float32[np.ndarray, " query"]:
    """For each query, return a bound that at least `count` of its cosines reach, and few more."""
    # Infinite cosines, which only fill the rows, never reach it.
    block = max(min(cosines.shape[1] // (_SPARE * count), _BLOCK), 1)
    blocks = cosines.shape[1] // block
    # Each maximum is a cosine, so the smallest of the `count` greatest maxima is such a bound. The
    # vectors of one list, many of which may be near, are in different blocks.
    maxima = cosines[:, : blocks * block].reshape(len(cosines), block, blocks).max(axis=1)
    bounds: Float32[np.ndarray, " query"]
    bounds = np.partition(maxima, blocks - count, axis=1)[:, blocks - count]
    return np.maximum(bounds, np.finfo(np.float32).min)


def _grouped(of_list: _Entries) -> Iterator[Int[np.ndarray, " some"]]:
    """Yield the positions of the entries of each list."""
    order = np.argsort(of_list, kind="stable")
    bounds = np.flatnonzero(np.diff(of_list[order])) + 1
    yield from np.split(order, bounds)


_AT_ONCE = 1 << 28
"""Number of cosines that are kept at once, which bounds memory."""
_SPARE_BYTES = 3 * 4 * _AT_ONCE
"""Memory that a search needs besides the vectors: the cosines, and what sorting them takes."""


class GpuVectors:
    """Vectors in the memory of a device, all of which are compared with each query."""

    def __init__(self, vectors: StoredVectors, device: "torch.device") -> None:
        import torch  # noqa: PLC0415 (takes seconds, and most lakes are too small to need it)

        self._vectors = torch.empty((len(vectors), vectors.width), device=device)
        for some in chunks(len(vectors), _VECTORS):
            self._vectors[some] = torch.from_numpy(vectors.at(some)).to(device)

    def search(self, queries: _Queries, count: int) -> _Nearest:
        """For each query, return the nearest vectors."""
        import torch  # noqa: PLC0415

        step = max(_AT_ONCE // len(self._vectors), 1)
        parts = torch.from_numpy(queries).to(self._vectors.device).split(step)
        near = [(part @ self._vectors.T).topk(count).indices for part in parts]
        return torch.cat(near).cpu().numpy()


def find_gpu(vectors: StoredVectors) -> "torch.device | None":
    """Return the GPU if it has enough free memory to search the vectors; otherwise None."""
    if find_spec("torch") is None:
        return None
    import torch  # noqa: PLC0415

    if not torch.cuda.is_available():
        return None
    free, _ = torch.cuda.mem_get_info()
    # What earlier searches have left with PyTorch is free, too.
    free += torch.cuda.memory_reserved() - torch.cuda.memory_allocated()
    taken = len(vectors) * vectors.width * torch.float32.itemsize
    return torch.device("cuda") if taken + _SPARE_BYTES <= free else None


Candidates = Int32[np.ndarray, "query candidate"]
"""Column indices, one row per query. `NO_CANDIDATE` fills the end of rows with too few candidates.
The integers have only 32 bits, because a large lake has hundreds of candidates for each of its key
columns."""

KeyCandidates = Int[np.ndarray, "key candidate"]
"""Candidates of each key column; `NO_CANDIDATE` fills the remaining positions."""

NO_CANDIDATE = -1
"""Fills the remaining positions of a query that has too few candidates."""

_QUERIES = 4096
"""Number of queries that are searched at once, to bound memory. FAISS itself works in blocks of
this size, so smaller blocks would only cost time."""

_COMPARED = 128
"""Number of vectors that an approximate search compares each query with, as a multiple of the
square root of their number."""
COMPARED_CELLS = 64
"""The same for the vectors of cells. They have more dimensions than those of names, and their
neighbours are found among fewer vectors."""
_PARTS = 4
"""An approximate search compares each query with at most one of so many equal parts of the vectors.
If it compared more, it would hardly be faster than an exact search, since it groups them first."""

_MANY = 1 << 16
"""Number of distinct vectors above which a GPU is looked for. PyTorch takes seconds to import, in
which a processor searches a small lake."""

_MOST_DISTINCT = 0.8
"""Maximum share of distinct vectors for which equal vectors are compared once. Above it, this saves
little time."""


def most_exact(compared: int) -> int:
    """Return the number of distinct vectors up to which a processor searches exactly.

    >>> most_exact(64)
    65536
    """
    return (_PARTS * compared) ** 2


class _Distinct:
    """The distinct vectors of a lake, each with all columns that have this vector."""

    # Names and codes repeat in large lakes, so comparing each vector once saves most of the work.

    def __init__(self, embeddings: StoredVectors, compared: int) -> None:
        rows, stored = embeddings.numbers, embeddings.stored
        hashes = np.fromiter((hash(row.tobytes()) for row in rows), np.int64, len(rows))
        _, first, of_column = np.unique(hashes[stored], return_index=True, return_inverse=True)
        if len(first) > _MOST_DISTINCT * len(stored):
            first = of_column = np.arange(len(stored))
        # In the order of their first columns, because hashes differ between processes.
        order = np.argsort(first)
        self.of_column = np.argsort(order)[of_column]
        """The distinct vector of each column."""
        self.vectors = embeddings.select(first[order])
        """The distinct vectors."""
        self._columns = Partition.of(self.of_column, len(first))
        self._gpu = find_gpu(self.vectors) if len(first) > _MANY else None
        self._compared = compared
        self.is_exact = self._gpu is not None or len(first) <= most_exact(compared)
        """Whether each query is compared with all vectors."""

    @cached_property
    def _whole(self) -> Float32[np.ndarray, "distinct width"]:
        return self.vectors.as_array()

    @cached_property
    def _on_gpu(self) -> GpuVectors | None:
        return None if self._gpu is None else GpuVectors(self.vectors, self._gpu)

    @cached_property
    def _inverted_file(self) -> InvertedFile:
        return InvertedFile(self.vectors, self._compared)

    @property
    def group_of(self) -> Int[np.ndarray, " distinct"]:
        """For each distinct vector, a number; searches are faster in the order of these numbers."""
        return np.arange(len(self.vectors)) if self.is_exact else self._inverted_file.list_of

    def search(self, queries: _Queries, count: int) -> _Nearest:
        """For each query, return the `count` nearest columns."""
        most = min(count, len(self.vectors))
        if self._on_gpu:
            near = self._on_gpu.search(queries, most)
        elif self.is_exact:
            _, near = faiss.knn(queries, self._whole, most, metric=faiss.METRIC_INNER_PRODUCT)
        else:
            near = self._inverted_file.search(queries, most)
        sizes = self._columns.sizes[near]
        before = np.cumsum(sizes, axis=1) - sizes
        taken = np.clip(count - before, 0, sizes).ravel()
        starts = self._columns.starts[near].ravel()
        columns = self._columns.members[concatenate_ranges(starts, taken)]
        return columns.reshape(len(queries), count)


class ColumnIndex:
    """An index of embeddings, searched by cosine similarity."""

    def __init__(
        self, embeddings: StoredVectors, tables: ColumnInts, compared: int = _COMPARED
    ) -> None:
        if not len(embeddings):
            raise EmptyIndexError.without_columns()
        self._tables = tables
        self._distinct = _Distinct(embeddings, compared)

    @property
    def is_exact(self) -> bool:
        """Whether a search compares each query with all embeddings."""
        return self._distinct.is_exact

    def search(self, queries: _Queries, tables: _QueryInts, count: int) -> Candidates:
        """For each query, return the nearest columns of other tables."""
        every = np.arange(len(queries))
        return self._search(StoredVectors.of(queries), every, every, tables, count)

    def neighbours(self, columns: _QueryInts, count: int) -> Candidates:
        """For each given column of the index, return the nearest columns of other tables."""
        asked = self._distinct.of_column[columns]
        order = np.argsort(self._distinct.group_of[asked], kind="stable")
        return self._search(self._distinct.vectors, asked, order, self._tables[columns], count)

    def _search(
        self,
        vectors: StoredVectors,
        asked: _QueryInts,
        pending: _QueryInts,
        tables: _QueryInts,
        count: int,
    ) -> Candidates:
        """For each query, find the nearest columns of other tables."""
        nearest = np.full((len(tables), count), NO_CANDIDATE, dtype=np.int32)
        total = len(self._tables)
        width = count
        while len(pending):
            # Columns of a wide table fill the result of their own queries: search wider for them.
            width = min(2 * width, total)
            enough = np.ones(len(pending), dtype=bool)
            for part in chunks(len(pending), _QUERIES):
                some = pending[part]
                chosen, row = np.unique(asked[some], return_inverse=True)
                near = self._distinct.search(vectors.at(chosen), width)[row]
                nearest[some], enough[part] = self._apart(near, tables[some], count)
            pending = pending[~enough] if width < total else pending[:0]
        return nearest

    def _apart(
        self, near: Int[np.ndarray, "query width"], tables: _QueryInts, count: int
    ) -> tuple[Candidates, Bool[np.ndarray, " query"]]:
        """For each query, keep the first `count` columns of other tables."""
        apart = self._tables[near] != tables[:, None]
        order = np.argsort(~apart, axis=1, kind="stable")[:, :count]
        found = np.full((len(near), count), NO_CANDIDATE, dtype=np.int32)
        found[:, : order.shape[1]] = np.where(
            np.take_along_axis(apart, order, axis=1),
            np.take_along_axis(near, order, axis=1),
            NO_CANDIDATE,
        )
        return found, apart.sum(axis=1) >= count
