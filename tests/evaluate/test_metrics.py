"""Test the metrics against hand-computed results and their definitions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from datahub_hyperjoin.evaluate.labelled_lake import ColumnName, RankedColumn
from datahub_hyperjoin.evaluate.metrics import CUTOFFS, RANKING_LENGTH, score_rankings

QUERY = ColumnName("q", "x")
COLUMNS = [ColumnName(f"t{at}", "x") for at in range(40)]


def of(answers: list[ColumnName], gold: set[ColumnName]) -> dict[str, float]:
    ranked = {QUERY: [RankedColumn(column, 0.5) for column in answers]}
    return {
        name: float(v[0]) for name, v in score_rankings({QUERY: frozenset(gold)}, ranked).items()
    }


def test_a_ranking_worked_out_by_hand() -> None:
    gold = {COLUMNS[1], COLUMNS[5], COLUMNS[39]}
    found = of(COLUMNS[:25], gold)
    # Right answers stand at ranks 2 and 6; the third is never given.
    assert found["P@5"] == pytest.approx(1 / 5)
    assert found["P@15"] == pytest.approx(2 / 15)
    assert found["R@5"] == pytest.approx(1 / 3)
    assert found["R@25"] == pytest.approx(2 / 3)
    assert found["P@15 ceiling"] == pytest.approx(3 / 15)
    assert found["R@15 ceiling"] == 1
    assert found["MAP"] == pytest.approx((1 / 2 + 2 / 6) / 3)
    assert found["MRR"] == pytest.approx(1 / 2)


def test_precision_is_divided_by_k_however_few_the_answers() -> None:
    found = of(COLUMNS[:1], {COLUMNS[0]})
    assert (found["P@5"], found["R@5"], found["MRR"]) == (0.2, 1.0, 1.0)


def test_more_right_columns_than_places_bound_recall() -> None:
    found = of(COLUMNS[:5], set(COLUMNS[:20]))
    assert (found["P@5"], found["P@5 ceiling"]) == (1.0, 1.0)
    assert (found["R@5"], found["R@5 ceiling"]) == (0.25, 0.25)


def test_a_query_without_answers_scores_nothing() -> None:
    other = ColumnName("r", "x")
    truth = {QUERY: frozenset({COLUMNS[0]}), other: frozenset({COLUMNS[1]})}
    scores = score_rankings(truth, {other: [RankedColumn(COLUMNS[1], 0.1)]})
    assert scores["MRR"].tolist() == [0.0, 1.0]
    assert scores["P@15 ceiling"].tolist() == [1 / 15, 1 / 15]


def test_the_last_cut_off_is_what_methods_are_asked_for() -> None:
    assert max(CUTOFFS) == RANKING_LENGTH == 25


@given(st.permutations(COLUMNS), st.integers(0, 40), st.sets(st.sampled_from(COLUMNS), min_size=1))
def test_every_metric_is_its_definition(
    order: list[ColumnName], count: int, gold: set[ColumnName]
) -> None:
    answers = order[:count]
    found = of(answers, gold)
    for k in CUTOFFS:
        hits = len(set(answers[:k]) & gold)
        assert found[f"P@{k}"] == pytest.approx(hits / k)
        assert found[f"R@{k}"] == pytest.approx(hits / len(gold))
        perfect = of([*gold, *(set(COLUMNS) - gold)], gold)
        assert found[f"P@{k} ceiling"] == pytest.approx(perfect[f"P@{k}"])
        assert found[f"R@{k} ceiling"] == pytest.approx(perfect[f"R@{k}"])
    hits, total, first = 0, 0.0, 0.0
    for rank, answer in enumerate(answers, start=1):
        if answer in gold:
            hits += 1
            total += hits / rank
            first = first or 1 / rank
    assert found["MAP"] == pytest.approx(total / len(gold))
    assert found["MRR"] == pytest.approx(first)
