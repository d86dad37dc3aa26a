import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from datahub_hyperjoin.model.errors import EmptyIndexError
from datahub_hyperjoin.model.ranking import nearest
from datahub_hyperjoin.model.ranking.nearest import NO_CANDIDATE, ColumnIndex
from datahub_hyperjoin.model.signals.cells import StoredVectors


def unit_vectors(count: int, seed: int) -> np.ndarray:
    vectors = np.random.default_rng(seed).normal(size=(count, 6)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@settings(max_examples=30)
@given(
    count=st.integers(1, 40),
    tables=st.integers(1, 6),
    asked=st.integers(1, 12),
    seed=st.integers(0, 999),
)
def test_faiss_equals_exact_search(count: int, tables: int, asked: int, seed: int) -> None:
    vectors = unit_vectors(count, seed)
    table = np.random.default_rng(seed).integers(tables, size=count)
    found = ColumnIndex(StoredVectors.of(vectors), table).search(vectors, table, asked)
    cosines = (vectors @ vectors.T).astype(np.float64)
    for query, row in enumerate(found):
        others = np.flatnonzero(table != table[query])
        best = np.sort(cosines[query, others])[::-1][:asked]
        picked = row[row != NO_CANDIDATE]
        assert len(picked) == len(best)
        assert (table[picked] != table[query]).all()
        np.testing.assert_allclose(cosines[query, picked], best, atol=1e-5)


def test_a_wide_table_does_not_crowd_out_the_others() -> None:
    vectors = np.repeat(unit_vectors(1, 0), 200, axis=0)
    table = np.array([0] * 195 + [1] * 5)
    found = ColumnIndex(StoredVectors.of(vectors), table).search(vectors[:1], table[:1], 5)
    assert sorted(found[0]) == [195, 196, 197, 198, 199]


def test_an_index_of_nothing_is_refused() -> None:
    with pytest.raises(EmptyIndexError, match=r"no column has values, .* Name further tables"):
        ColumnIndex(
            StoredVectors.of(np.zeros((0, 6), dtype=np.float32)), np.zeros(0, dtype=np.int64)
        )


@pytest.mark.parametrize("at_once", [1, 7, 4096])
def test_blocks_of_any_size_find_the_same(monkeypatch: pytest.MonkeyPatch, at_once: int) -> None:
    vectors, columns = unit_vectors(60, 0), np.arange(0, 60, 2)
    # Half of the columns are in one table, whose queries are searched twice.
    table = np.where(np.arange(60) < 30, 0, np.arange(60))
    index = ColumnIndex(StoredVectors.of(vectors), table)
    expected = index.search(vectors[columns], table[columns], 12)
    monkeypatch.setattr(nearest, "_QUERIES", at_once)
    assert np.array_equal(index.neighbours(columns, 12), expected)
    assert np.array_equal(index.search(vectors[columns], table[columns], 12), expected)


@settings(max_examples=40)
@given(
    count=st.integers(1, 60),
    distinct=st.integers(1, 8),
    tables=st.integers(1, 6),
    asked=st.integers(1, 12),
    seed=st.integers(0, 999),
)
def test_columns_with_equal_vectors_are_all_found_in_their_order(
    count: int, distinct: int, tables: int, asked: int, seed: int
) -> None:
    random = np.random.default_rng(seed)
    of_column = random.integers(distinct, size=count)
    vectors, table = unit_vectors(distinct, seed)[of_column], random.integers(tables, size=count)
    columns = np.flatnonzero(random.random(count) < 0.5)
    found = ColumnIndex(StoredVectors.of(vectors), table).neighbours(columns, asked)
    # Copies of one vector have one similarity, whatever the order of the sums.
    unique = unit_vectors(distinct, seed)
    similarity = (unique @ unique.T).round(5)[np.ix_(of_column, of_column)]
    for query, row in zip(columns, found, strict=True):
        others = np.flatnonzero(table != table[query])
        ranked = others[np.lexsort((others, of_column[others], -similarity[query, others]))]
        expected = ranked[:asked]
        picked = row[row != NO_CANDIDATE]
        assert similarity[query, picked].tolist() == similarity[query, expected].tolist()
        # If hardly any vectors are equal, they are not grouped, and FAISS decides on ties.
        if len({*of_column}) <= nearest._MOST_DISTINCT * count:  # noqa: SLF001 (the limit of groups)
            for vector in range(distinct):
                chosen = picked[of_column[picked] == vector].tolist()
                assert chosen == others[of_column[others] == vector][: len(chosen)].tolist()
