"""Measure what the approximate searches of very large lakes cost the rankings of labelled lakes.

Run it from a checkout: `PYTHONPATH=tests python -m benchmarks.bench_approximate FOLDER...`. Each
folder is a labelled lake, and becomes a folder of the merged lake, as in `bench_merged`. No
labelled lake is large enough for approximate searches. So the merged lake is ranked with exact
searches, and then once for each number of `--columns`: every search for similar cells and names
compares a column with as large a part of the lake as it would in a lake of so many distinct
columns, though never with less than four times as many columns as it returns. In all rankings,
cells are compared as in large lakes: in shorter vectors, and among columns of the same kind.
"""

import argparse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

from tabulate import tabulate

from benchmarks.bench_merged import METRICS, merge, rename
from benchmarks.variants import FULL
from datahub_hyperjoin.errors import HyperJoinError
from datahub_hyperjoin.evaluate import (
    EvaluationProgress,
    measure,
    profile_lakes,
    read_labelled_lakes,
)
from datahub_hyperjoin.evaluate.labelled_lake import Rankings
from datahub_hyperjoin.evaluate.metrics import Bootstrap, score_rankings
from datahub_hyperjoin.evaluate.run import ProfiledLake
from datahub_hyperjoin.model.ranking import candidates, nearest
from datahub_hyperjoin.model.ranking.nearest import InvertedFile
from datahub_hyperjoin.model.signals import cells
from datahub_hyperjoin.model.signals.cells import StoredVectors

SIZES = (1 << 18, 1 << 20)


@contextmanager
def comparing_as_in_large_lakes() -> Iterator[None]:
    """Shorten the vectors of cells, and search them among columns of the same kind."""
    with mock.patch.object(candidates, "_MANY", 0), mock.patch.object(cells, "_MANY", 0):
        yield


@contextmanager
def searching_as_in(columns: int) -> Iterator[None]:
    """Search similar columns as approximately as in a lake of so many columns."""

    def build(vectors: StoredVectors, compared: int) -> InvertedFile:
        # A query is compared with √N of N vectors, times a constant.
        return InvertedFile(vectors, round(compared * (len(vectors) / columns) ** 0.5))

    with (
        mock.patch.object(nearest, "most_exact", return_value=15),
        mock.patch.object(nearest, "find_gpu", return_value=None),
        mock.patch.object(nearest, "InvertedFile", build),
    ):
        yield


def rank(lake: ProfiledLake, progress: EvaluationProgress) -> Rankings:
    """Rank the columns of a lake."""
    return measure([lake], [FULL.pipeline({})], progress=progress).methods[0].runs[0].rankings


def compare(
    lakes: Sequence[ProfiledLake], sizes: Sequence[int], progress: EvaluationProgress
) -> Iterator[list[str]]:
    """Rank the merged lake exactly and approximately.

    Yields:
        The lake, a metric, its mean with exact searches, and for each size the difference with its
        95 % interval, in points.
    """
    merged = merge(lakes)
    progress.expect(1 + len(sizes))
    with comparing_as_in_large_lakes():
        exact, approximate = rank(merged, progress), []
        for size in sizes:
            with searching_as_in(size):
                approximate.append(rank(merged, progress))
    for lake in lakes:
        truth = rename(lake.labelled).truth
        before = score_rankings(truth, exact)
        after = [score_rankings(truth, rankings) for rankings in approximate]
        for metric in METRICS:
            changes = [100 * (scores[metric] - before[metric]) for scores in after]
            intervals = [Bootstrap(len(each)).interval(each) for each in changes]
            yield [
                lake.labelled.name,
                metric,
                f"{100 * before[metric].mean():.1f}",
                *(f"{each.mean:+.2f} ({each.low:.2f} to {each.high:.2f})" for each in intervals),
            ]


def main() -> None:
    """Run the benchmark, and print a table."""
    parser = argparse.ArgumentParser(prog="benchmarks.bench_approximate", description=__doc__)
    parser.add_argument("folders", metavar="FOLDER", nargs="+", type=Path, help="a labelled lake")
    parser.add_argument("--columns", type=int, nargs="+", default=SIZES, help="sizes of lakes")
    options, progress = parser.parse_args(), EvaluationProgress(print)
    try:
        labelled = read_labelled_lakes(options.folders)
    except HyperJoinError as error:
        parser.error(str(error))
    progress.expect(1)
    rows = compare(profile_lakes(labelled, {}, progress), options.columns, progress)
    headers = ["lake", "metric", "exact", *(f"as in {size:,} columns" for size in options.columns)]
    print(tabulate([*rows], headers, disable_numparse=True))


if __name__ == "__main__":
    main()
