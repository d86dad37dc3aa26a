import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from datahub_hyperjoin.model.ranking.decision_scoring import Calibration, DecidedPairs, calibrate

shares = st.lists(st.floats(0, 1), max_size=12).map(lambda values: np.array(values, dtype=float))
GRID = np.linspace(0, 1, 101)


def test_without_decisions_a_score_is_itself() -> None:
    nobody = np.array([])
    assert calibrate(nobody, nobody).apply(GRID) is GRID


@given(accepted=shares, rejected=shares)
def test_the_map_keeps_order_and_bounds(accepted: np.ndarray, rejected: np.ndarray) -> None:
    found = calibrate(accepted, rejected).apply(GRID)
    assert ((found >= 0) & (found <= 1)).all()
    assert (np.diff(found) > 0).all()


@given(score=st.floats(0.01, 0.99), count=st.integers(1, 40))
def test_a_score_moves_towards_what_people_decided_of_it(score: float, count: int) -> None:
    nobody, seen = np.array([]), np.full(count, score)
    assert calibrate(seen, nobody).apply(seen)[0] > score
    assert calibrate(nobody, seen).apply(seen)[0] < score


@given(accepted=shares, rejected=shares, score=st.floats(0.5, 0.99))
def test_one_more_rejection_lowers_what_it_rejects(
    accepted: np.ndarray, rejected: np.ndarray, score: float
) -> None:
    asked = np.array([score])
    before = calibrate(accepted, rejected).apply(asked)[0]
    after = calibrate(accepted, np.append(rejected, score)).apply(asked)[0]
    assert after < before


def test_rejections_at_high_scores_lower_all_scores_worth_showing() -> None:
    nobody, shown = np.array([]), GRID[50:]
    counts = [calibrate(nobody, np.full(count, 0.9)).apply(shown) for count in (0, 3, 30, 1000)]
    assert (np.diff(counts, axis=0) <= 0).all()
    assert counts[2] == pytest.approx(shown, abs=0.05)
    assert counts[-1][40] < 0.75


@pytest.mark.parametrize(
    ("accepted", "rejected"), [([0.6, 0.7], []), ([], [0.9, 0.9]), ([0.5], [0.9])]
)
def test_two_decisions_change_little(accepted: list[float], rejected: list[float]) -> None:
    found = calibrate(np.array(accepted), np.array(rejected)).apply(GRID)
    assert 0.0005 < np.abs(found - GRID).max() < 0.005


@given(accepted=shares, rejected=shares)
def test_no_other_slope_and_offset_are_more_probable(
    accepted: np.ndarray, rejected: np.ndarray
) -> None:
    found = calibrate(accepted, rejected)

    def cost(point: np.ndarray) -> float:
        slope, offset = point
        clear = np.clip(np.concatenate([accepted, 1 - rejected]), 1e-6, 1 - 1e-6)
        sides = np.repeat([1, -1], [len(accepted), len(rejected)])
        margins = slope * np.log(clear / (1 - clear)) + sides * offset
        prior = ((slope - 1) / 0.03) ** 2 + (offset / 0.07) ** 2
        return float(np.log1p(np.exp(-margins)).sum() + prior / 2)

    oracle = minimize(cost, [1.0, 0.0], method="Nelder-Mead", bounds=[(0.2, None), (None, None)])
    assert cost(np.array([found.slope, found.offset])) <= oracle.fun + 1e-4


def test_many_decisions_outweigh_the_identity() -> None:
    random = np.random.default_rng(0)
    scores = random.random(20000)
    accepted = random.random(20000) < Calibration(slope=1.5, offset=-1.0).apply(scores)
    found = calibrate(scores[accepted], scores[~accepted])
    assert found.slope == pytest.approx(1.5, abs=0.2)
    assert found.offset == pytest.approx(-1.0, abs=0.15)


@given(accepted=shares, rejected=shares, limits=st.lists(st.floats(0, 1), max_size=3))
def test_calibration_takes_no_score_across_a_limit(
    accepted: np.ndarray, rejected: np.ndarray, limits: list[float]
) -> None:
    decided = DecidedPairs(
        pairs=np.zeros((len(accepted) + len(rejected), 2), dtype=int),
        accepted=np.arange(len(accepted) + len(rejected)) < len(accepted),
        probability=np.concatenate([accepted, rejected]),
    )
    found = decided.calibrate(GRID, limits)
    for limit in limits:
        assert ((found >= limit) == (limit <= GRID)).all()
    assert (np.diff(found) >= 0).all()
