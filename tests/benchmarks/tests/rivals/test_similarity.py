"""Test that each similarity measure makes the most similar columns neighbours."""

from collections.abc import Sequence

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import jensenshannon

from benchmarks.rivals import similarity
from benchmarks.rivals.cells import Cells
from benchmarks.rivals.similarity import MEASURES, neighbours, token_similarity
from lakes.lake import codes
from lakes.rivalry import cells, named

JACCARD, HELD_BY, HOLDS, RAREST, MEANING, SHARES = range(MEASURES)


def near(lake: Sequence[Cells], measure: int) -> dict[str, list[str]]:
    """Map each table to its nearest tables, by one measure."""
    matrix = neighbours(lake)[measure]
    return {
        cells.name.table: [lake[place].name.table for place in np.flatnonzero(row).tolist()]
        for cells, row in zip(lake, matrix.toarray(), strict=True)
    }


def test_values_are_compared_by_all_their_overlaps() -> None:
    lake = cells(
        a=codes("A", 10),
        b=codes("A", 4),
        c=[*codes("a", 7), *codes("C", 70)],
        d=[*codes("A", 5), *codes("D", 2)],
        e=codes("A", 3),
        f=codes("F", 9),
    )
    # Shared with a are 4 of 4 in b, 7 of 77 in c, 5 of 7 in d and 3 of 3 in e.
    assert near(lake, JACCARD)["a"] == ["b", "d", "e"]
    assert near(lake, HELD_BY)["a"] == ["b", "c", "d"]
    assert near(lake, HOLDS)["a"] == ["b", "d", "e"]
    for measure in (JACCARD, HELD_BY, HOLDS, RAREST, SHARES):
        assert near(lake, measure)["f"] == []


def test_neighbours_share_a_weight_of_one_and_stand_in_other_tables() -> None:
    lake = [
        *(Cells(named(f"t.{name}"), {"1": 1, "2": 1}) for name in "xy"),
        *cells(a=["1", "2"], b=["1.0", "2"]),
    ]
    for matrix in neighbours(lake):
        dense = matrix.toarray()
        assert dense.sum(axis=1) == pytest.approx(np.ones(4))
        assert not dense[:2, :2].any()
        assert dense[0, 2:] == pytest.approx([0.5, 0.5])
        assert dense[2] == pytest.approx([1 / 3, 1 / 3, 0, 1 / 3])


def test_equally_like_columns_count_in_the_order_of_the_lake() -> None:
    lake = cells(**{name: codes("A", 5) for name in "abcdef"})
    assert near(lake, JACCARD)["f"] == ["a", "b", "c"]
    assert near(lake, JACCARD)["b"] == ["a", "c", "d"]


def test_tokens_tell_what_values_hide() -> None:
    lake = cells(
        a=["Newark (airport)", "Dulles (airport)", "Logan (airport)"],
        b=["airport of Newark", "airport of Dulles", "airport of Logan"],
        c=["airport of Luton", "airport of Gatwick", "airport of Stansted"],
        d=["France", "Germany", "Italy"],
        e=["Spain", "Portugal", "Greece"],
    )
    assert near(lake, JACCARD)["a"] == []
    assert near(lake, RAREST)["a"] == ["b"]
    assert near(lake, SHARES)["a"] == ["b", "c"]
    meanings = neighbours(lake)[MEANING]
    assert meanings[[3], [4]] > 0
    assert near(lake, SHARES)["d"] == []


def test_shares_are_compared_by_their_divergence() -> None:
    random = np.random.default_rng(0)
    counts = random.poisson(0.7, size=(12, 9)).astype(float)
    counts[3] = 0
    totals = counts.sum(axis=1, keepdims=True)
    shares = counts / np.maximum(totals, 1)
    found = token_similarity(sparse.csr_array(shares), slice(2, 9))
    expected = [
        [1 - jensenshannon(p, q, base=2) ** 2 if p.any() and q.any() else 0 for q in shares]
        for p in shares[2:9]
    ]
    assert found == pytest.approx(np.array(expected), abs=1e-7)


def test_many_columns_are_compared_as_few_are(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(0)
    pool = codes("A", 30)
    lake = cells(**{f"c{at}": [*random.choice(pool, size=9)] for at in range(11)})
    at_once = neighbours(lake)
    monkeypatch.setattr(similarity, "_AT_ONCE", 4)
    for whole, pieces in zip(at_once, neighbours(lake), strict=True):
        assert np.array_equal(whole.toarray(), pieces.toarray())


def test_columns_without_a_token_are_alone() -> None:
    lake = cells(a=["--", "?"], b=["--", "!"], c=["?"])
    assert near(lake, JACCARD)["a"] == ["b", "c"]
    for measure in (RAREST, MEANING, SHARES):
        assert near(lake, measure) == {"a": [], "b": [], "c": []}
