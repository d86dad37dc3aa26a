"""Reads Delta tables: the files that the log names, as its last version has them."""

from collections.abc import Collection, Generator
from pathlib import Path

import pyarrow as pa
from pyarrow import dataset

from datahub_hyperjoin.spark.columns import (
    Column,
    RowEstimate,
    TableStream,
    choose_columns,
    read_of,
)
from datahub_hyperjoin.spark.errors import MissingDeltaError
from datahub_hyperjoin.spark.files.nested import fields_of, flatten, leaves_of, parsing


def read_delta(path: Path, paths: Collection[str] | None) -> TableStream:
    """Opens a Delta table.

    Args:
        path: Its folder.
        paths: The columns to read; without it, all.

    Returns:
        The reading; partition columns are columns like others.

    Raises:
        MissingDeltaError: The package that reads the log is not installed.
        UnreadableTableError: The log cannot be read, or the table needs what the package lacks.
    """
    try:
        from deltalake import DeltaTable  # noqa: PLC0415 (an optional requirement)
        from deltalake.exceptions import DeltaError  # noqa: PLC0415
    except ModuleNotFoundError:
        raise MissingDeltaError.of_table() from None
    with parsing(DeltaError):
        files = DeltaTable(path).to_pyarrow_dataset()
        extent = RowEstimate(files.count_rows())
    columns, notes = choose_columns(leaves_of(files.schema), paths)
    return TableStream(columns, _batches(files, columns), notes, extent)


def _batches(
    files: dataset.Dataset, columns: Collection[Column]
) -> Generator[pa.RecordBatch, None, None]:
    read = read_of(columns)
    with parsing():
        for batch in files.to_batches(columns=fields_of(files.schema, read), use_threads=False):
            yield flatten(batch, read)
