"""Read JSON Lines files, which have one JSON object per line."""

from collections.abc import Collection, Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.json

from datahub_hyperjoin.spark.columns import (
    Column,
    RowEstimate,
    TableStream,
    choose_columns,
    readable_paths,
)
from datahub_hyperjoin.spark.errors import UnreadableTableError
from datahub_hyperjoin.spark.files.compression import DecompressedFile
from datahub_hyperjoin.spark.files.nested import flatten, leaf_columns

_BLOCK = 1 << 22
"""Bytes that are parsed at once. The first block determines the columns."""


def read_json_lines(path: Path, paths: Collection[str] | None) -> TableStream:
    """Open a JSON Lines file.

    Args:
        path: Path of the file.
        paths: Paths of the columns to read; all if None.

    Returns:
        The table being read; members of nested objects are columns, as in `address.city`.

    Raises:
        UnreadableTableError: A line is not an object, or a key has values of different types.
    """
    with _opened(path) as (lines, _):
        schema = lines.schema
    columns, notes = choose_columns(leaf_columns(schema), paths)
    extent = RowEstimate()
    return TableStream(columns, _batches(path, columns, extent), notes, extent)


@contextmanager
def _opened(path: Path) -> Iterator[tuple[pa.RecordBatchReader, DecompressedFile]]:
    options = pa.json.ReadOptions(use_threads=False, block_size=_BLOCK)
    try:
        with (
            DecompressedFile(path) as source,
            pa.json.open_json(source, read_options=options) as lines,
        ):
            yield lines, source
    except pa.ArrowInvalid as error:
        raise UnreadableTableError.because(str(error).splitlines()[0]) from error


def _batches(
    path: Path, columns: Sequence[Column], extent: RowEstimate
) -> Generator[pa.RecordBatch, None, None]:
    paths, rows = readable_paths(columns), 0
    with _opened(path) as (lines, source):
        for blocks, batch in enumerate(lines, start=1):
            rows += len(batch)
            # Each batch is one block; the blocks left have about as many rows each.
            extent.rows = rows * max(1.0, source.size(blocks * _BLOCK) / _BLOCK / blocks)
            yield flatten(batch, paths)
