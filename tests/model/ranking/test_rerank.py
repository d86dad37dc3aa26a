from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from datahub_hyperjoin.model.ranking.nearest import NO_CANDIDATE
from datahub_hyperjoin.model.ranking.rank import PairwiseScores, select_coherent


def rows_of(among: np.ndarray) -> PairwiseScores:
    return lambda query, selected, other: among[query, selected, other]


def one_query_at_a_time(
    relevance: np.ndarray,
    among: np.ndarray,
    count: int,
    coherence: float,
    duplicates: np.ndarray | None = None,
) -> list[int]:
    """Rank the candidates of one query by Algorithm 1, exactly as in the paper.

    Duplicates of selected candidates come after all others.
    """
    rest = {int(c) for c in np.flatnonzero(np.isfinite(relevance))}
    numbers = np.arange(len(relevance)) if duplicates is None else duplicates
    key = relevance.copy()
    picked: list[int] = []
    while rest and len(picked) < count:
        best = max(
            rest,
            key=lambda c: (
                numbers[c] not in numbers[picked],
                relevance[c] + coherence * key[c],
                -c,
            ),
        )
        picked.append(best)
        rest.remove(best)
        for candidate in rest:
            key[candidate] = max(key[candidate], among[best, candidate])
    return picked


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("coherence", [0.0, 0.5, 1.0])
def test_all_queries_at_once_equal_one_at_a_time(seed: int, coherence: float) -> None:
    random = np.random.default_rng(seed)
    relevance, among = random.random((5, 8)), random.random((5, 8, 8))
    among = (among + among.transpose(0, 2, 1)) / 2
    relevance[random.random((5, 8)) < 0.2] = -np.inf
    found = select_coherent(relevance, rows_of(among), count=4, coherence=coherence)
    for row, places in enumerate(found):
        expected = one_query_at_a_time(relevance[row], among[row], 4, coherence)
        assert [place for place in places if place != NO_CANDIDATE] == expected


@given(
    seed=st.integers(0, 1 << 32),
    candidates=st.integers(1, 12),
    count=st.integers(1, 6),
    coherence=st.sampled_from([0.0, 0.3, 0.5, 1.0]),
    numbers=st.integers(1, 12),
)
def test_the_comparisons_that_are_left_out_change_nothing(
    seed: int, candidates: int, count: int, coherence: float, numbers: int
) -> None:
    random = np.random.default_rng(seed)
    # Few different scores, so that many gains are equal or reach their greatest value.
    relevance = random.integers(0, 5, (4, candidates)) / 4
    among = random.integers(0, 5, (4, candidates, candidates)) / 4
    relevance[random.random(relevance.shape) < 0.2] = -np.inf
    duplicates = random.integers(0, numbers, relevance.shape)
    found = select_coherent(
        relevance, rows_of(among), count=count, coherence=coherence, duplicates=duplicates
    )
    for row, places in enumerate(found):
        expected = one_query_at_a_time(
            relevance[row], among[row], count, coherence, duplicates[row]
        )
        assert [place for place in places if place != NO_CANDIDATE] == expected


@pytest.mark.parametrize("seed", range(10))
def test_the_tree_grown_is_never_heavier_than_the_maximum_spanning_tree(seed: int) -> None:
    random = np.random.default_rng(seed)
    relevance, among = random.random((1, 5)), random.random((1, 5, 5))
    among = (among + among.transpose(0, 2, 1)) / 2
    weights = np.block([[np.zeros((1, 1)), relevance], [relevance.T, among[0]]])
    picked = [
        int(place) + 1
        for place in select_coherent(relevance, rows_of(among), count=5, coherence=1.0)[0]
    ]
    grown = sum(
        max(weights[new, old] for old in [0, *picked[:at]]) for at, new in enumerate(picked)
    )
    trees = (
        sum(max(weights[new, old] for old in (0, *order[:at])) for at, new in enumerate(order))
        for order in permutations(range(1, 6))
    )
    assert grown <= max(trees) + 1e-9


def test_coherence_prefers_the_candidate_that_agrees() -> None:
    relevance = np.array([[0.9, 0.5, 0.6]])
    among = np.zeros((1, 3, 3))
    among[0, 0, 1] = among[0, 1, 0] = 0.95
    assert select_coherent(relevance, rows_of(among), count=2, coherence=1.0).tolist() == [[0, 1]]
    assert select_coherent(relevance, rows_of(among), count=2, coherence=0.0).tolist() == [[0, 2]]


def test_copies_of_a_table_wait_until_others_are_placed() -> None:
    relevance = np.array([[0.9, 0.9, 0.9, 0.2]])
    duplicates = np.array([[7, 7, 7, 8]])
    among = np.ones((1, 4, 4))
    found = select_coherent(
        relevance, rows_of(among), count=3, coherence=1.0, duplicates=duplicates
    )
    assert found.tolist() == [[0, 3, 1]]


def test_places_without_a_candidate_stay_empty() -> None:
    relevance = np.array([[0.3, -np.inf]])
    found = select_coherent(relevance, rows_of(np.zeros((1, 2, 2))), count=3, coherence=0.0)
    assert found.tolist() == [[0, NO_CANDIDATE, NO_CANDIDATE]]


def test_only_candidates_that_are_picked_are_compared_with_others() -> None:
    asked: list[tuple[int, int]] = []

    def among(_query: np.ndarray, selected: np.ndarray, other: np.ndarray) -> np.ndarray:
        asked.extend(zip(selected.tolist(), other.tolist(), strict=True))
        return np.zeros(len(selected))

    relevance = np.array([[0.1, 0.4, 0.3, 0.2]])
    select_coherent(relevance, among, count=3, coherence=1.0)
    assert asked == [(1, 0), (1, 2), (1, 3), (2, 0), (2, 3)]
    select_coherent(relevance, among, count=3, coherence=0.0)
    assert len(asked) == 5


def test_candidates_that_cannot_be_selected_are_not_compared() -> None:
    asked: list[int] = []

    def among(_query: np.ndarray, _selected: np.ndarray, other: np.ndarray) -> np.ndarray:
        asked.extend(other.tolist())
        return np.ones(len(other))

    relevance = np.array([[0.9, 0.8, 0.7, 0.1]])
    # The third one has 0.7 + 0.5 * 0.7 without any comparison, and the fourth at most 0.1 + 0.5.
    select_coherent(relevance, among, count=3, coherence=0.5)
    assert asked == [1, 2, 2]
