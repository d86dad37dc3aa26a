"""Report the results of an evaluation, as text for people and as CSV for programs."""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
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
    values = _QueryValues(result, result.methods[0])
    return {metric: float(values.mean(f"{metric} ceiling").mean()) for metric in COMPARED}


@lru_cache(maxsize=32)
def summarise(result: LakeResult) -> tuple[MethodSummary, ...]:
    """Summarise the runs of each ranking method on a lake."""
    bootstrap = Bootstrap(len(result.queries))
    first, *others = (_Summariser(result, method, bootstrap) for method in result.methods)
    return (first.summary(None), *(other.summary(first) for other in others))


class _QueryValues:
    """The metric values of one ranking method, for each seed and query column."""

    def __init__(self, result: LakeResult, method: MethodRuns) -> None:
        self.runs, self._lakes = method.runs, result.lakes
        self._positions = {query: position for position, query in enumerate(result.queries)}

    def scores(self, metric: str) -> Float[np.ndarray, "seed query"]:
        """Return a metric's value for each seed and query column."""
        return self._aligned([run.scores[metric] for run in self.runs])

    def mean(self, metric: str) -> Float[np.ndarray, " query"]:
        """For each query column, return the mean of a metric over all seeds."""
        return np.nanmean(self.scores(metric), axis=0)

    def binned(self) -> Float[np.ndarray, "seed query bin fact"] | None:
        """Return the binned scores for each seed and query column; None if any score is invalid."""
        runs = [run.binned for run in self.runs]
        binned = [scores for scores in runs if scores is not None]
        if len(binned) < len(runs) or not any(scores.any() for scores in binned):
            return None
        return self._aligned(binned)

    def _aligned(
        self, seeds: Sequence[Float[np.ndarray, "query ..."]]
    ) -> Float[np.ndarray, "seed query ..."]:
        """Combine the values of all seeds in one array, aligned by query column."""
        # Lakes of different seeds may have different query columns; means ignore the gaps.
        aligned = np.full((len(seeds), len(self._positions), *seeds[0].shape[1:]), np.nan)
        for row, lake, values in zip(aligned, self._lakes, seeds, strict=True):
            row[[self._positions[query] for query in lake.labelled.truth]] = values
        return aligned


class _Summariser:
    """Computes the summary of one ranking method."""

    def __init__(self, result: LakeResult, method: MethodRuns, bootstrap: Bootstrap) -> None:
        self.name, self._bootstrap = method.method.name, bootstrap
        self.values = _QueryValues(result, method)
        self._binned = self.values.binned()
        self.reliability: Reliability | None = None
        if self._binned is not None:
            self.reliability = Reliability.of(np.nanmean(self._binned, axis=0), bootstrap)

    def summary(self, first: "_Summariser | None") -> MethodSummary:
        """Summarise the runs of this ranking method, and compare them with the runs of `first`."""
        runs = self.values.runs
        return MethodSummary(
            name=self.name,
            metrics=dict(self._metrics(first)),
            reliability=self.reliability,
            seeds=len(runs),
            seconds=float(np.mean([run.cost.seconds for run in runs])),
            megabytes=max(run.cost.megabytes for run in runs),
            trained=sum(run.trained for run in runs),
            fault=next((run.fault for run in runs if run.fault), ""),
        )

    def _metrics(self, first: "_Summariser | None") -> Iterator[tuple[str, MetricSummary]]:
        for metric in (*_RANKED, COHERENCE):
            yield metric, self._metric(metric, first)
        yield SHARE, self._metric("P@15", first, ceiling=self.values.mean("P@15 ceiling"))
        if self.reliability is not None and self._binned is not None:
            reference = first.reliability if first is not None else None
            errors = [float(expected_error(seed)) for seed in np.nanmean(self._binned, axis=1)]
            difference = (
                self.reliability.difference_to(reference) if reference is not None else None
            )
            yield (
                ERROR,
                MetricSummary(self.reliability.error(), difference, max(errors) - min(errors)),
            )

    def _metric(
        self,
        metric: str,
        first: "_Summariser | None",
        *,
        ceiling: Float[np.ndarray, " query"] | None = None,
    ) -> MetricSummary:
        """Summarise a metric of this method, and compare it with the same metric of `first`."""
        means, difference = self.values.mean(metric), None
        if first is not None:
            difference = self._bootstrap.interval(means - first.values.mean(metric), ceiling)
        seeds = np.nanmean(self.values.scores(metric), axis=1)
        greatest = 1.0 if ceiling is None else float(ceiling.mean())
        return MetricSummary(
            value=self._bootstrap.interval(means, ceiling),
            difference=difference,
            spread=float(np.ptp(seeds)) / greatest,
        )


_HEADER = (
    "query_table",
    "query_column",
    "rank",
    "candidate_table",
    "candidate_column",
    "score",
)


def write_predictions(path: Path, rankings: Rankings) -> None:
    """Write rankings to a CSV file, one line per candidate."""
    with (
        replacing(path, private=False) as unfinished,
        unfinished.open("w", encoding="utf-8", newline="") as opened,
    ):
        writer = csv.writer(opened, lineterminator="\n")
        writer.writerow(_HEADER)
        for query, ranking in rankings.items():
            for rank, (candidate, score) in enumerate(ranking, start=1):
                writer.writerow([*query, rank, *candidate, f"{score:.6f}"])


_PLAIN = ("R@5", "MAP", "MRR", COHERENCE, SHARE)
"""Metrics shown without intervals."""
_PERCENT = 100


def as_text(result: LakeResult) -> str:
    """Format the results on one lake as a text table, in percent."""
    summaries = summarise(result)
    headers = ["method"]
    for metric in COMPARED:
        headers += [f"{metric} (95 %)", "difference (95 %)"]
    headers += [*_PLAIN, f"{ERROR} (95 %)", "spread", "networks", "seconds", "MiB"]
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
        yield _plain(summary.metrics[metric])
    error = summary.metrics.get(ERROR)
    yield f"{_interval(error.value)}{_mark(error)}" if error else "-"
    yield f"{_PERCENT * summary.metrics['P@15'].spread:.1f}" if summary.seeds > 1 else ""
    yield str(summary.trained)
    yield f"{summary.seconds:.0f}"
    yield f"{summary.megabytes:.0f}"


def _plain(metric: MetricSummary) -> str:
    return f"{_PERCENT * metric.value.mean:.1f}{_mark(metric)}"


def _mark(metric: MetricSummary) -> str:
    return " *" if metric.difference and metric.difference.excludes_zero else ""


def _interval(interval: Interval, number_format: str = ".1f") -> str:
    mean, low, high = (
        f"{_PERCENT * value:{number_format}}"
        for value in (interval.mean, interval.low, interval.high)
    )
    return f"{mean} ({low} to {high})"


def as_csv(results: Sequence[LakeResult]) -> str:
    """Format results as CSV."""
    lines = [line for result in results for line in _lines(result)]
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(lines[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    return text.getvalue()


def _lines(result: LakeResult) -> Iterator[dict[str, object]]:
    """Yield one CSV row for each method and metric."""
    for summary in summarise(result):
        for metric, values in summary.metrics.items():
            difference = values.difference
            yield {
                "lake": result.name,
                "method": summary.name,
                "metric": metric,
                "mean": f"{values.value.mean:.6f}",
                "low": f"{values.value.low:.6f}",
                "high": f"{values.value.high:.6f}",
                "difference": f"{difference.mean:.6f}" if difference else "",
                "difference_low": f"{difference.low:.6f}" if difference else "",
                "difference_high": f"{difference.high:.6f}" if difference else "",
                "excludes_zero": str(difference.excludes_zero).lower() if difference else "",
                "spread_over_seeds": f"{values.spread:.6f}",
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
    for name, content in (("evaluation.txt", f"{text}\n"), ("evaluation.csv", as_csv(results))):
        with replacing(folder / name, private=False) as file:
            file.write_text(content, "utf-8")
    for result in results:
        lake_folder = folder / result.lakes[0].labelled.slug if apart else folder
        for method in result.methods:
            for seed, run in enumerate(method.runs):
                suffix = f"-seed-{seed}" if seed else ""
                file = lake_folder / f"predictions-{method.method.slug}{suffix}.csv"
                write_predictions(file, run.rankings)
