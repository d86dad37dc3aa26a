"""Report the results of an evaluation, as text for people and as CSV for programs."""

import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path

from tabulate import tabulate

from datahub_hyperjoin.evaluate.bootstrap import Interval
from datahub_hyperjoin.evaluate.predictions import write_predictions
from datahub_hyperjoin.evaluate.run import LakeResult
from datahub_hyperjoin.evaluate.summary import (
    COHERENCE,
    COMPARED,
    ERROR,
    SHARE,
    MethodSummary,
    MetricSummary,
    ceilings,
    summarise,
)
from datahub_hyperjoin.storage import replacing

_PLAIN = ("R@5", "MAP", "MRR", COHERENCE, SHARE)
"""Metrics shown without intervals."""
_PERCENT = 100


def as_text(result: LakeResult) -> str:
    """Format the results on one lake as a text table, in percent.

    Returns:
        A line about the lake, the table, and the explanation of its columns.
    """
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
    """Format results as CSV.

    Each row has one lake, method and metric, with values in [0, 1].
    """
    lines = [line for result in results for line in _lines(result)]
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(lines[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    return text.getvalue()


def _lines(result: LakeResult) -> Iterator[dict[str, object]]:
    """Yield one CSV row for each method and metric.

    A new metric thus adds rows, not columns.
    """
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
    """Write the results and rankings to a folder, with a subfolder for each lake if `apart`.

    The results are in `evaluation.txt` and `evaluation.csv`, and the rankings of each method and
    seed in a file `predictions-*.csv`.

    Args:
        folder: The folder; it is created if necessary.
        results: One result per lake.
        apart: Whether the rankings of each lake go to a folder with the lake's name.
    """
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
