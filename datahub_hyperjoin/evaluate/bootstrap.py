r"""How far a mean over queries can be trusted: the bootstrap (Efron, 1979), percentile intervals.

Queries are drawn anew with replacement, as many as there are, thousands of times; 95 % of the means
so found lie in the interval. Two methods that answer the same queries are compared by their
differences query by query, which leaves out how hard the queries are.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

_DRAWS = 10_000
TAILS = (2.5, 97.5)
"""The percentiles between which 95 % lie."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean over queries, and where it would lie with other queries of the same kind."""

    mean: float
    """Over the queries there are."""

    low: float
    """Least of the 95 % interval."""

    high: float
    """Greatest of the 95 % interval."""

    @property
    def excludes_zero(self) -> bool:
        """Whether chance alone, in the choice of queries, would hardly give such a mean."""
        return self.low > 0 or self.high < 0


class Bootstrap:
    """The same draws for everything that is measured on the same queries.

    Memory is proportional to draws times queries.

    Args:
        queries: How many there are.
        seed: Where randomness starts.
        draws: How many means an interval is made from.
    """

    def __init__(self, queries: int, *, seed: int = 0, draws: int = _DRAWS) -> None:
        random = np.random.default_rng(seed)
        shares = np.full(queries, 1 / queries)
        self._weights = random.multinomial(queries, shares, size=draws) / queries

    def resampled(self, values: Float[np.ndarray, "query ..."]) -> Float[np.ndarray, "draw ..."]:
        """Means over queries.

        Args:
            values: What there is of each query.

        Returns:
            One mean a draw.
        """
        return np.tensordot(self._weights, values, axes=1)

    def interval(
        self,
        values: Float[np.ndarray, " query"],
        ceiling: Float[np.ndarray, " query"] | None = None,
    ) -> Interval:
        """The mean of values, or its share of a ceiling's mean.

        For the difference of two methods, give the differences of their values.

        Args:
            values: One number a query.
            ceiling: The greatest each could be; the share is one of means, so that every query
                counts as it does in the metric itself.

        Returns:
            The mean and its interval.
        """
        over = np.ones_like(values) if ceiling is None else ceiling
        means = self.resampled(values) / self.resampled(over)
        low, high = np.percentile(means, TAILS)
        return Interval(float(values.mean() / over.mean()), float(low), float(high))
