"""Means, intervals and differences of what was measured, over queries and seeds."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from jaxtyping import Float

from datahub_hyperjoin.evaluate.bootstrap import Bootstrap, Interval
from datahub_hyperjoin.evaluate.calibration import Reliability, expected_error
from datahub_hyperjoin.evaluate.metrics import COHERENT, CUTOFFS
from datahub_hyperjoin.evaluate.run import LakeResult, MethodRuns

COMPARED = ("P@15", "R@15")
"""What methods are compared by first."""
SHARE = "P@15 of ceiling"
"""Precision as a share of a perfect ranking's."""
COHERENCE = f"coherence@{COHERENT}"
"""How well answers fit together."""
ERROR = "ECE"
"""The expected calibration error."""
_SCORED = (*(f"{letter}@{cutoff}" for letter in "PR" for cutoff in CUTOFFS), "MAP", "MRR")
METRICS = (*_SCORED, COHERENCE, SHARE, ERROR)
"""What is reported, `ECE` of methods only whose scores lie in [0, 1]."""


@dataclass(frozen=True)
class Figure:
    """One metric of one method on one benchmark, over queries and seeds."""

    value: Interval
    """The mean over seeds of each query, its mean over queries, and that one's interval."""

    difference: Interval | None
    """From the first method, query by query; of the first itself there is none."""

    spread: float
    """Greatest less least mean over queries, of all seeds."""


@dataclass(frozen=True)
class Row:
    """One method on one benchmark."""

    name: str
    figures: Mapping[str, Figure]
    """By metric."""

    reliability: Reliability | None
    """What its scores say; nothing if they lie outside [0, 1], or if there are none."""

    seeds: int
    seconds: float
    """Mean of a seed."""

    megabytes: float
    """Greatest of all seeds (MiB)."""

    trained: int
    """Networks trained, over all seeds."""

    fault: str
    """Why it failed with some seed; empty if it did not."""


def ceilings(result: LakeResult) -> dict[str, float]:
    """What a perfect ranking has.

    Args:
        result: What was measured on a benchmark.

    Returns:
        By metric that has a ceiling short of 1.
    """
    method = _Aligned(result, result.methods[0])
    return {metric: float(method.mean(f"{metric} ceiling").mean()) for metric in COMPARED}


@lru_cache(maxsize=32)
def summarise(result: LakeResult) -> tuple[Row, ...]:
    """Means, intervals and differences of every method on a benchmark.

    Texts, files and pictures all ask for them, so that the last ones are remembered.

    Args:
        result: What was measured.

    Returns:
        One row a method, in their order.
    """
    bootstrap = Bootstrap(len(result.queries))
    first, *others = (_Measured(result, method, bootstrap) for method in result.methods)
    return (first.row(None), *(other.row(first) for other in others))


class _Aligned:
    """One method's values, a row a seed and a place for each query that any seed asks.

    Args:
        result: What was measured on a benchmark.
        method: Of which method.
    """

    def __init__(self, result: LakeResult, method: MethodRuns) -> None:
        self.runs, self._lakes = method.runs, result.lakes
        self._places = {query: place for place, query in enumerate(result.queries)}

    def scores(self, metric: str) -> Float[np.ndarray, "seed query"]:
        """A metric; NaN where a seed does not ask a query."""
        return self._aligned([run.scores[metric] for run in self.runs])

    def mean(self, metric: str) -> Float[np.ndarray, " query"]:
        """A metric's mean over the seeds that ask a query."""
        return np.nanmean(self.scores(metric), axis=0)

    def tally(self) -> Float[np.ndarray, "seed query bin fact"] | None:
        """What scores say; nothing if there are no answers, or one that is no probability."""
        found = [run.scored for run in self.runs]
        told = [one for one in found if one is not None]
        if len(told) < len(found) or not any(one.any() for one in told):
            return None
        return self._aligned(told)

    def _aligned(
        self, seeds: Sequence[Float[np.ndarray, "query ..."]]
    ) -> Float[np.ndarray, "seed query ..."]:
        shape = (len(seeds), len(self._places), *seeds[0].shape[1:])
        found = np.full(shape, np.nan)
        for row, lake, values in zip(found, self._lakes, seeds, strict=True):
            row[[self._places[query] for query in lake.suite.truth]] = values
        return found


class _Measured:
    """One method's figures.

    Args:
        result: What was measured on a benchmark.
        method: Of which method.
        bootstrap: Draws of the queries.
    """

    def __init__(self, result: LakeResult, method: MethodRuns, bootstrap: Bootstrap) -> None:
        self.name, self._bootstrap = method.method.name, bootstrap
        self.values = _Aligned(result, method)
        self._tally = self.values.tally()
        self.reliability: Reliability | None = None
        if self._tally is not None:
            self.reliability = Reliability.of(np.nanmean(self._tally, axis=0), bootstrap)

    def row(self, first: "_Measured | None") -> Row:
        """All there is to say.

        Args:
            first: The method it is compared with; none if it is that one.
        """
        runs = self.values.runs
        return Row(
            name=self.name,
            figures=dict(self._figures(first)),
            reliability=self.reliability,
            seeds=len(runs),
            seconds=float(np.mean([run.cost.seconds for run in runs])),
            megabytes=max(run.cost.megabytes for run in runs),
            trained=sum(run.trained for run in runs),
            fault=next((run.fault for run in runs if run.fault), ""),
        )

    def _figures(self, first: "_Measured | None") -> Iterator[tuple[str, Figure]]:
        for metric in (*_SCORED, COHERENCE):
            yield metric, self._figure(metric, first)
        yield SHARE, self._figure("P@15", first, ceiling=self.values.mean("P@15 ceiling"))
        if self.reliability is not None and self._tally is not None:
            other = first.reliability if first is not None else None
            errors = [float(expected_error(one)) for one in np.nanmean(self._tally, axis=1)]
            difference = self.reliability.less(other) if other is not None else None
            yield ERROR, Figure(self.reliability.error(), difference, max(errors) - min(errors))

    def _figure(
        self,
        metric: str,
        first: "_Measured | None",
        *,
        ceiling: Float[np.ndarray, " query"] | None = None,
    ) -> Figure:
        own, difference = self.values.mean(metric), None
        if first is not None:
            difference = self._bootstrap.interval(own - first.values.mean(metric), ceiling)
        seeds = np.nanmean(self.values.scores(metric), axis=1)
        most = 1.0 if ceiling is None else float(ceiling.mean())
        return Figure(
            value=self._bootstrap.interval(own, ceiling),
            difference=difference,
            spread=float(np.ptp(seeds)) / most,
        )
