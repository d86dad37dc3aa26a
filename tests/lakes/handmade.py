"""Make small lakes from Python lists, and catalog facts about them."""

import csv
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
from pandas.util import hash_array

from datahub_hyperjoin.catalog_facts import CatalogFacts
from datahub_hyperjoin.joins import CatalogEvidence
from datahub_hyperjoin.locations import File
from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.tables import (
    ColumnId,
    ColumnProfile,
    DataType,
    Lengths,
    Table,
    TableId,
    TableProfile,
    pair_of,
)

Tables = Mapping[str, Mapping[str, Sequence[str]]]
"""The cells of each column, by table and column name."""

MakeLake = Callable[[Tables], Lake]
Know = Callable[[Mapping[tuple[str, str], CatalogEvidence]], CatalogFacts]
SKETCH_SIZE = 1024


def _type(values: Sequence[str]) -> DataType:
    numbers = all(value.lstrip("-").isdecimal() for value in values)
    return DataType.INTEGER if numbers else DataType.TEXT


def _profile(table: TableId, position: int, path: str, cells: Sequence[str]) -> ColumnProfile:
    counts = Counter(cell for cell in cells if cell)
    values = np.array(sorted(counts), dtype=object)
    hashes = hash_array(values, categorize=False) if len(values) else np.zeros(0, np.uint64)
    order = np.argsort(hashes)
    sample = tuple(str(values[place]) for place in order[:64])
    lengths = [len(value) for value in values] or [0]
    return ColumnProfile(
        id=ColumnId(table, path),
        position=position,
        type=_type(sample),
        rows=len(cells),
        nulls=len(cells) - sum(counts.values()),
        distinct=len(values),
        sketch=hashes[order][:SKETCH_SIZE].astype("<u8").tobytes(),
        sample=sample,
        counts=tuple(counts[value] for value in sample),
        lengths=Lengths(shortest=min(lengths), mean=float(np.mean(lengths)), longest=max(lengths)),
        patterns=(),
    )


def profile_lake(tables: Tables) -> list[TableProfile]:
    profiles = []
    for name, columns in tables.items():
        table = Table(
            id=TableId("file", name),
            title=name,
            location=File(uri=name, format="csv"),
            size=1,
        )
        profiles.append(
            TableProfile(
                table=table,
                columns=tuple(
                    _profile(table.id, position, path, cells)
                    for position, (path, cells) in enumerate(columns.items())
                ),
            )
        )
    return profiles


def column(path: str) -> ColumnId:
    """Return the column named by `table.column`."""
    table, _, name = path.rpartition(".")
    return ColumnId(TableId("file", table), name)


def lake_of(tables: Tables) -> Lake:
    return Lake.from_tables(profile_lake(tables))


def facts_of(pairs: Mapping[tuple[str, str], CatalogEvidence]) -> CatalogFacts:
    """Make catalog facts from evidence on pairs, whose columns are written as `table.column`."""
    return CatalogFacts(
        pairs={pair_of(column(one), column(other)): s for (one, other), s in pairs.items()}
    )


def write_csv(path: Path, header: Iterable[str], rows: Iterable[Iterable[str]]) -> None:
    """Write a CSV file, and the folders in which it is."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([[*header], *rows])


def numbers(start: int, stop: int) -> list[str]:
    return [str(number) for number in range(start, stop)]


def draw(values: Sequence[str], rows: int, seed: int = 0) -> list[str]:
    """Return all values in order, followed by random repetitions up to a number of rows."""
    rest = np.random.default_rng(seed).choice(list(values), rows - len(values))
    return [*values, *rest.tolist()]


def things(count: int) -> Tables:
    """Make unrelated tables that have a running number and a small number in each row."""
    return {
        chr(ord("a") + n) * 4: {
            "id": numbers(1, 40 + 9 * n),
            "weight": draw(numbers(1, 9 + n), 39 + 9 * n),
        }
        for n in range(count)
    }
