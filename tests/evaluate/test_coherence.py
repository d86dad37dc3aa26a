"""Test how a ranking's coherence is measured: how many of its candidates join each other."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from datahub_hyperjoin.evaluate.labelled_lake import ColumnName, RankedColumn
from datahub_hyperjoin.evaluate.metrics import JoinedGroups, score_rankings

A, B, C, D, E, F = (ColumnName(table, "x") for table in "abcdef")
TRUTH = {A: frozenset({B, C}), D: frozenset({C, E})}


def of(*answers: ColumnName) -> float:
    return JoinedGroups(TRUTH).coherence(answers)


def test_answers_to_one_query_cohere_and_so_does_a_query_with_its_answers() -> None:
    assert of(B, C) == of(A, B) == of(D, E) == 1


def test_answers_to_different_queries_do_not() -> None:
    assert of(B, E) == of(A, D) == of(A, E) == 0


def test_a_hand_made_answer() -> None:
    # Of six pairs B-C and C-E cohere, by A and by D; F joins with nothing.
    assert of(B, C, E, F) == pytest.approx(2 / 6)


def test_what_no_query_joins_with_coheres_with_nothing() -> None:
    assert of(F, F) == 0


def test_fewer_than_two_answers_hold_no_pair() -> None:
    assert of() == of(B) == 0


@given(st.permutations([A, B, C, D, E, F]))
def test_the_order_of_answers_is_nothing_to_it(answers: list[ColumnName]) -> None:
    assert of(*answers) == of(*sorted(answers)) == pytest.approx(6 / 15)


def test_only_the_first_answers_count_and_queries_keep_their_order() -> None:
    answers = [
        *[RankedColumn(B, 0.9), RankedColumn(C, 0.9)],
        *[RankedColumn(F, 0.1)] * 13,
        *[RankedColumn(E, 0.1)] * 10,
    ]
    found = score_rankings(TRUTH, {A: answers})["coherence@15"]
    assert found.tolist() == pytest.approx([1 / 105, 0])
