"""What was measured, as a table for people and as one for programs."""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float
from tabulate import tabulate

from datahub_hyperjoin.evaluate.bootstrap import Bootstrap, Interval
from datahub_hyperjoin.evaluate.metrics import COHERENT, CUTOFFS
from datahub_hyperjoin.evaluate.predictions import write_predictions
from datahub_hyperjoin.evaluate.run import LakeResult, MethodRuns

_SHARE = "P@15 of ceiling"
_METRICS = tuple(f"{letter}@{cutoff}" for letter in "PR" for cutoff in CUTOFFS)
_COHERENCE = f"coherence@{COHERENT}"
METRICS = (*_METRICS, "MAP", "MRR", _COHERENCE, _SHARE)
"""What is reported."""
_COMPARED = ("P@15", "R@15")
_PLAIN = ("R@5", "MAP", "MRR", _COHERENCE, _SHARE)
_PERCENT = 100


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
    seeds: int
    seconds: float
    """Mean of a seed."""

    megabytes: float
    """Greatest of all seeds (MiB)."""

    trained: int
    """Networks trained, over all seeds."""

    fault: str
    """Why it failed with some seed; empty if it did not."""


def summarise(result: LakeResult) -> tuple[Row, ...]:
    """Means, intervals and differences of every method on a benchmark.

    Args:
        result: What was measured.

    Returns:
        One row a method, in their order.
    """
    bootstrap = Bootstrap(len(result.lake.suite.truth))
    first, *_ = result.methods
    return tuple(_row(method, first, bootstrap) for method in result.methods)


def _row(method: MethodRuns, first: MethodRuns, bootstrap: Bootstrap) -> Row:
    reference = None if method is first else first
    runs = method.runs
    return Row(
        name=method.method.name,
        figures={metric: _figure(metric, method, reference, bootstrap) for metric in METRICS},
        seeds=len(runs),
        seconds=float(np.mean([run.cost.seconds for run in runs])),
        megabytes=max(run.cost.megabytes for run in runs),
        trained=sum(run.trained for run in runs),
        fault=next((run.fault for run in runs if run.fault), ""),
    )


def _figure(
    metric: str, method: MethodRuns, reference: MethodRuns | None, bootstrap: Bootstrap
) -> Figure:
    base = "P@15" if metric == _SHARE else metric
    ceiling = method.runs[0].scores["P@15 ceiling"] if metric == _SHARE else None
    seeds = _by_seed(method, base)
    own = seeds.mean(axis=0)
    difference = None
    if reference is not None:
        other = _by_seed(reference, base).mean(axis=0)
        difference = bootstrap.interval(own - other, ceiling)
    over = 1.0 if ceiling is None else float(ceiling.mean())
    return Figure(
        value=bootstrap.interval(own, ceiling),
        difference=difference,
        spread=float(np.ptp(seeds.mean(axis=1))) / over,
    )


def _by_seed(method: MethodRuns, metric: str) -> Float[np.ndarray, "seed query"]:
    return np.stack([run.scores[metric] for run in method.runs])


def as_text(result: LakeResult) -> str:
    """A benchmark's table for people; everything but costs is in percent.

    Args:
        result: What was measured.

    Returns:
        A line on the benchmark, the table, and what its marks mean.
    """
    rows = summarise(result)
    headers = ["method"]
    for metric in _COMPARED:
        headers += [f"{metric} (95 %)", "difference (95 %)"]
    headers += [*_PLAIN, "spread", "trained", "s", "MiB"]
    cells = [[*_cells(row)] for row in rows]
    faults = [f"{row.name} failed: {row.fault}" for row in rows if row.fault]
    notes = [
        "difference: to the first row, query by query.",
        "*: the interval of the difference to the first row excludes zero, shown here or not.",
        f"spread: of P@15 over seeds, greatest less least; {rows[0].seeds} run.",
        "A row that trained no network uses another's; s does not hold that one's training.",
    ]
    table = tabulate(cells, headers=headers, disable_numparse=True)
    return "\n".join([_headline(result), "", table, "", *notes, *faults])


def _headline(result: LakeResult) -> str:
    lake = result.lake
    suite = lake.suite
    ceilings = result.methods[0].runs[0].scores
    bounds = ", ".join(
        f"{metric} {_PERCENT * ceilings[f'{metric} ceiling'].mean():.1f}" for metric in _COMPARED
    )
    columns = sum(map(len, suite.headers.values()))
    return (
        f"{suite.name}: {len(suite.headers)} tables, {columns} columns, {len(suite.truth)} "
        f"queries, profiled in {lake.seconds:.0f} s; a perfect ranking has {bounds}"
    )


def _cells(row: Row) -> Iterator[str]:
    yield row.name
    for metric in _COMPARED:
        figure = row.figures[metric]
        yield _interval(figure.value)
        yield _interval(figure.difference, difference=True) if figure.difference else ""
    for metric in _PLAIN:
        yield _plain(row.figures[metric])
    yield f"{_PERCENT * row.figures['P@15'].spread:.1f}" if row.seeds > 1 else ""
    yield str(row.trained)
    yield f"{row.seconds:.0f}"
    yield f"{row.megabytes:.0f}"


def _plain(figure: Figure) -> str:
    mark = " *" if figure.difference and figure.difference.excludes_zero else ""
    return f"{_PERCENT * figure.value.mean:.1f}{mark}"


def _interval(interval: Interval, *, difference: bool = False) -> str:
    # Differences are small, and one that is not zero should not look like it.
    shape = "+.2f" if difference else ".1f"
    mean, low, high = (
        f"{_PERCENT * value:{shape}}" for value in (interval.mean, interval.low, interval.high)
    )
    mark = " *" if difference and interval.excludes_zero else ""
    return f"{mean} ({low} to {high}){mark}"


def as_csv(results: Sequence[LakeResult]) -> str:
    """All benchmarks for programs: a line a benchmark, method and metric, values in [0, 1].

    Args:
        results: What was measured.

    Returns:
        CSV with a header.
    """
    opened = io.StringIO()
    lines = [line for result in results for line in _lines(result)]
    writer = csv.DictWriter(opened, fieldnames=list(lines[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    return opened.getvalue()


def _lines(result: LakeResult) -> Iterator[dict[str, object]]:
    for row in summarise(result):
        for metric, figure in row.figures.items():
            difference = figure.difference
            yield {
                "lake": result.lake.suite.name,
                "method": row.name,
                "metric": metric,
                "mean": f"{figure.value.mean:.6f}",
                "low": f"{figure.value.low:.6f}",
                "high": f"{figure.value.high:.6f}",
                "difference": f"{difference.mean:.6f}" if difference else "",
                "difference_low": f"{difference.low:.6f}" if difference else "",
                "difference_high": f"{difference.high:.6f}" if difference else "",
                "excludes_zero": str(difference.excludes_zero).lower() if difference else "",
                "spread_over_seeds": f"{figure.spread:.6f}",
                "seeds": row.seeds,
                "seconds": f"{row.seconds:.1f}",
                "mebibytes": f"{row.megabytes:.0f}",
                "networks_trained": row.trained,
                "fault": row.fault,
            }


def write_results(folder: Path, results: Sequence[LakeResult], *, apart: bool) -> None:
    """Writes both tables and every method's answers.

    Args:
        folder: Where; it is made where it is missing.
        results: What was measured.
        apart: Whether each benchmark's answers have a folder of its name.
    """
    folder.mkdir(parents=True, exist_ok=True)
    text = "\n\n".join(as_text(result) for result in results)
    folder.joinpath("evaluation.txt").write_text(f"{text}\n", "utf-8")
    folder.joinpath("evaluation.csv").write_text(as_csv(results), "utf-8")
    for result in results:
        place = folder / result.lake.suite.name if apart else folder
        for method in result.methods:
            for seed, run in enumerate(method.runs):
                which = f"-seed-{seed}" if seed else ""
                file = place / f"predictions-{method.method.slug}{which}.csv"
                write_predictions(file, run.rankings)
