r"""Compute confidence intervals for means over query columns.

The method is the bootstrap (Efron, 1979).

Query columns are drawn with replacement, as many as there are, thousands of times. The interval
holds 95 % of the means of these draws. Two methods that rank for the same query columns are
compared by their differences for each query column, which removes the variation between easy and
hard ones.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

_DRAWS = 10_000
TAILS = (2.5, 97.5)
"""The percentiles that bound a 95 % interval."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean over query columns, with its 95 % confidence interval."""

    mean: float
    """The mean over the given query columns."""

    low: float
    """Lower bound of the interval."""

    high: float
    """Upper bound of the interval."""

    @property
    def excludes_zero(self) -> bool:
        """Whether zero lies outside the confidence interval."""
        return self.low > 0 or self.high < 0


class Bootstrap:
    """Random samples of the query columns, for bootstrap confidence intervals.

    All methods share the samples, so that comparisons are paired.

    Memory is proportional to draws times query columns.
    """

    def __init__(self, queries: int, *, seed: int = 0, draws: int = _DRAWS) -> None:
        random = np.random.default_rng(seed)
        shares = np.full(queries, 1 / queries)
        # How often each draw holds each query is multinomial, so a mean is one matrix product.
        self._weights = random.multinomial(queries, shares, size=draws) / queries

    def resampled(self, values: Float[np.ndarray, "query ..."]) -> Float[np.ndarray, "draw ..."]:
        """Return the mean of the values in each bootstrap sample."""
        return np.tensordot(self._weights, values, axes=1)

    def interval(
        self,
        values: Float[np.ndarray, " query"],
        ceiling: Float[np.ndarray, " query"] | None = None,
    ) -> Interval:
        """Return the mean of the values, with its confidence interval.

        With a ceiling, both are relative to the mean ceiling. To compare two methods, pass the
        differences of their values.

        Args:
            ceiling: The greatest possible value of each query column. The ratio is one of means
                rather than a mean of ratios, so that each query column weighs as in the metric.
        """
        divisors = np.ones_like(values) if ceiling is None else ceiling
        means = self.resampled(values) / self.resampled(divisors)
        low, high = np.percentile(means, TAILS)
        return Interval(float(values.mean() / divisors.mean()), float(low), float(high))
