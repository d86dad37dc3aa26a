"""Test the calibration error against hand-computed results and well-calibrated scores."""

from collections.abc import Sequence

import numpy as np
import pytest

from benchmarks.pictures.reliability import list_bins
from datahub_hyperjoin.evaluate.labelled_lake import ColumnName, RankedColumn
from datahub_hyperjoin.evaluate.metrics import (
    BINS,
    BinnedScores,
    Bootstrap,
    Reliability,
    bin_scores,
    expected_error,
)

ONE, OTHER = ColumnName("one", "x"), ColumnName("other", "x")
RIGHT, WRONG = ColumnName("right", "x"), ColumnName("wrong", "x")
TRUTH = {ONE: frozenset({RIGHT}), OTHER: frozenset({RIGHT})}


def tallied(*answers: Sequence[tuple[ColumnName, float]]) -> BinnedScores:
    rankings = {
        query: [RankedColumn(*answer) for answer in given]
        for query, given in zip(TRUTH, answers, strict=False)
    }
    found = bin_scores(TRUTH, rankings)
    assert found is not None
    return found


def errors(found: BinnedScores) -> float:
    return float(expected_error(found.mean(axis=0)))


def test_an_error_worked_out_by_hand() -> None:
    found = tallied([(RIGHT, 0.95), (WRONG, 0.97)], [(RIGHT, 0.1), (WRONG, 0.5), (WRONG, 0.06)])
    # Bins of a fifteenth: two of mean 0.96 of which one is right, 0.1 that is right, 0.5 and 0.06
    # that are wrong.
    assert errors(found) == pytest.approx((2 * 0.46 + 0.9 + 0.5 + 0.06) / 5)


def test_answers_of_one_bin_make_up_for_each_other_and_those_of_two_do_not() -> None:
    assert errors(tallied([(RIGHT, 0.74), (WRONG, 0.74), (RIGHT, 0.74), (RIGHT, 0.74)])) < 0.011
    apart = tallied([(RIGHT, 0.74), (WRONG, 0.81)])
    assert errors(apart) == pytest.approx((0.26 + 0.81) / 2)


@pytest.mark.parametrize(
    ("score", "place"), [(0.0, 0), (1 / BINS, 0), (0.0667, 1), (0.2, 2), (0.9334, 14), (1.0, 14)]
)
def test_a_bin_holds_its_greatest_score_and_not_its_least(score: float, place: int) -> None:
    assert np.flatnonzero(tallied([(WRONG, score)])[0, :, 0]).tolist() == [place]


@pytest.mark.parametrize("score", [-0.1, 1.1, float("nan"), float("inf")])
def test_a_score_that_is_no_probability_says_nothing(score: float) -> None:
    assert bin_scores(TRUTH, {ONE: [RankedColumn(RIGHT, 0.5), RankedColumn(WRONG, score)]}) is None


def test_without_answers_nothing_is_wrong() -> None:
    found = bin_scores(TRUTH, {})
    assert found is not None
    assert errors(found) == 0


def meant(random: np.random.Generator, queries: int, *, excess: float) -> BinnedScores:
    """Make random candidates and bin their scores, which are well-calibrated if `excess` is 0.

    `excess` makes the scores too high.
    """
    truth, rankings = {}, {}
    for at in range(queries):
        query = ColumnName(f"q{at}", "x")
        scores = random.beta(0.8, 0.8, 25)
        right = random.random(25) < scores - excess * scores * (1 - scores)
        columns = [ColumnName(f"t{place}", "x") for place in range(25)]
        truth[query] = frozenset(column for column, hit in zip(columns, right, strict=True) if hit)
        rankings[query] = [
            RankedColumn(column, float(score))
            for column, score in zip(columns, scores, strict=True)
        ]
    found = bin_scores(truth, rankings)
    assert found is not None
    return found


def test_intervals_hold_the_true_error_more_often_than_percentiles() -> None:
    random, bootstrap = np.random.default_rng(0), Bootstrap(60, draws=400)
    exact = errors(meant(random, 4000, excess=0.3))
    held = plain = 0
    for _ in range(60):
        found = Reliability.of(meant(random, 60, excess=0.3), bootstrap)
        interval = found.error()
        held += interval.low <= exact <= interval.high
        low, high = np.percentile(expected_error(found.draws), (2.5, 97.5))
        plain += low <= exact <= high
    assert held >= 45
    assert held > plain


def test_scores_that_mean_it_have_a_small_error_and_an_interval_down_to_nearly_zero() -> None:
    found = Reliability.of(meant(np.random.default_rng(1), 100, excess=0), Bootstrap(100)).error()
    assert 0 <= found.low <= found.mean <= found.high < 0.04
    assert found.low < 0.015


def test_two_methods_are_compared_on_the_same_queries() -> None:
    bootstrap = Bootstrap(80)
    honest = Reliability.of(meant(np.random.default_rng(2), 80, excess=0), bootstrap)
    overconfident = Reliability.of(meant(np.random.default_rng(3), 80, excess=1), bootstrap)
    difference = overconfident.difference_to(honest)
    assert difference.mean == pytest.approx(overconfident.error().mean - honest.error().mean)
    assert difference.low > 0
    same = honest.difference_to(honest)
    assert (same.low, same.mean, same.high) == (0, 0, 0)


def test_bins_tell_what_the_picture_shows() -> None:
    found = tallied([(RIGHT, 0.95), (WRONG, 0.97), (WRONG, 0.05)], [(RIGHT, 0.96)])
    low, high = list_bins(Reliability.of(found, Bootstrap(2)))
    assert (low.low, low.high) == pytest.approx((0, 1 / 15))
    assert (low.share, low.score, low.right.mean) == pytest.approx((1 / 4, 0.05, 0))
    assert (high.share, high.score, high.right.mean) == pytest.approx((3 / 4, 0.96, 2 / 3))
    # Drawn anew, all answers are the first query's, the second's, or one of each.
    assert (high.right.low, high.right.high) == pytest.approx((1 / 2, 1))
