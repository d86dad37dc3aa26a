"""Measure how much worse rankings become when labelled lakes are searched as one.

Run it from a checkout: `PYTHONPATH=tests python -m benchmarks.bench_merged FOLDER...`. Each folder
is a labelled lake, and becomes a folder of the merged lake. Columns of other lakes count as wrong,
though some hold the same things, such as countries; so only lakes of strangers, such as the keys
of databases, show what size costs.
"""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from tabulate import tabulate

from benchmarks.moved_tables import move
from benchmarks.variants import FULL
from datahub_hyperjoin.errors import HyperJoinError
from datahub_hyperjoin.evaluate import (
    EvaluationProgress,
    measure,
    profile_lakes,
    read_labelled_lakes,
)
from datahub_hyperjoin.evaluate.labelled_lake import ColumnName, LabelledLake
from datahub_hyperjoin.evaluate.metrics import Bootstrap, score_rankings
from datahub_hyperjoin.evaluate.run import ProfiledLake
from datahub_hyperjoin.tables import TableProfile

METRICS = ("P@15", "R@5", "R@15", "MAP")


def rename(labelled: LabelledLake) -> LabelledLake:
    """Put the name of a lake before those of its tables."""

    def with_lake(column: ColumnName) -> ColumnName:
        return ColumnName(f"{labelled.name} {column.table}", column.column)

    return replace(
        labelled,
        headers={f"{labelled.name} {name}": of for name, of in labelled.headers.items()},
        truth={
            with_lake(query): frozenset(map(with_lake, gold))
            for query, gold in labelled.truth.items()
        },
    )


def merge(lakes: Sequence[ProfiledLake]) -> ProfiledLake:
    """Merge lakes, each into a folder of its name, which comes before the names of its tables.

    Titles of tables stay, since they are what people read.
    """
    renamed = [rename(lake.labelled) for lake in lakes]
    labelled = LabelledLake(
        Path("merged"),
        {name: of for lake in renamed for name, of in lake.headers.items()},
        {query: gold for lake in renamed for query, gold in lake.truth.items()},
    )
    profiles = tuple(
        _move(profile, lake.labelled.name) for lake in lakes for profile in lake.profiles
    )
    return ProfiledLake(labelled, profiles, sum(lake.seconds for lake in lakes))


def compare(lakes: Sequence[ProfiledLake], progress: EvaluationProgress) -> Iterator[list[str]]:
    """Rank in each lake alone, and in the merged lake.

    Args:
        lakes: The lakes.
        progress: Receives the progress.

    Yields:
        The lake, a metric, its mean in the lake alone and in the merged lake, and the difference
        with its 95 % interval, in points.
    """
    method = FULL.pipeline({})
    progress.expect(len(lakes) + 1)
    merged = measure([merge(lakes)], [method], progress=progress).methods[0].runs[0].rankings
    for lake in lakes:
        alone = measure([lake], [method], progress=progress).methods[0].runs[0].scores
        among = score_rankings(rename(lake.labelled).truth, merged)
        for metric in METRICS:
            changes = 100 * (among[metric] - alone[metric])
            change = Bootstrap(len(changes)).interval(changes)
            yield [
                lake.labelled.name,
                metric,
                f"{100 * alone[metric].mean():.1f}",
                f"{100 * among[metric].mean():.1f}",
                f"{change.mean:+.1f} ({change.low:.1f} to {change.high:.1f})",
            ]


def _move(profile: TableProfile, folder: str) -> TableProfile:
    file = Path(profile.table.id.name).name
    return move(profile, replace(profile.table.id, name=f"{folder}/{folder} {file}"))


def main() -> None:
    """Run the benchmark, and print a table."""
    parser = argparse.ArgumentParser(prog="benchmarks.bench_merged", description=__doc__)
    parser.add_argument("folders", metavar="FOLDER", nargs="+", type=Path, help="a labelled lake")
    progress = EvaluationProgress(print)
    try:
        labelled = read_labelled_lakes(parser.parse_args().folders)
    except HyperJoinError as error:
        parser.error(str(error))
    progress.expect(1)
    rows = compare(profile_lakes(labelled, {}, progress), progress)
    print(
        tabulate(rows, ["lake", "metric", "alone", "merged", "difference"], disable_numparse=True)
    )


if __name__ == "__main__":
    main()
