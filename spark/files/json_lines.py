"""Reads files of JSON, an object a line."""

from collections.abc import Collection, Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.json

from datahub_hyperjoin.errors import UnreadableTableError
from datahub_hyperjoin.spark.columns import (
    Column,
    RowEstimate,
    TableStream,
    choose_columns,
    read_of,
)
from datahub_hyperjoin.spark.files.compression import Unpacked
from datahub_hyperjoin.spark.files.nested import flatten, leaves_of

_BLOCK = 1 << 22
"""Bytes that are parsed at once; the first ones tell the columns."""


def read_json_lines(path: Path, paths: Collection[str] | None) -> TableStream:
    """Opens a file of JSON lines.

    Args:
        path: Where it is.
        paths: The columns to read; without it, all.

    Returns:
        The reading; objects in objects are columns, as in `address.city`.

    Raises:
        UnreadableTableError: A line is no object, or a key has values of different types.
    """
    with _opened(path) as (lines, _):
        schema = lines.schema
    columns, notes = choose_columns(leaves_of(schema), paths)
    extent = RowEstimate()
    return TableStream(columns, _batches(path, columns, extent), notes, extent)


@contextmanager
def _opened(path: Path) -> Iterator[tuple[pa.RecordBatchReader, Unpacked]]:
    options = pa.json.ReadOptions(use_threads=False, block_size=_BLOCK)
    try:
        with Unpacked(path) as source, pa.json.open_json(source, read_options=options) as lines:
            yield lines, source
    except pa.ArrowInvalid as fault:
        raise UnreadableTableError.because(str(fault).splitlines()[0]) from fault


def _batches(
    path: Path, columns: Sequence[Column], extent: RowEstimate
) -> Generator[pa.RecordBatch, None, None]:
    paths, rows = read_of(columns), 0
    with _opened(path) as (lines, source):
        for at, batch in enumerate(lines, start=1):
            rows += len(batch)
            extent.rows = rows * max(1.0, source.size() / _BLOCK / at)
            yield flatten(batch, paths)
