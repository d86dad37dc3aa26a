"""The cells of a benchmark's columns, read whole: what the rivals know of a lake.

The product sees profiles; the literature's methods want every value. Both read files by the same
rules (`datahub_hyperjoin.spark.files.delimited`), so that tables, columns and values agree.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import pyarrow as pa

from datahub_hyperjoin.errors import TableError
from datahub_hyperjoin.evaluate.suite import ColumnName, Suite
from datahub_hyperjoin.spark.files.delimited import read_delimited


@dataclass(frozen=True, slots=True)
class Cells:
    """A column's values."""

    name: ColumnName
    """Which column."""

    counts: Mapping[str, int]
    """How often each value occurs, in the order of the rows; no value is empty."""


def read_cells(suite: Suite) -> tuple[Cells, ...]:
    """Reads all rows of all tables that a benchmark has.

    The lake read last is remembered, since one rival after another asks for it.

    Args:
        suite: The benchmark, or a part of it.

    Returns:
        One entry a column that has values, table by table. A table that cannot be read has none,
        which profiling has told of already.
    """
    return _read(suite.folder / "tables", tuple(suite.headers.items()))


@lru_cache(maxsize=1)
def _read(folder: Path, headers: tuple[tuple[str, frozenset[str]], ...]) -> tuple[Cells, ...]:
    return tuple(
        cells
        for table, header in headers
        for cells in _read_table(folder / f"{table}.csv", header)
        if cells.counts
    )


def _read_table(file: Path, header: frozenset[str]) -> Iterator[Cells]:
    try:
        reading = read_delimited(file, header)
        counts: dict[str, Counter[str]] = {column.path: Counter() for column in reading.columns}
        with closing(reading.batches) as batches:
            for batch in batches:
                _count(batch, counts)
    except TableError:
        return
    for column, found in counts.items():
        yield Cells(ColumnName(file.stem, column), found)


def _count(batch: pa.RecordBatch, counts: Mapping[str, Counter[str]]) -> None:
    for column, values in zip(batch.schema.names, batch.columns, strict=True):
        counts[column].update(values.drop_null().to_pylist())
