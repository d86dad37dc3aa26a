"""Reads Parquet files."""

from collections.abc import Collection, Generator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from datahub_hyperjoin.spark.columns import (
    Column,
    RowEstimate,
    TableStream,
    choose_columns,
    read_of,
)
from datahub_hyperjoin.spark.files.nested import flatten, leaves_of, parsing

_CELLS = 1 << 22
_LEAST_ROWS = 1024


def read_parquet(path: Path, paths: Collection[str] | None) -> TableStream:
    """Opens a Parquet file.

    Args:
        path: Where it is.
        paths: The columns to read; without it, all.

    Returns:
        The reading.

    Raises:
        UnreadableTableError: The file is not Parquet.
    """
    with parsing():
        file = pq.ParquetFile(path)
    columns, notes = choose_columns(leaves_of(file.schema_arrow), paths)
    return TableStream(columns, _batches(file, columns), notes, RowEstimate(file.metadata.num_rows))


def _batches(
    file: pq.ParquetFile, columns: tuple[Column, ...]
) -> Generator[pa.RecordBatch, None, None]:
    paths = read_of(columns)
    rows = max(_LEAST_ROWS, _CELLS // max(1, len(paths)))
    with file, parsing():
        for batch in file.iter_batches(rows, columns=paths, use_threads=False):
            yield flatten(batch, paths)
