"""Measure how well composite references are found, and how long the search takes.

Run it from a checkout: `make bench-composite`. All schemas are in one lake, so that columns of one
meet those of all others. A found reference is right if its columns are those of a declared key, or
fewer of them: the data then shows that these identify a row of the key's table already. A reference
that two declared keys imply one after the other is right, too, and is counted apart: precision and
F1 are given without and with these.
"""

import argparse
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from tabulate import tabulate

from benchmarks.composite.schema import Declared
from benchmarks.composite.schemas import SCHEMAS
from datahub_hyperjoin.catalog.folders import scan_folder
from datahub_hyperjoin.catalog.table_selection import TableSelection
from datahub_hyperjoin.catalog_facts import CatalogFacts
from datahub_hyperjoin.joins import Join
from datahub_hyperjoin.model.config import RankingConfig
from datahub_hyperjoin.model.config.sections import ModelConfig
from datahub_hyperjoin.model.hypergraph.lake_index import build_lake_index
from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.spark.config import ProfileConfig, SessionConfig
from datahub_hyperjoin.spark.profiles.profile import profile_lake
from datahub_hyperjoin.spark.profiles.store import Store
from datahub_hyperjoin.spark.session import Session, lazy_session
from datahub_hyperjoin.stages.composite_joins import find_composite_joins
from datahub_hyperjoin.stages.pair_evidence import DataReader
from datahub_hyperjoin.tables import Table

MAX_RATIO = 1.5
"""Maximum duration of a search, as a multiple of the time that profiling the same tables takes."""

Row = tuple[object, ...]
Columns = frozenset[tuple[str, str]]
"""Referring and referenced columns, each as `table.column`."""


@dataclass(frozen=True)
class Measured:
    """The references found in a lake, and the seconds that profiling and the search took."""

    found: tuple[Join, ...]
    profiling: float
    searching: float

    @property
    def ratio(self) -> float:
        """Ratio of the search time to the profiling time."""
        return self.searching / self.profiling


def write_schemas(folder: Path, seed: int) -> list[Declared]:
    """Write the tables of all schemas, and return their composite keys."""
    keys: list[Declared] = []
    for number, build in enumerate(SCHEMAS.values()):
        schema = build(np.random.default_rng((seed, number)))
        for name, frame in schema.tables.items():
            frame.to_csv(folder / f"{name}.csv", index=False)
        keys += schema.keys
    return keys


def measure_folder(folder: Path, session: Session) -> Measured:
    """Profile the tables of a folder, and search them for composite references."""
    tables = scan_folder(
        folder,
        TableSelection(platform="file", env="PROD"),
        warn=print,
    )
    return measure_tables(tables, session)


def measure_tables(tables: Sequence[Table], session: Session) -> Measured:
    """Profile tables, and search them for composite references."""
    config, facts = ProfileConfig(), CatalogFacts()
    start = time.perf_counter()
    profiles = profile_lake(session(), tables, config)
    profiled = time.perf_counter()
    index = build_lake_index(Lake.from_tables(profiles), ModelConfig(), facts)
    indexed = time.perf_counter()
    reader = DataReader(index, tables, session, Store(config))
    found = find_composite_joins(index, facts, reader=reader, ranking=RankingConfig())
    return Measured(found, profiled - start, time.perf_counter() - indexed)


def columns_of(join: Join) -> Columns:
    """Return the column pairs of a join, each with the referring column first."""
    is_left = join.referenced == join.left
    return frozenset(
        (str(right), str(left)) if is_left else (str(left), str(right))
        for left, right in ((_plain(one), _plain(other)) for one, other in join.pairs)
    )


def _plain(column: object) -> str:
    return str(column).replace(".csv.", ".")


def declared_columns(key: Declared) -> Columns:
    """Return the column pairs of a declared key, each with the referring column first."""
    pairs = zip(key.columns, key.referenced, strict=True)
    return frozenset(
        (f"{key.table}.{one}", f"{key.referenced_table}.{other}") for one, other in pairs
    )


def implied_columns(truth: Sequence[Columns]) -> list[Columns]:
    """Return the references that two declared keys imply together.

    If a column refers to a second one and the second one to a third, the first also refers to the
    third.
    """
    return [
        frozenset((start, end) for start, middle in first for same, end in second if middle == same)
        for first in truth
        for second in truth
        if {column for column, _ in second} <= {column for _, column in first}
    ]


def score(
    found: Sequence[Columns], truth: Sequence[Columns], implied: Sequence[Columns] = ()
) -> tuple[float, float, float]:
    """Return precision, recall and F1 of the found references.

    Implied references count as right.
    """
    right = sum(any(columns <= key for key in [*truth, *implied]) for columns in found)
    hits = sum(any(columns <= key for columns in found) for key in truth)
    precision, recall = right / max(len(found), 1), hits / max(len(truth), 1)
    return precision, recall, 2 * precision * recall / max(precision + recall, 1e-9)


def name_slow(measured: Mapping[str, Measured]) -> str:
    """Return a message that names the lakes in which the search is too slow.

    The message is empty if there are none.
    """
    slow = [name for name, one in measured.items() if one.ratio > MAX_RATIO]
    return f"The search exceeds {MAX_RATIO} times profiling: {', '.join(slow)}" if slow else ""


def _rows(seeds: int, folders: Sequence[Path], session: Session) -> Iterator[tuple[Row, Measured]]:
    for seed in range(seeds):
        with TemporaryDirectory() as scratch:
            truth = [*map(declared_columns, write_schemas(Path(scratch), seed))]
            measured = measure_folder(Path(scratch), session)
        found = [columns_of(join) for join in measured.found]
        _print_errors(found, truth)
        precision, recall, f1 = score(found, truth)
        lenient, _, lenient_f1 = score(found, truth, implied_columns(truth))
        row = (
            f"seed {seed}",
            len(truth),
            len(found),
            f"{precision:.3f} ({lenient:.3f})",
            f"{recall:.3f}",
            f"{f1:.3f} ({lenient_f1:.3f})",
            _ratio(measured),
        )
        yield row, measured
    for folder in folders:
        measured = measure_folder(folder, session)
        for join in measured.found:
            print(f"  {join.joinability:.2f}", *sorted(map(" = ".join, columns_of(join))), sep=", ")
        yield (str(folder), "", len(measured.found), "", "", "", _ratio(measured)), measured


def _print_errors(found: Sequence[Columns], truth: Sequence[Columns]) -> None:
    for columns in found:
        if not any(columns <= key for key in truth):
            print("  not declared:", ", ".join(sorted(map(" = ".join, columns))))
    for key in truth:
        if not any(columns <= key for columns in found):
            print("  not found:", ", ".join(sorted(map(" = ".join, key))))


def _ratio(measured: Measured) -> str:
    return f"{measured.searching:.1f} s / {measured.profiling:.1f} s = {measured.ratio:.2f}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure the generated lakes, and list the references found in other folders."""
    parser = argparse.ArgumentParser(prog="benchmarks.bench_composite", description=__doc__)
    parser.add_argument("folders", nargs="*", type=Path, help="folders whose references to list")
    parser.add_argument("--seeds", type=int, default=3, help="number of generated lakes")
    options = parser.parse_args(arguments)
    with lazy_session(SessionConfig()) as session:
        # The first job starts Spark's workers, which is no part of either stage.
        session().range(100).mapInArrow(lambda batches: batches, "id long").count()
        rows = [*_rows(options.seeds, options.folders, session)]
    headers = ["lake", "declared", "found", "precision", "recall", "F1", "search / profiling"]
    print(tabulate([row for row, _ in rows], headers, disable_numparse=True))
    slow = name_slow({str(row[0]): measured for row, measured in rows})
    if slow:
        parser.exit(1, f"{slow}\n")


if __name__ == "__main__":
    main()
