"""Test that confidence intervals are valid, and that comparing query by query narrows them."""

import numpy as np
import pytest

from datahub_hyperjoin.evaluate.metrics import Bootstrap, Interval


def test_ninety_five_in_a_hundred_intervals_hold_the_true_mean() -> None:
    random = np.random.default_rng(1)
    bootstrap = Bootstrap(80, draws=1000)
    found = [bootstrap.interval(random.exponential(2.0, 80)) for _ in range(600)]
    share = np.mean([one.low <= 2.0 <= one.high for one in found])
    # Three standard errors of the share, and a little for a skewed distribution.
    assert 0.91 <= share <= 0.98


def test_an_interval_shrinks_with_the_root_of_the_queries() -> None:
    values = np.random.default_rng(2).normal(size=1600)
    few, many = (Bootstrap(count).interval(values[:count]) for count in (100, 1600))
    assert (few.high - few.low) / (many.high - many.low) == pytest.approx(4, rel=0.2)


def test_pairing_leaves_out_how_hard_queries_are() -> None:
    random = np.random.default_rng(3)
    hard = random.random(100)
    one, other = hard + 0.03, hard + random.normal(0, 0.02, 100)
    bootstrap = Bootstrap(100)
    apart = [bootstrap.interval(values) for values in (one, other)]
    assert apart[0].low < apart[1].high
    assert apart[1].low < apart[0].high
    difference = bootstrap.interval(one - other)
    assert difference.mean == pytest.approx(float(one.mean() - other.mean()))
    assert difference.excludes_zero


def test_chance_alone_excludes_zero_once_in_twenty_times() -> None:
    random = np.random.default_rng(4)
    bootstrap = Bootstrap(60, draws=1000)
    found = [bootstrap.interval(random.normal(size=60)).excludes_zero for _ in range(600)]
    assert 0.02 <= np.mean(found) <= 0.09


def test_a_share_of_a_ceiling_is_one_of_means() -> None:
    values, ceiling = np.array([0.5, 0.1]), np.array([1.0, 0.2])
    found = Bootstrap(2).interval(values, ceiling)
    assert (found.mean, found.low, found.high) == pytest.approx((0.5, 0.5, 0.5))
    uneven = Bootstrap(2).interval(np.array([1.0, 0.0]), ceiling)
    assert uneven.mean == pytest.approx(1 / 1.2)
    assert (uneven.low, uneven.high) == pytest.approx((0.0, 1.0))


def test_the_same_seed_gives_the_same_interval() -> None:
    values = np.random.default_rng(5).random(30)
    first, again, other = (Bootstrap(30, seed=seed).interval(values) for seed in (0, 0, 1))
    assert first == again != other


@pytest.mark.parametrize(
    ("low", "high", "excludes"), [(0.1, 0.2, True), (-0.2, -0.1, True), (-0.1, 0.1, False)]
)
def test_zero_is_excluded_on_either_side(low: float, high: float, *, excludes: bool) -> None:
    assert Interval(0.0, low, high).excludes_zero is excludes


def test_an_interval_that_touches_zero_does_not_exclude_it() -> None:
    assert not Interval(0.1, 0.0, 0.2).excludes_zero
