"""Read Parquet files."""

from collections.abc import Collection, Generator

import pyarrow as pa
import pyarrow.parquet as pq

from datahub_hyperjoin.spark.batches import STEP_ROWS, merge_batches
from datahub_hyperjoin.spark.columns import (
    Column,
    RowEstimate,
    TableStream,
    choose_columns,
    readable_paths,
)
from datahub_hyperjoin.spark.files.nested import flatten, leaf_columns, translate_read_errors
from datahub_hyperjoin.spark.files.stored import DataPath, open_at_random

_BATCH_CELLS = 1 << 22


def read_parquet(
    path: DataPath, paths: Collection[str] | None, groups: range | None = None
) -> TableStream:
    """Open a Parquet file to read all columns or those in `paths`.

    Args:
        path: Path of the file.
        paths: Paths of the columns to read; all if None.
        groups: Indices of the row groups to read; all if None.

    Returns:
        The table being read.

    Raises:
        UnreadableTableError: The file is not a Parquet file.
    """
    with translate_read_errors():
        file = pq.ParquetFile(open_at_random(path))
    columns, notes = choose_columns(leaf_columns(file.schema_arrow), paths)
    chosen = range(file.num_row_groups) if groups is None else groups
    rows = sum(file.metadata.row_group(group).num_rows for group in chosen)
    return TableStream(columns, _batches(file, columns, chosen), notes, RowEstimate(rows))


def _batches(
    file: pq.ParquetFile, columns: tuple[Column, ...], groups: range
) -> Generator[pa.RecordBatch, None, None]:
    paths = readable_paths(columns)
    with file, translate_read_errors():
        steps = file.iter_batches(STEP_ROWS, groups, columns=paths, use_threads=False)
        yield from merge_batches((flatten(step, paths) for step in steps), cells=_BATCH_CELLS)
