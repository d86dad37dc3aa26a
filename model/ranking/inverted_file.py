"""Find the nearest of many vectors without comparing all with all."""

from collections.abc import Iterator

import faiss
import numpy as np
from jaxtyping import Float32, Int
from numpy.lib.stride_tricks import sliding_window_view

from datahub_hyperjoin.model.signals.stored_vectors import StoredVectors

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
_AT_ONCE = 1 << 26
"""Number of cosines that are kept at once, which bounds memory."""
_BLOCK = 64
"""Greatest number of cosines of which only the maximum is compared at first."""


class InvertedFile:
    """Vectors in lists of similar ones, of which a search reads those nearest to the query.

    The time of a search grows with the square root of the number of vectors (Sivic and Zisserman,
    2003). Queries that read the same list are compared with it in one matrix product.

    Args:
        vectors: Unit vectors, 16 or more; they are not copied.
        compared: Number of vectors that each query is compared with, as a multiple of the square
            root of their number.
    """

    def __init__(self, vectors: StoredVectors, compared: int) -> None:
        root = len(vectors) ** 0.5
        self._vectors = vectors
        self._compared = round(compared * root)
        self._centres = _find_centres(vectors, round(_LISTS * root))
        self.list_of = _nearest_centre(vectors, self._centres)
        """The list of each vector."""
        self._members = np.argsort(self.list_of, kind="stable")
        self._sizes = np.bincount(self.list_of, minlength=len(self._centres))
        self._starts = np.cumsum(self._sizes) - self._sizes

    def search(
        self, queries: Float32[np.ndarray, "query width"], count: int
    ) -> Int[np.ndarray, "query count"]:
        """For each query, return the nearest vectors of the lists that are nearest to it.

        Searches are faster if queries of the same list follow each other.

        Args:
            count: Number of vectors to find for each query, at most as many as there are.
        """
        least = max(self._compared, _SPARE * count)
        step = max(_AT_ONCE // least, 1)
        starts = range(0, len(queries), step)
        return np.concatenate(
            [self._search(queries[start : start + step], least, count) for start in starts]
        )

    def _search(
        self, queries: Float32[np.ndarray, "query width"], least: int, count: int
    ) -> Int[np.ndarray, "query count"]:
        query, of_list, before = self._choose_lists(queries, least)
        width = int((before + self._sizes[of_list]).max())
        cosines = np.full((len(queries), width), -np.inf, dtype=np.float32)
        place = query * width + before  # of the first vector of a list, in all rows together
        for some in _grouped(of_list):
            near = self._vectors.at(self._members_of(int(of_list[some[0]])))
            rows = sliding_window_view(cosines.ravel(), len(near), writeable=True)
            rows[place[some]] = queries[query[some]] @ near.T
        at = np.flatnonzero(cosines >= _lower_bounds(cosines, count)[:, None])
        # Each place is in the last of the lists that start at or before it.
        entry = np.searchsorted(place, at, side="right") - 1
        vector = self._members[self._starts[of_list[entry]] + at - place[entry]]
        order = np.lexsort((vector, -cosines.ravel()[at], at // width))
        first = np.searchsorted(at, np.arange(len(queries)) * width)
        return vector[order[first[:, None] + np.arange(count)]]

    def _members_of(self, number: int) -> Int[np.ndarray, " member"]:
        start = self._starts[number]
        return self._members[start : start + self._sizes[number]]

    def _choose_lists(
        self, queries: Float32[np.ndarray, "query width"], least: int
    ) -> tuple[Int[np.ndarray, " entry"], Int[np.ndarray, " entry"], Int[np.ndarray, " entry"]]:
        """For each query, choose the nearest lists that have at least `least` vectors together.

        Returns:
            A query, a list, and the number of vectors in the query's lists before this one; sorted
            by query and this number.
        """
        order = np.argsort(-(queries @ self._centres.T), axis=1)
        sizes = self._sizes[order]
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
    for start in range(0, len(vectors), _VECTORS):
        some = slice(start, start + _VECTORS)
        _, found = faiss.knn(vectors.at(some), centres, 1, metric=faiss.METRIC_INNER_PRODUCT)
        nearest[some] = found[:, 0]
    return nearest


def _lower_bounds(
    cosines: Float32[np.ndarray, "query width"], count: int
) -> Float32[np.ndarray, " query"]:
    """For each query, return a bound that at least `count` of its cosines reach, and few more.

    Infinite cosines, which only fill the rows, never reach it.
    """
    block = max(min(cosines.shape[1] // (_SPARE * count), _BLOCK), 1)
    blocks = cosines.shape[1] // block
    # Each maximum is a cosine, so the smallest of the `count` greatest maxima is such a bound. The
    # vectors of one list, many of which may be near, are in different blocks.
    maxima = cosines[:, : blocks * block].reshape(len(cosines), block, blocks).max(axis=1)
    bounds: Float32[np.ndarray, " query"]
    bounds = np.partition(maxima, blocks - count, axis=1)[:, blocks - count]
    return np.maximum(bounds, np.finfo(np.float32).min)


def _grouped(of_list: Int[np.ndarray, " entry"]) -> Iterator[Int[np.ndarray, " some"]]:
    """Yield the positions of the entries of each list."""
    order = np.argsort(of_list, kind="stable")
    bounds = np.flatnonzero(np.diff(of_list[order])) + 1
    yield from np.split(order, bounds)
