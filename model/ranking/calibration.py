"""What people's decisions say of the score: a monotone map of it (Platt, 1999).

A score says how much speaks for a join; decisions tell how often that suffices in this catalog.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.optimize import Bounds, minimize
from scipy.special import expit, logit

_SLOPE, _OFFSET = 0.1, 0.3
"""Standard deviations of the prior around the identity. A decision moves the offset by no more than
the variance, 0.09, however surprising it is: ten that agree move a score by about a tenth."""
_FLATTEST = 0.2
"""Least slope: a flatter map would call all joins alike, and a falling one turn their order."""
_EDGE = 1e-6
"""How near to 0 and 1 scores are told apart; their log odds are without bound."""


@dataclass(frozen=True, slots=True)
class Calibration:
    r"""A map of scores that keeps their order.

    $$c(s) = \sigma(a\,\mathrm{logit}(s) + b),\quad a > 0$$

    with a = 1, b = 0 the identity.
    """

    slope: float = 1.0
    """a."""

    offset: float = 0.0
    """b."""

    def of(self, scores: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
        """Maps scores.

        Args:
            scores: In [0, 1].

        Returns:
            As many, in [0, 1] and in the same order; the scores themselves by the identity.

        >>> Calibration(offset=-1.0).of(np.array([0.5, 0.9])).round(2).tolist()
        [0.27, 0.77]
        """
        if self == Calibration():
            return scores
        return expit(self.slope * _log_odds(scores) + self.offset)


def _log_odds(scores: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
    return logit(np.clip(scores, _EDGE, 1 - _EDGE))


def calibrate(
    accepted: Float[np.ndarray, " accepted"], rejected: Float[np.ndarray, " rejected"]
) -> Calibration:
    r"""Fits the map to the scores of pairs that people decided about.

    It is the most probable one under a Gaussian prior around the identity,

    $$\min_{a, b} \sum_{s \in S^+} \log(1 + e^{-z(s)}) + \sum_{s \in S^-} \log(1 + e^{z(s)})
    + \frac{(a - 1)^2}{2 \tau_a^2} + \frac{b^2}{2 \tau_b^2},\quad z(s) = a\,\mathrm{logit}(s) + b,$$

    so that few decisions change little. Platt's targets short of 0 and 1, which serve the same
    purpose, are not needed beside it. The sum is strictly convex: there is one minimum.

    Args:
        accepted: Scores of accepted pairs, in [0, 1].
        rejected: Scores of rejected pairs, in [0, 1].

    Returns:
        The identity, if nobody decided anything.

    Shapes:
        accepted (accepted), rejected (rejected); either may be empty.

    >>> calibrate(np.array([]), np.array([]))
    Calibration(slope=1.0, offset=0.0)
    >>> bool(calibrate(np.array([]), np.array([0.9])).of(np.array([0.9]))[0] < 0.9)
    True
    """
    if not len(accepted) + len(rejected):
        return Calibration()
    odds = _log_odds(np.concatenate([accepted, rejected]))
    side = np.repeat([1.0, -1.0], [len(accepted), len(rejected)])

    def cost(
        point: Float[np.ndarray, "2"],
    ) -> tuple[float, Float[np.ndarray, "2"]]:
        slope, offset = point
        margin = side * (slope * odds + offset)
        pull = -side * expit(-margin)
        off = np.array([(slope - 1) / _SLOPE, offset / _OFFSET])
        gradient = np.array([pull @ odds, pull.sum()]) + off / [_SLOPE, _OFFSET]
        return float(np.logaddexp(0, -margin).sum() + off @ off / 2), gradient

    start = np.array([1.0, 0.0])
    bounds = Bounds([_FLATTEST, -np.inf], [np.inf, np.inf])
    found = minimize(cost, start, jac=True, method="L-BFGS-B", bounds=bounds)
    return Calibration(slope=float(found.x[0]), offset=float(found.x[1]))
