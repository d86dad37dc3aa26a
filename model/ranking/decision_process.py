"""Learn from decisions how to correct the scores of similar pairs.

The log-odds of a join are those of the score plus a Gaussian process over pairs: a decision that
surprises the score moves similar pairs in the same direction (Rasmussen and Williams, 2006,
section 3.4).
"""

import numpy as np
from jaxtyping import Bool, Float
from scipy.special import expit

_STEPS = 50
"""Maximum number of Newton steps; a handful is usual."""
_CLOSE = 1e-6
"""Change of log-odds below which Newton's method ends."""


def fit_process(
    covariance: Float[np.ndarray, "pair pair"],
    prior: Float[np.ndarray, " pair"],
    accepted: Bool[np.ndarray, " pair"],
) -> Float[np.ndarray, " pair"]:
    r"""Fit a Gaussian process to decisions, and return the weight of each decision.

    The posterior of the log-odds of any pair x is $$m(x) + \sum_i k(x, x_i) \alpha_i$$ with the
    weights $$\alpha = t - \sigma(m + K \alpha)$$, found by Newton's method (algorithm 3.1) with
    steps that are halved until they raise the posterior.

    Args:
        covariance: K, between the decided pairs. Negative eigenvalues count as 0.
        accepted: t, whether each pair was accepted; the others were rejected.

    Returns:
        The weights: positive for an accepted pair, negative for a rejected one, and small for a
        decision that the score predicts.

    >>> fit_process(np.eye(2), np.zeros(2), np.array([True, False])).round(2).tolist()
    [0.4, -0.4]
    """
    values, vectors = np.linalg.eigh(covariance)
    known = (vectors * np.maximum(values, 0.0)) @ vectors.T

    def log_posterior(weights: Float[np.ndarray, " pair"]) -> float:
        effect = known @ weights
        margin = np.where(accepted, 1.0, -1.0) * (prior + effect)
        return -float(np.logaddexp(0.0, -margin).sum() + weights @ effect / 2)

    weights = np.zeros(len(prior))
    for _ in range(_STEPS):
        effect = known @ weights
        probability = expit(prior + effect)
        curvature = np.maximum(probability * (1 - probability), _CLOSE)
        root = np.sqrt(curvature)
        target = curvature * effect + accepted - probability
        system = np.eye(len(prior)) + root[:, None] * known * root
        step = target - root * np.linalg.solve(system, root * (known @ target)) - weights
        # A whole step overshoots where the scores were sure of the opposite.
        while (
            log_posterior(weights + step) < log_posterior(weights) and np.abs(step).max() > _CLOSE
        ):
            step = step / 2
        weights = weights + step
        if np.abs(known @ step).max(initial=0.0) < _CLOSE:
            break
    return accepted - expit(prior + known @ weights)
