"""Compare rankings by several scorers on one lake."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float
from tabulate import tabulate

from benchmarks.trees.examples import Examples
from datahub_hyperjoin.evaluate.metrics import RANKING_LENGTH, Bootstrap, Interval

METRICS = ("MAP", "P@15")
_CUTOFF = 15


def measure(
    examples: Examples, scores: Float[np.ndarray, " pair"]
) -> Float[np.ndarray, "metric query"]:
    """Compute each metric in `METRICS` for the ranking of each query column.

    Args:
        examples: The candidates.
        scores: The score of each pair.
    """
    right = _right(examples, scores)
    precision = np.cumsum(right, axis=1) / np.arange(1, RANKING_LENGTH + 1)
    average = (right * precision).sum(axis=1) / examples.answers
    return np.stack([average, right[:, :_CUTOFF].mean(axis=1)])


def _right(examples: Examples, scores: Float[np.ndarray, " pair"]) -> Bool[np.ndarray, "query _"]:
    """For each query column and rank, return whether the ground truth contains the pair."""
    order = np.lexsort((-scores, examples.query))
    query = examples.query[order]
    rank = np.arange(len(order)) - np.searchsorted(query, query)
    shown = rank < RANKING_LENGTH
    right = np.zeros((len(examples.answers), RANKING_LENGTH), dtype=bool)
    right[query[shown], rank[shown]] = examples.joins[order][shown]
    return right


@dataclass(frozen=True)
class Measured:
    """The metrics of one scorer on one lake."""

    by_seed: Float[np.ndarray, "seed metric query"]
    """Value of each metric in `METRICS` for each seed and query column."""

    @property
    def values(self) -> Float[np.ndarray, "metric query"]:
        """The metrics of each query column, averaged over the seeds."""
        return self.by_seed.mean(axis=0)

    @property
    def spread(self) -> float:
        """The range of the mean average precision over the seeds: the greatest minus the least."""
        return float(np.ptp(self.by_seed[:, 0].mean(axis=1)))


def as_text(title: str, rows: Mapping[str, Measured]) -> str:
    """Format the comparison on one lake, in percent.

    Args:
        title: The lake and what was read of it.
        rows: The scorers; all others are subtracted from the last.
    """
    last = [*rows.values()][-1]
    bootstrap = Bootstrap(last.values.shape[1])
    headers = ["", *METRICS, "seeds", "spread of MAP", *(f"last - this: {m}" for m in METRICS)]
    cells = [[name, *_cells(row, last, bootstrap)] for name, row in rows.items()]
    return f"{title}\n\n{tabulate(cells, headers=headers, disable_numparse=True)}\n"


def _cells(row: Measured, last: Measured, bootstrap: Bootstrap) -> Iterator[str]:
    for values in row.values:
        yield _interval(bootstrap.interval(values), ".1f")
    seeds = len(row.by_seed)
    yield from (str(seeds), f"{100 * row.spread:.1f}" if seeds > 1 else "")
    if row is last:
        return
    for values in last.values - row.values:
        difference = bootstrap.interval(values)
        yield _interval(difference, "+.1f") + (" *" if difference.excludes_zero else "")


def _interval(interval: Interval, number_format: str) -> str:
    mean, low, high = (
        f"{100 * value:{number_format}}" for value in (interval.mean, interval.low, interval.high)
    )
    return f"{mean} ({low} to {high})"
