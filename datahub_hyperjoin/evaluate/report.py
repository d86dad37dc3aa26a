"""What was measured, as a table for people and as one for programs."""

import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path

from tabulate import tabulate

from datahub_hyperjoin.evaluate.bootstrap import Interval
from datahub_hyperjoin.evaluate.pictures import write_pictures
from datahub_hyperjoin.evaluate.predictions import write_predictions
from datahub_hyperjoin.evaluate.run import LakeResult
from datahub_hyperjoin.evaluate.summary import (
    COHERENCE,
    COMPARED,
    ERROR,
    SHARE,
    Figure,
    Row,
    ceilings,
    summarise,
)

_PLAIN = ("R@5", "MAP", "MRR", COHERENCE, SHARE)
_PERCENT = 100


def as_text(result: LakeResult) -> str:
    """A benchmark's table for people; everything but costs is in percent.

    Args:
        result: What was measured.

    Returns:
        A line on the benchmark, the table, and what its marks mean.
    """
    rows = summarise(result)
    headers = ["method"]
    for metric in COMPARED:
        headers += [f"{metric} (95 %)", "difference (95 %)"]
    headers += [*_PLAIN, f"{ERROR} (95 %)", "spread", "trained", "s", "MiB"]
    cells = [[*_cells(row)] for row in rows]
    faults = [f"{row.name} failed: {row.fault}" for row in rows if row.fault]
    notes = [
        "difference: to the first row, query by query.",
        "*: the interval of the difference to the first row excludes zero, shown here or not.",
        f"{ERROR}: of scores, over all answers ranked; - where they are not in [0, 1].",
        f"spread: of P@15 over seeds, greatest less least; {rows[0].seeds} run.",
        "A row that trained no network uses another's; s does not hold that one's training.",
    ]
    table = tabulate(cells, headers=headers, disable_numparse=True)
    return "\n".join([_headline(result), "", table, "", *notes, *faults])


def _headline(result: LakeResult) -> str:
    suites = [lake.suite for lake in result.lakes]
    bounds = (f"{metric} {_PERCENT * most:.1f}" for metric, most in ceilings(result).items())
    columns = sum(len(header) for suite in suites for header in suite.headers.values())
    parts = f" of {len(suites)} parts" if suites[0].part and len(suites) > 1 else ""
    return (
        f"{result.name}: {len(suites[0].headers)} tables, {round(columns / len(suites))} columns, "
        f"{len(result.queries)} queries{parts}, profiled in {result.lakes[0].seconds:.0f} s; "
        f"a perfect ranking has {', '.join(bounds)}"
    )


def _cells(row: Row) -> Iterator[str]:
    yield row.name
    for metric in COMPARED:
        figure = row.figures[metric]
        yield _interval(figure.value)
        yield f"{_interval(figure.difference, '+.2f')}{_mark(figure)}" if figure.difference else ""
    for metric in _PLAIN:
        yield _plain(row.figures[metric])
    error = row.figures.get(ERROR)
    yield f"{_interval(error.value)}{_mark(error)}" if error else "-"
    yield f"{_PERCENT * row.figures['P@15'].spread:.1f}" if row.seeds > 1 else ""
    yield str(row.trained)
    yield f"{row.seconds:.0f}"
    yield f"{row.megabytes:.0f}"


def _plain(figure: Figure) -> str:
    return f"{_PERCENT * figure.value.mean:.1f}{_mark(figure)}"


def _mark(figure: Figure) -> str:
    return " *" if figure.difference and figure.difference.excludes_zero else ""


def _interval(interval: Interval, shape: str = ".1f") -> str:
    mean, low, high = (
        f"{_PERCENT * value:{shape}}" for value in (interval.mean, interval.low, interval.high)
    )
    return f"{mean} ({low} to {high})"


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
                "lake": result.name,
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
    """Writes both tables, the pictures and every method's answers.

    Args:
        folder: Where; it is made where it is missing.
        results: What was measured.
        apart: Whether each benchmark's answers have a folder of its name.

    Raises:
        MissingPlotterError: matplotlib is not installed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    text = "\n\n".join(as_text(result) for result in results)
    folder.joinpath("evaluation.txt").write_text(f"{text}\n", "utf-8")
    folder.joinpath("evaluation.csv").write_text(as_csv(results), "utf-8")
    write_pictures(folder, results)
    for result in results:
        place = folder / result.lakes[0].suite.slug if apart else folder
        for method in result.methods:
            for seed, run in enumerate(method.runs):
                which = f"-seed-{seed}" if seed else ""
                file = place / f"predictions-{method.method.slug}{which}.csv"
                write_predictions(file, run.rankings)
