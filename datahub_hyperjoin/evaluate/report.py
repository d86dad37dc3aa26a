"""Report the results of an evaluation, as text for people and as CSV for programs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import pandas as pd
from jaxtyping import Float
from tabulate import tabulate

from datahub_hyperjoin.evaluate.labelled_lake import Rankings
from datahub_hyperjoin.evaluate.metrics import (
    COHERENCE_CUTOFF,
    CUTOFFS,
    Bootstrap,
    Interval,
    Reliability,
    expected_error,
)
from datahub_hyperjoin.evaluate.run import LakeResult, MethodRuns
from datahub_hyperjoin.storage import replacing

# A summary has means, confidence intervals and differences between methods.

COMPARED = ("P@15", "R@15")
"""The main metrics, shown with the interval of the difference between methods."""
SHARE = "P@15 of ceiling"
"""`P@15` divided by the `P@15` of a perfect ranking."""
COHERENCE = f"coherence@{COHERENCE_CUTOFF}"
"""Share of pairs of candidates that join with each other."""
ERROR = "ECE"
"""The expected calibration error."""
_RANKED = (*(f"{letter}@{cutoff}" for letter in "PR" for cutoff in CUTOFFS), "MAP", "MRR")
METRICS = (*_RANKED, COHERENCE, SHARE, ERROR)
"""All metrics; `ECE` only exists for methods whose scores lie in [0, 1]."""


@dataclass(frozen=True)
class MetricSummary:
    """One metric of one ranking method, averaged over query columns and seeds."""

    # Mean over all query columns, with its interval. Each query column is first averaged over
    # seeds.
    value: Interval
    # Mean of the paired differences to the first method; None for the first method itself.
    difference: Interval | None
    # Difference between the best and the worst seed, each averaged over all query columns.
    spread: float


@dataclass(frozen=True)
class MethodSummary:
    """A summary of the runs of one ranking method on one lake."""

    name: str  # the name shown in reports
    metrics: Mapping[str, MetricSummary]  # the metrics by name
    # Calibration of the scores; None without candidates or with scores outside [0, 1].
    reliability: Reliability | None
    seeds: int  # number of runs, each with a seed of its own
    seconds: float  # mean run time per seed
    megabytes: float  # greatest peak memory of all seeds (MiB)
    trained: int  # number of networks trained, over all seeds
    fault: str  # reason of the first failure; empty if no seed failed


def ceilings(result: LakeResult) -> dict[str, float]:
    """For each main metric, return the value that a perfect ranking reaches."""
    runs = result.methods[0].runs
    return {
        metric: float(
            np.nanmean(
                _aligned(result, [run.scores[f"{metric} ceiling"] for run in runs]), 0
            ).mean()
        )
        for metric in COMPARED
    }


@lru_cache(maxsize=32)
def summarise(result: LakeResult) -> tuple[MethodSummary, ...]:
    """Summarise the runs of each ranking method on a lake."""
    bootstrap = Bootstrap(len(result.queries))
    first, *others = (_Values(result, method, bootstrap) for method in result.methods)
    return (first.summary(None), *(other.summary(first) for other in others))


def _aligned(
    result: LakeResult, seeds: Sequence[Float[np.ndarray, "query ..."]]
) -> Float[np.ndarray, "seed query ..."]:
    """Combine the values of all seeds in one array, aligned by query column."""
    # Lakes of different seeds may have different query columns; means ignore the gaps.
    positions = {query: position for position, query in enumerate(result.queries)}
    aligned = np.full((len(seeds), len(positions), *seeds[0].shape[1:]), np.nan)
    for row, lake, values in zip(aligned, result.lakes, seeds, strict=True):
        row[[positions[query] for query in lake.labelled.truth]] = values
    return aligned


class _Values:
    """The values of one ranking method, for each seed and query column."""

    def __init__(self, result: LakeResult, method: MethodRuns, bootstrap: Bootstrap) -> None:
        self._method, self._bootstrap = method, bootstrap
        self.scores = {
            metric: _aligned(result, [run.scores[metric] for run in method.runs])
            for metric in (*_RANKED, COHERENCE, "P@15 ceiling")
        }
        self._errors: list[float] = []
        self.reliability: Reliability | None = None
        binned = [run.binned for run in method.runs if run.binned is not None]
        if len(binned) == len(method.runs) and any(scores.any() for scores in binned):
            seeds = _aligned(result, binned)
            self.reliability = Reliability.of(np.nanmean(seeds, axis=0), bootstrap)
            self._errors = [float(expected_error(seed)) for seed in np.nanmean(seeds, axis=1)]

    def summary(self, first: "_Values | None") -> MethodSummary:
        """Summarise the runs of this ranking method, and compare them with the runs of `first`."""
        runs, metrics = self._method.runs, {}
        for metric in (*_RANKED, COHERENCE):
            metrics[metric] = self._metric(metric, first)
        ceiling = np.nanmean(self.scores["P@15 ceiling"], axis=0)
        metrics[SHARE] = self._metric("P@15", first, ceiling)
        if own := self.reliability:
            other = first.reliability if first else None
            difference = own.difference_to(other) if other else None
            metrics[ERROR] = MetricSummary(own.error(), difference, float(np.ptp(self._errors)))
        return MethodSummary(
            name=self._method.method.name,
            metrics=metrics,
            reliability=self.reliability,
            seeds=len(runs),
            seconds=float(np.mean([run.cost.seconds for run in runs])),
            megabytes=max(run.cost.megabytes for run in runs),
            trained=sum(run.trained for run in runs),
            fault=next((run.fault for run in runs if run.fault), ""),
        )

    def _metric(
        self,
        metric: str,
        first: "_Values | None",
        ceiling: Float[np.ndarray, " query"] | None = None,
    ) -> MetricSummary:
        """Summarise a metric of this method, and compare it with the same metric of `first`."""
        values = self.scores[metric]
        means, difference = np.nanmean(values, axis=0), None
        if first:
            others = np.nanmean(first.scores[metric], axis=0)
            difference = self._bootstrap.interval(means - others, ceiling)
        greatest = 1.0 if ceiling is None else float(ceiling.mean())
        spread = float(np.ptp(np.nanmean(values, axis=1))) / greatest
        return MetricSummary(self._bootstrap.interval(means, ceiling), difference, spread)


_HEADER = ["query_table", "query_column", "rank", "candidate_table", "candidate_column", "score"]


def write_predictions(path: Path, rankings: Rankings) -> None:
    """Write rankings to a CSV file, one line per candidate."""
    lines = [
        [*query, rank, *candidate, float(score)]
        for query, ranking in rankings.items()
        for rank, (candidate, score) in enumerate(ranking, start=1)
    ]
    _write(path, _csv(pd.DataFrame(lines, columns=_HEADER)))


def _csv(table: pd.DataFrame) -> str:
    return table.to_csv(index=False, float_format="%.6f", lineterminator="\n")


def _write(path: Path, text: str) -> None:
    with replacing(path, private=False) as file:
        file.write_text(text, "utf-8", newline="\n")


_PLAIN = ("R@5", "MAP", "MRR", COHERENCE, SHARE)
"""Metrics shown without intervals."""
_PERCENT = 100


def as_text(result: LakeResult) -> str:
    """Format the results on one lake as a text table, in percent."""
    summaries = summarise(result)
    compared = [each for metric in COMPARED for each in (f"{metric} (95 %)", "difference (95 %)")]
    last = (f"{ERROR} (95 %)", "spread", "networks", "seconds", "MiB")
    headers = ["method", *compared, *_PLAIN, *last]
    cells = [[*_cells(summary)] for summary in summaries]
    failures = [f"{summary.name} failed: {summary.fault}" for summary in summaries if summary.fault]
    notes = [
        "All metrics are in percent; (95 %) marks 95 % confidence intervals.",
        "difference: paired difference to the first row.",
        "*: the 95 % interval of the difference to the first row excludes zero.",
        f"{ERROR}: expected calibration error of all scores; - if a score lies outside [0, 1].",
        f"spread: greatest minus least P@15 over seeds; number of seeds: {summaries[0].seeds}.",
        "networks: networks trained; a row that reuses the network of another row trains none.",
    ]
    table = tabulate(cells, headers=headers, disable_numparse=True)
    return "\n".join([_headline(result), "", table, "", *notes, *failures])


def _headline(result: LakeResult) -> str:
    lakes = [lake.labelled for lake in result.lakes]
    bounds = (f"{metric} {_PERCENT * bound:.1f}" for metric, bound in ceilings(result).items())
    columns = sum(len(header) for lake in lakes for header in lake.headers.values())
    parts = f" in {len(lakes)} parts" if lakes[0].part and len(lakes) > 1 else ""
    return (
        f"{result.name}: {len(lakes[0].headers)} tables, {round(columns / len(lakes))} columns, "
        f"{len(result.queries)} query columns{parts}, profiled in "
        f"{result.lakes[0].seconds:.0f} s; a perfect ranking reaches {', '.join(bounds)}"
    )


def _cells(summary: MethodSummary) -> Iterator[str]:
    yield summary.name
    for metric in COMPARED:
        values = summary.metrics[metric]
        yield _interval(values.value)
        yield f"{_interval(values.difference, '+.2f')}{_mark(values)}" if values.difference else ""
    for metric in _PLAIN:
        values = summary.metrics[metric]
        yield f"{_PERCENT * values.value.mean:.1f}{_mark(values)}"
    error = summary.metrics.get(ERROR)
    yield f"{_interval(error.value)}{_mark(error)}" if error else "-"
    yield f"{_PERCENT * summary.metrics['P@15'].spread:.1f}" if summary.seeds > 1 else ""
    yield str(summary.trained)
    yield f"{summary.seconds:.0f}"
    yield f"{summary.megabytes:.0f}"


def _mark(metric: MetricSummary) -> str:
    return " *" if metric.difference and metric.difference.excludes_zero else ""


def _interval(interval: Interval, number_format: str = ".1f") -> str:
    bounds = (interval.mean, interval.low, interval.high)
    mean, low, high = (f"{_PERCENT * value:{number_format}}" for value in bounds)
    return f"{mean} ({low} to {high})"


def as_csv(results: Sequence[LakeResult]) -> str:
    """Format results as CSV."""
    return _csv(pd.DataFrame([line for result in results for line in _lines(result)]))


def _lines(result: LakeResult) -> Iterator[dict[str, object]]:
    """Yield one CSV row for each method and metric."""
    for summary in summarise(result):
        for metric, values in summary.metrics.items():
            value, difference = values.value, values.difference
            yield {
                "lake": result.name,
                "method": summary.name,
                "metric": metric,
                "mean": value.mean,
                "low": value.low,
                "high": value.high,
                "difference": difference and difference.mean,
                "difference_low": difference and difference.low,
                "difference_high": difference and difference.high,
                "excludes_zero": difference and str(difference.excludes_zero).lower(),
                "spread_over_seeds": values.spread,
                "seeds": summary.seeds,
                "seconds": f"{summary.seconds:.1f}",
                "mebibytes": f"{summary.megabytes:.0f}",
                "networks_trained": summary.trained,
                "fault": summary.fault,
            }


def write_results(folder: Path, results: Sequence[LakeResult], *, apart: bool) -> None:
    """Write the results and rankings to a folder, with a subfolder for each lake if `apart`."""
    folder.mkdir(parents=True, exist_ok=True)
    text = "\n\n".join(as_text(result) for result in results)
    _write(folder / "evaluation.txt", f"{text}\n")
    _write(folder / "evaluation.csv", as_csv(results))
    for result in results:
        lake_folder = folder / result.lakes[0].labelled.slug if apart else folder
        for method in result.methods:
            for seed, run in enumerate(method.runs):
                suffix = f"-seed-{seed}" if seed else ""
                file = lake_folder / f"predictions-{method.method.slug}{suffix}.csv"
                write_predictions(file, run.rankings)
