"""Read ORC files."""

from collections.abc import Collection, Generator, Sequence
from pathlib import Path

import pyarrow as pa
from pyarrow import orc

from datahub_hyperjoin.spark.columns import RowEstimate, TableStream, choose_columns, readable_paths
from datahub_hyperjoin.spark.files.nested import (
    flatten,
    leaf_columns,
    top_level_fields,
    translate_read_errors,
)


def read_orc(path: Path, paths: Collection[str] | None) -> TableStream:
    """Open an ORC file.

    Args:
        path: Path of the file.
        paths: Paths of the columns to read; all if None.

    Returns:
        The table being read.

    Raises:
        UnreadableTableError: The file is not an ORC file.
    """
    with translate_read_errors():
        file = orc.ORCFile(path)
    columns, notes = choose_columns(leaf_columns(file.schema), paths)
    batches = _batches(file, readable_paths(columns))
    return TableStream(columns, batches, notes, RowEstimate(file.nrows))


def _batches(file: orc.ORCFile, paths: Sequence[str]) -> Generator[pa.RecordBatch, None, None]:
    # Without a comparable column, one field is read to count the rows.
    fields = top_level_fields(file.schema, paths) or file.schema.names[:1]
    with translate_read_errors():
        for stripe in range(file.nstripes):
            yield flatten(file.read_stripe(stripe, columns=fields), paths)
