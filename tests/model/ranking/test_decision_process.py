"""Test the weights of decisions against those that a general optimiser finds."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import expit

from datahub_hyperjoin.model.ranking.decision_scoring import fit_process


@given(st.integers(0, 1000), st.integers(1, 8))
def test_the_weights_are_at_the_mode_of_the_posterior(seed: int, count: int) -> None:
    random = np.random.default_rng(seed)
    places = random.normal(size=(count, 2))
    covariance = np.exp(-((places[:, None] - places[None]) ** 2).sum(axis=2)) + 0.1 * np.eye(count)
    prior, accepted = random.normal(size=count), random.random(count) < 0.5
    weights = fit_process(covariance, prior, accepted)

    def cost(effect: np.ndarray) -> float:
        margin = np.where(accepted, 1, -1) * (prior + effect)
        square = effect @ np.linalg.solve(covariance, effect)
        return float(np.logaddexp(0, -margin).sum() + square / 2)

    found = minimize(cost, np.zeros(count), method="BFGS", options={"gtol": 1e-8}).x
    np.testing.assert_allclose(covariance @ weights, found, atol=1e-4)


def test_scores_that_were_sure_of_the_opposite_do_not_keep_the_weights_from_the_mode() -> None:
    # Whole Newton steps jump to and fro for these decisions.
    random = np.random.default_rng(219)
    places = random.normal(size=(100, 3))
    covariance = 36 * np.exp(-((places[:, None] - places[None]) ** 2).sum(axis=2) / 30)
    prior, accepted = random.normal(size=100) * 8, random.random(100) < 0.5
    weights = fit_process(covariance, prior, accepted)
    np.testing.assert_allclose(weights, accepted - expit(prior + covariance @ weights), atol=1e-4)


def test_a_decision_that_the_score_predicts_teaches_little() -> None:
    decided = np.array([True, True, False])
    predicted, surprising, disagreeing = fit_process(np.eye(3), np.array([6.0, -2, 2]), decided)
    assert 0 < predicted < 0.01
    assert surprising > 0.3
    assert disagreeing < -0.3


def test_contradicting_decisions_about_equal_pairs_cancel() -> None:
    weights = fit_process(np.ones((2, 2)), np.zeros(2), np.array([True, False]))
    np.testing.assert_allclose(weights, [0.5, -0.5])


def test_a_covariance_with_a_negative_eigenvalue_is_bounded() -> None:
    indefinite = np.array([[1.0, 3.0], [3.0, 1.0]])
    weights = fit_process(indefinite, np.zeros(2), np.array([True, True]))
    assert (weights > 0).all()
    assert np.isfinite(weights).all()
    assert (expit(indefinite @ weights) > 0.5).all()


def test_no_decision_has_no_weight() -> None:
    assert fit_process(np.zeros((0, 0)), np.zeros(0), np.zeros(0, dtype=bool)).shape == (0,)
