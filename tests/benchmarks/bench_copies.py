"""Measure the references that are found in each copy of a database.

Run it from a checkout: `PYTHONPATH=tests python -m benchmarks.bench_copies FOLDER...`. Each folder
is a labelled lake with a file `references.csv` of directed foreign keys. A run reads some copies of
it, each in a folder, as companies have copies of a database for each client, year or environment.
With `--rows` or `--columns`, copies differ: each lacks other rows or columns.
"""

import argparse
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
from tabulate import tabulate

from benchmarks.differing_copies import write_copy
from benchmarks.directed_lake import DirectedLake, read_directed_lake
from benchmarks.reference_metrics import column_name
from datahub_hyperjoin.discovery.progress import RunProgress
from datahub_hyperjoin.discovery.run import run_discovery
from datahub_hyperjoin.evaluate.errors import LabelledLakeError
from datahub_hyperjoin.joins import Join, Role

COPIES = (1, 2, 5, 10, 20)
HEADERS = ("lake", "copies", "declared found", "other in a copy", "between copies")


class CountedReferences(NamedTuple):
    """The references of a run over copies of a lake, each counted once for each copy."""

    declared: int
    """Number of those that are declared."""

    other: int
    """Number of others within a copy."""

    between: int
    """Number of those that lead to another copy; a key and its copy, one-to-one, do not count."""


def count(lake: DirectedLake, joins: Iterable[Join]) -> CountedReferences:
    """Count the references of a run.

    Args:
        lake: The lake of which all folders hold copies.
        joins: The joins of the run.
    """
    declared = other = between = 0
    for join in joins:
        if not join.referring or not join.referenced or join.further:
            continue
        if join.referring.table.place != join.referenced.table.place:
            between += join.role is Role.REFERENCE
        elif lake.is_reference((column_name(join.referring), column_name(join.referenced))):
            declared += 1
        else:
            other += 1
    return CountedReferences(declared, other, between)


def measure(folder: Path, copies: int, *, rows: float = 1, columns: float = 1) -> CountedReferences:
    """Find the references of a lake that holds several copies of a labelled lake.

    Args:
        folder: The labelled lake.
        copies: Number of copies.
        rows: Probability that a copy keeps a row.
        columns: Probability that a copy keeps a column.
    """
    labelled = read_directed_lake(folder)
    with TemporaryDirectory() as lake:
        for copy in range(copies):
            to = Path(lake) / f"copy_{copy}"
            if rows == columns == 1:
                shutil.copytree(folder / "tables", to)
            else:
                random = np.random.default_rng(copy)
                links = labelled.directions
                write_copy(folder / "tables", to, links, rows=rows, columns=columns, random=random)
        return count(labelled, run_discovery([lake], RunProgress(), sql=None))


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark, and print its table."""
    parser = argparse.ArgumentParser(prog="benchmarks.bench_copies", description=__doc__)
    parser.add_argument("folders", metavar="FOLDER", nargs="+", type=Path, help="a labelled lake")
    parser.add_argument("--copies", type=int, nargs="+", default=COPIES, help="numbers of copies")
    for what in ("rows", "columns"):
        share = f"probability that a copy keeps each of its {what}"
        parser.add_argument(f"--{what}", type=float, default=1.0, help=share)
    options = parser.parse_args(arguments)
    rows = []
    for folder in options.folders:
        try:
            most = len(read_directed_lake(folder).directions)
        except (LabelledLakeError, FileNotFoundError) as error:
            parser.error(str(error))
        for copies in options.copies:
            found = measure(folder, copies, rows=options.rows, columns=options.columns)
            share = f"{found.declared / copies / most:.1%}"
            each = (f"{number / copies:,.1f}" for number in (found.other, found.between))
            rows.append((folder.name, copies, share, *each))
    print(tabulate(rows, HEADERS, disable_numparse=True))


if __name__ == "__main__":
    main()
