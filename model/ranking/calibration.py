"""Calibrate scores, so that they agree with people's decisions (Platt, 1999).

A score measures the evidence for a join; decisions show how often that evidence suffices in this
catalog.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.special import expit, logit

_SLOPE, _OFFSET = 0.1, 0.3
"""Standard deviations of the priors of the slope (mean 1) and the offset (mean 0). Even a
surprising decision moves the offset by at most the variance, 0.09: ten decisions that agree move a
score by about a tenth."""
_FLATTEST = 0.2
"""Smallest slope. A flatter map would give all joins nearly the same score, and a falling map would
reverse their order."""
_EDGE = 1e-6
"""Scores are clipped to this distance from 0 and 1, where log odds are unbounded."""


@dataclass(frozen=True, slots=True)
class Calibration:
    r"""A monotone map that turns a score into a joinability.

    $$c(s) = \sigma(a\,\mathrm{logit}(s) + b),\quad a > 0$$

    with a = 1, b = 0 the identity.
    """

    slope: float = 1.0
    """The factor a in the formula above."""

    offset: float = 0.0
    """The summand b in the formula above."""

    def apply(self, scores: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
        """Convert scores to joinabilities.

        Returns:
            Scores in [0, 1] in the same order; the identity returns its argument.

        >>> Calibration(offset=-1.0).apply(np.array([0.5, 0.9])).round(2).tolist()
        [0.27, 0.77]
        """
        if self == Calibration():
            return scores
        return expit(self.slope * bounded_logit(scores) + self.offset)


def bounded_logit(scores: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
    """Return the log-odds of scores, limited to the range from -13.8 to 13.8."""
    return logit(np.clip(scores, _EDGE, 1 - _EDGE))


def calibrate(
    accepted: Float[np.ndarray, " accepted"], rejected: Float[np.ndarray, " rejected"]
) -> Calibration:
    r"""Fit a calibration to the scores of accepted and rejected pairs.

    It is the most probable map under a Gaussian prior around the identity,

    $$\min_{a, b} \sum_{s \in S^+} \log(1 + e^{-z(s)}) + \sum_{s \in S^-} \log(1 + e^{z(s)})
    + \frac{(a - 1)^2}{2 \tau_a^2} + \frac{b^2}{2 \tau_b^2},\quad z(s) = a\,\mathrm{logit}(s) + b,$$

    so that few decisions change little. Platt's targets short of 0 and 1 serve the same purpose
    and are not needed with this prior. The sum is strictly convex and has one minimum.

    Args:
        accepted: Scores of accepted pairs, in [0, 1]; may be empty.
        rejected: Scores of rejected pairs, in [0, 1]; may be empty.

    Returns:
        The fitted map; the identity if there are no decisions.

    >>> calibrate(np.array([]), np.array([]))
    Calibration(slope=1.0, offset=0.0)
    >>> bool(calibrate(np.array([]), np.array([0.9])).apply(np.array([0.9]))[0] < 0.9)
    True
    """
    if not len(accepted) + len(rejected):
        return Calibration()
    # Its import takes a tenth of a second, and most runs have no decisions.
    from scipy.optimize import Bounds, minimize  # noqa: PLC0415

    odds = bounded_logit(np.concatenate([accepted, rejected]))
    # One sign for both sides: z(s) should be high for accepted pairs and low for rejected ones.
    sign = np.repeat([1.0, -1.0], [len(accepted), len(rejected)])
    start = np.array([1.0, 0.0])
    bounds = Bounds([_FLATTEST, -np.inf], [np.inf, np.inf])
    fit = minimize(_cost, start, (odds, sign), jac=True, method="L-BFGS-B", bounds=bounds)
    return Calibration(slope=float(fit.x[0]), offset=float(fit.x[1]))


def _cost(
    point: Float[np.ndarray, "2"],
    odds: Float[np.ndarray, " decision"],
    sign: Float[np.ndarray, " decision"],
) -> tuple[float, Float[np.ndarray, "2"]]:
    """Return the cost that `calibrate` minimises, and the cost's gradient, at one point.

    The point consists of a slope and an offset.
    """
    slope, offset = point
    margin = sign * (slope * odds + offset)
    residual = -sign * expit(-margin)
    deviation = np.array([(slope - 1) / _SLOPE, offset / _OFFSET])
    gradient = np.array([residual @ odds, residual.sum()]) + deviation / [_SLOPE, _OFFSET]
    return float(np.logaddexp(0, -margin).sum() + deviation @ deviation / 2), gradient
