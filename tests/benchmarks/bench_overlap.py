"""Measure the time and memory of comparing the values of all columns of a large lake.

Run it from a checkout: `PYTHONPATH=tests python -m benchmarks.bench_overlap --tables 250 1000`. The
lakes are synthetic profiles of seven columns a table: a running number, a reference to one of 40
keys, a country (the same 250 in each table), a status, a random code, a year, and a name that a
tenth of the tables share. Each size runs in a process of its own.

With `--areas`, the lakes are those of `area_lake`, in which thousands of columns have equal values.
Their tables are profiled in memory, so that 20,000 of them take minutes. With `--flat`, all of them
are in one folder, as in the schema of a database. With `--long`, each table
has seven columns of 4,096 values, and each value is in the same column of eight tables, so that
hashes take more memory than pairs. With several sizes, the exponent is that of the growth of time
with the number of columns: 1 is linear, 2 is quadratic.
"""

import argparse
import multiprocessing
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from time import process_time

import numpy as np
from jaxtyping import UInt64
from tabulate import tabulate

from benchmarks.area_profiles import profile_areas
from benchmarks.bench_lake import exponent
from benchmarks.moved_tables import move
from datahub_hyperjoin.evaluate.run import peak_memory
from datahub_hyperjoin.locations import DeltaFolder
from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.signals.overlap import measure_overlap
from datahub_hyperjoin.tables import (
    ColumnId,
    ColumnProfile,
    DataType,
    Lengths,
    Table,
    TableId,
    TableProfile,
)

HASHES, LONG, KEYS, CELLS = 1024, 4096, 40, 16
SIZES = (250, 1_000, 2_000)
HEADERS = (
    "tables",
    "columns",
    "pairs",
    "columns cut",
    "CPU s",
    "more MiB",
    "bytes a pair",
    "bytes a hash",
)


def _hashes(first: int, count: int, most: int) -> UInt64[np.ndarray, " hash"]:
    """Return the sketch of `count` values, which are numbered consecutively from `first`."""
    values = np.arange(first, first + count, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return np.sort(values)[:most]


def _cells(of_type: DataType, first: int, count: int) -> tuple[str, ...]:
    """Return some of `count` values, which are numbered consecutively from `first`."""
    numbers = range(first, first + count, max(count // CELLS, 1))
    return tuple(str(n) if of_type is DataType.INTEGER else f"{n:x}" for n in numbers)


def _columns(table: int) -> Iterator[tuple[str, DataType, int, int]]:
    """For each column of a table, yield the name, type, first value and number of values."""
    draw = np.random.default_rng(table)
    yield "id", DataType.INTEGER, 1, int(10 ** draw.uniform(1, 5))
    yield "owner", DataType.INTEGER, 1_000_000 * int(draw.integers(1, KEYS)), 500
    yield "country", DataType.TEXT, 100_000_000, 250
    yield "status", DataType.TEXT, 200_000_000 + int(draw.integers(0, 4)), 5
    yield "code", DataType.TEXT, 10**9 + 100_000 * table, 2_000
    yield "year", DataType.INTEGER, 1_900 + int(draw.integers(0, 90)), 30
    yield "name", DataType.TEXT, 2 * 10**9 + 10_000 * int(draw.integers(0, 10)), 800


def _long_columns(table: int) -> Iterator[tuple[str, DataType, int, int]]:
    """For each column of a table, yield what `_columns` yields.

    Each value is in the same column of eight tables.
    """
    for column in range(7):
        yield f"c{column}", DataType.INTEGER, 10**9 * column + LONG // 8 * table, LONG


def make_profiles(tables: int, *, long: bool = False) -> list[TableProfile]:
    """Return the profiles of a synthetic lake."""
    if long:
        return [_profile(number, _long_columns(number), LONG) for number in range(tables)]
    return [_profile(number, _columns(number), HASHES) for number in range(tables)]


def _profile(
    number: int, described: Iterable[tuple[str, DataType, int, int]], most: int
) -> TableProfile:
    table_id = TableId("file", f"t{number}.csv", "PROD")
    columns = tuple(
        ColumnProfile(
            id=ColumnId(table_id, name),
            position=position,
            type=of_type,
            rows=count,
            nulls=0,
            distinct=count,
            sketch=_hashes(first, count, most).astype("<u8").tobytes(),
            sample=_cells(of_type, first, count),
            counts=(),
            lengths=Lengths(shortest=4, mean=4.0, longest=4),
            patterns=(),
        )
        for position, (name, of_type, first, count) in enumerate(described)
    )
    location = DeltaFolder(uri=f"t{number}")
    table = Table(id=table_id, title=f"t{number}", location=location, size=0)
    return TableProfile(table=table, columns=columns, rows=1_000)


def flatten(profile: TableProfile) -> TableProfile:
    """Move a table to the folder above its own; its title stays."""
    return move(profile, replace(profile.table.id, name=profile.table.id.name.replace("/", "-")))


def _profiles(tables: int, *, areas: bool, flat: bool, long: bool) -> Iterable[TableProfile]:
    if flat:
        return map(flatten, profile_areas(tables))
    return profile_areas(tables) if areas else make_profiles(tables, long=long)


def measure(
    tables: int, *, areas: bool = False, flat: bool = False, long: bool = False
) -> Sequence[float]:
    """Compare the columns of a synthetic lake, and return one row of the printed table."""
    lake = Lake.from_tables([*_profiles(tables, areas=areas, flat=flat, long=long)])
    before, began = peak_memory(), process_time()
    overlap = measure_overlap(lake)
    seconds, more = process_time() - began, peak_memory() - before
    pairs = len(overlap.left)
    hashes = sum(len(profile.sketch) for profile in lake.profiles) // 8
    memory = round(more / 2**20), round(more / pairs), round(more / hashes)
    return tables, len(lake), pairs, overlap.cut, seconds, *memory


def main() -> None:
    """Run the benchmark, and print its table."""
    parser = argparse.ArgumentParser(prog="benchmarks.bench_overlap", description=__doc__)
    parser.add_argument("--tables", type=int, nargs="+", default=SIZES, help="sizes of lakes")
    parser.add_argument("--areas", action="store_true", help="lakes of `area_lake`")
    parser.add_argument("--flat", action="store_true", help="the same in one folder")
    parser.add_argument("--long", action="store_true", help="lakes of columns of 4,096 values")
    options = parser.parse_args()
    rows = []
    for tables in options.tables:
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process:
            kind = {"areas": options.areas, "flat": options.flat, "long": options.long}
            rows.append(process.submit(measure, tables, **kind).result())
    print(tabulate(rows, headers=HEADERS, intfmt=",", floatfmt=".1f"))
    if len(rows) > 1:
        _, columns, _, _, seconds, *_ = zip(*rows, strict=True)
        print(f"exponent of CPU s: {exponent(columns, seconds):.2f}")


if __name__ == "__main__":
    main()
