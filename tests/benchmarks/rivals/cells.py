"""Read all cells of a lake for the rival methods.

The pipeline reads profiles, while the methods of the literature need all values. Both parse files
with `datahub_hyperjoin.spark.files.delimited`, so that tables, columns and values agree.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import pyarrow as pa

from datahub_hyperjoin.errors import TableError
from datahub_hyperjoin.evaluate.labelled_lake import ColumnName, LabelledLake
from datahub_hyperjoin.spark.files.delimited import read_delimited


@dataclass(frozen=True, slots=True)
class Cells:
    """The distinct values of a column, with their frequencies."""

    name: ColumnName
    """The names of the column and its table."""

    counts: Mapping[str, int]
    """Frequency of each distinct value, in the order of the rows; null is not a value."""


def read_cells(lake: LabelledLake) -> tuple[Cells, ...]:
    """Read all rows of all tables of a lake.

    The last lake is cached, since each rival reads the same one.

    Args:
        lake: The lake, or a part of it.

    Returns:
        One entry for each column that has values, table by table. Tables that cannot be read are
        left out; profiling has reported them already.
    """
    return _read(lake.folder / "tables", tuple(lake.headers.items()))


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
    for column, frequencies in counts.items():
        yield Cells(ColumnName(file.stem, column), frequencies)


def _count(batch: pa.RecordBatch, counts: Mapping[str, Counter[str]]) -> None:
    for column, values in zip(batch.schema.names, batch.columns, strict=True):
        counts[column].update(values.drop_null().to_pylist())
