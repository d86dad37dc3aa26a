"""Reads ORC files."""

from collections.abc import Collection, Generator, Sequence
from pathlib import Path

import pyarrow as pa
from pyarrow import orc

from datahub_hyperjoin.spark.columns import RowEstimate, TableStream, choose_columns, read_of
from datahub_hyperjoin.spark.files.nested import fields_of, flatten, leaves_of, parsing


def read_orc(path: Path, paths: Collection[str] | None) -> TableStream:
    """Opens an ORC file.

    Args:
        path: Where it is.
        paths: The columns to read; without it, all.

    Returns:
        The reading.

    Raises:
        UnreadableTableError: The file is not ORC.
    """
    with parsing():
        file = orc.ORCFile(path)
    columns, notes = choose_columns(leaves_of(file.schema), paths)
    read = read_of(columns)
    return TableStream(columns, _batches(file, read), notes, RowEstimate(file.nrows))


def _batches(file: orc.ORCFile, paths: Sequence[str]) -> Generator[pa.RecordBatch, None, None]:
    fields = fields_of(file.schema, paths) or file.schema.names[:1]
    with parsing():
        for stripe in range(file.nstripes):
            yield flatten(file.read_stripe(stripe, columns=fields), paths)
