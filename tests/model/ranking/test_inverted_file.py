"""Test that the search of a large lake's columns finds nearly what an exact search finds."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from datahub_hyperjoin.model.ranking import nearest
from datahub_hyperjoin.model.ranking.nearest import (
    NO_CANDIDATE,
    ColumnIndex,
    InvertedFile,
    _lower_bounds,
)
from datahub_hyperjoin.model.signals.cells import StoredVectors


def kinds_of_vectors(kinds: int, of_each: int, seed: int = 0) -> np.ndarray:
    """Return unit vectors of several kinds; those of one kind are similar."""
    random = np.random.default_rng(seed)
    centres = random.normal(size=(kinds, 32))
    vectors = np.repeat(centres, of_each, axis=0) + random.normal(size=(kinds * of_each, 32)) / 2
    vectors = random.permutation(vectors).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def exact(vectors: np.ndarray, queries: np.ndarray, count: int) -> np.ndarray:
    return np.argsort(-(queries @ vectors.T), axis=1, kind="stable")[:, :count]


def test_nearly_all_nearest_vectors_are_found_in_a_part_of_them() -> None:
    vectors = kinds_of_vectors(kinds=100, of_each=50)
    lists = InvertedFile(StoredVectors.of(vectors), compared=8)
    found = lists.search(vectors[:500], 20)
    expected = exact(vectors, vectors[:500], 20)
    recall = [len(np.intersect1d(*rows)) / 20 for rows in zip(found, expected, strict=True)]
    assert np.mean(recall) >= 0.99
    # Not all vectors were compared: some neighbours of a vector without kind are missed.
    stray = kinds_of_vectors(kinds=500, of_each=1, seed=1)
    assert not np.array_equal(lists.search(stray, 20), exact(vectors, stray, 20))


@settings(max_examples=25, deadline=None)
@given(count=st.integers(16, 80), asked=st.integers(1, 60), seed=st.integers(0, 999))
def test_a_search_of_all_lists_is_exact(count: int, asked: int, seed: int) -> None:
    vectors = kinds_of_vectors(kinds=count, of_each=1, seed=seed)
    asked = min(asked, count)
    # Fewer vectors than are compared at least.
    found = InvertedFile(StoredVectors.of(vectors), compared=128).search(vectors, asked)
    assert [len(set(row)) for row in found.tolist()] == [asked] * count
    cosines = vectors @ vectors.T
    np.testing.assert_allclose(
        np.take_along_axis(cosines, found, axis=1),
        np.take_along_axis(cosines, exact(vectors, vectors, asked), axis=1),
        atol=1e-5,
    )


@settings(max_examples=25, deadline=None)
@given(width=st.integers(1, 700), count=st.integers(1, 60), seed=st.integers(0, 999))
def test_few_cosines_reach_the_bound_of_a_query(width: int, count: int, seed: int) -> None:
    random, count = np.random.default_rng(seed), min(count, width)
    cosines = random.permuted(np.linspace(-1, 1, 9 * width, dtype=np.float32)).reshape(9, width)
    reached = (cosines >= _lower_bounds(cosines, count)[:, None]).sum(axis=1)
    assert (reached >= count).all()
    assert reached.mean() <= 2 * count
    # One list may be longer than all that other queries are compared with.
    cosines[0, count:] = -np.inf
    assert (cosines[0] >= _lower_bounds(cosines, count)[0]).sum() == count


def test_every_run_finds_the_same_in_blocks_of_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = kinds_of_vectors(kinds=40, of_each=25)

    def search() -> np.ndarray:
        return InvertedFile(StoredVectors.of(vectors), compared=8).search(vectors, 10)

    found = search()
    assert np.array_equal(search(), found)
    monkeypatch.setattr(nearest, "_COSINES", 20_000)
    # Products of other shapes round sums in another way, which decides between two equal cosines.
    assert np.mean(search() == found) > 0.999


def test_columns_of_a_large_lake_are_searched_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    vectors, columns = kinds_of_vectors(kinds=40, of_each=25), np.arange(0, 1000, 3)
    table = np.arange(1000) // 4
    index = ColumnIndex(StoredVectors.of(vectors), table)
    assert index.is_exact
    expected = index.neighbours(columns, 10)
    monkeypatch.setattr(nearest, "most_exact", lambda _: 999)
    index = ColumnIndex(StoredVectors.of(vectors), table)
    assert not index.is_exact
    # The lists to compare hold all vectors of so small a lake.
    assert np.array_equal(index.neighbours(columns, 10), expected)
    assert np.array_equal(index.search(vectors[columns], table[columns], 10), expected)
    found = ColumnIndex(StoredVectors.of(vectors), table, compared=8).neighbours(columns, 10)
    assert (found != NO_CANDIDATE).all()
    assert (table[found] != table[columns][:, None]).all()
    recall = [len(np.intersect1d(*rows)) / 10 for rows in zip(found, expected, strict=True)]
    assert np.mean(recall) >= 0.99
