"""Count the joins that are lost if a lake is written in another order or gets a neighbour.

Run it from a checkout: `PYTHONPATH=tests python -m benchmarks.bench_order quickstart/lake`. The
same tables are read as they are and rearranged: with shuffled columns, rows and lists of files,
beside a copy of a table or one table more, and in a renamed folder. No order says what joins, so
none should change the joins; a neighbour should hardly change those of others.
"""

import argparse
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
from tabulate import tabulate

from benchmarks.rearranged_lake import (
    Rearrange,
    add_table,
    copy_table,
    rename_folder,
    shuffle_columns,
    shuffle_rows,
)
from datahub_hyperjoin.catalog.catalog import Catalog
from datahub_hyperjoin.discovery.progress import RunProgress
from datahub_hyperjoin.discovery.sources import list_sources
from datahub_hyperjoin.find import FindConfig
from datahub_hyperjoin.find import find as find_joins
from datahub_hyperjoin.joins import Join
from datahub_hyperjoin.spark.config import ProfileConfig, SessionConfig
from datahub_hyperjoin.spark.routes import need_spark
from datahub_hyperjoin.spark.session import lazy_session
from datahub_hyperjoin.tables import ColumnId

HEADERS = (
    "change",
    "joins",
    "lost",
    "of these at 0.9 and above",
    "roles changed",
    "moved by more than 0.05",
    "composite joins lost",
)
SURE, MOVED = 0.9, 0.05

VARIANTS: Mapping[str, Rearrange | None] = {
    "columns": shuffle_columns,
    "rows": shuffle_rows,
    "files": None,
    "copy": copy_table,
    "added": add_table,
    "folder": rename_folder,
}
"""The changes by name. The order of files is that of the list of tables, not of the folder."""

_Pairs = frozenset[frozenset[str]]
_Found = Mapping[_Pairs, Join]


class Difference(NamedTuple):
    """How the joins of a rearranged lake differ from those of the lake as it is."""

    lost: Sequence[Join]
    """The joins that the rearranged lake lacks."""

    roles: int
    """Number of joins that have another role, or lead to the other side."""

    moved: int
    """Number of joins whose joinability differs by more than 0.05."""


def compare(before: _Found, after: _Found) -> Difference:
    """Compare the joins of the lake as it is with those of a rearranged lake.

    Args:
        before: The joins of the lake as it is.
        after: The other joins, under the names of the lake as it is.
    """
    both = [(join, after[pairs]) for pairs, join in before.items() if pairs in after]
    return Difference(
        lost=[join for pairs, join in before.items() if pairs not in after],
        roles=sum(_role(one) != _role(other) for one, other in both),
        moved=sum(abs(one.joinability - other.joinability) > MOVED for one, other in both),
    )


def _role(join: Join) -> tuple[object, ...]:
    return join.role, join.referenced and join.referenced.table.name.rpartition("/")[2]


def find(lake: Path, renamed: Mapping[str, str], order: np.random.Generator | None) -> _Found:
    """Find the joins of a lake, by the columns that they compare.

    Args:
        lake: The folder.
        renamed: The former names of renamed tables.
        order: Draws another order in which tables are listed; None for that of the folder.
    """

    def name(column: ColumnId) -> str:
        return f"{renamed.get(column.table.name, column.table.name)} {column.path}"

    progress, profile = RunProgress(), ProfileConfig()
    with TemporaryDirectory() as copies, lazy_session(SessionConfig()) as session:
        tables = list_sources([lake], Path(copies), progress)
        listed = order.permutation(len(tables)).tolist() if order else range(len(tables))
        findings = find_joins(
            Catalog(tables=[tables[at] for at in listed]),
            FindConfig(profile=profile),
            progress,
            session if need_spark(tables, profile) else lambda: None,
        )
    return {
        frozenset(frozenset(map(name, pair)) for pair in join.pairs): join
        for join in findings.all_joins
    }


def measure(lake: Path, names: Sequence[str], seeds: int) -> Iterator[tuple[str, Difference, int]]:
    """Rearrange a lake, and yield the name and the effect of each change.

    Args:
        lake: The folder.
        names: The names of the changes.
        seeds: How often each change is made, in other ways.

    Yields:
        The name of a change, its effect, and the number of joins that it left.
    """
    before = find(lake, {}, None)
    yield "none", compare(before, before), len(before)
    for name in names:
        for seed in range(seeds):
            random, change = np.random.default_rng((seed, *name.encode())), VARIANTS[name]
            with TemporaryDirectory() as folder:
                # Each run reads a copy in another folder, whose name must not matter.
                to = Path(shutil.copytree(lake, Path(folder) / "lake"))
                renamed = change(to, random) if change else {}
                after = find(to, renamed, None if change else random)
            yield f"{name} {seed}", compare(before, after), len(after)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark, and print a row for each change."""
    parser = argparse.ArgumentParser(prog="benchmarks.bench_order", description=__doc__)
    parser.add_argument("lake", type=Path, help="a folder of CSV and Parquet files")
    parser.add_argument("--only", nargs="+", choices=VARIANTS, default=[*VARIANTS])
    parser.add_argument("--seeds", type=int, default=2, help="number of times (2)")
    parser.add_argument("--list", action="store_true", help="list the lost joins")
    options = parser.parse_args(arguments)
    if not options.lake.is_dir():
        parser.error(f"{options.lake} is no folder; `make quickstart` writes quickstart/lake")
    rows, listed = [], []
    for name, found, count in measure(options.lake, options.only, options.seeds):
        sure = sum(join.joinability >= SURE for join in found.lost)
        composite = sum(bool(join.further) for join in found.lost)
        rows.append((name, count, len(found.lost), sure, found.roles, found.moved, composite))
        listed += [
            (name, f"{join.joinability:.3f}", join.role.value, *join.pairs[0])
            for join in found.lost
        ]
    print(tabulate(rows, HEADERS, disable_numparse=True))
    if options.list:
        print(tabulate(listed, ("change", "score", "role", "left", "right"), disable_numparse=True))


if __name__ == "__main__":
    main()
