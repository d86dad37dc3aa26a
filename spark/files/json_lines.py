"""Read JSON Lines files, which have one JSON object in each line."""

from collections.abc import Collection, Generator, Iterator, Sequence
from contextlib import contextmanager

import pyarrow as pa
import pyarrow.json

from datahub_hyperjoin.spark.columns import (
    Column,
    RowEstimate,
    TableStream,
    choose_columns,
    readable_paths,
)
from datahub_hyperjoin.spark.errors import TooDeepError, UnreadableTableError
from datahub_hyperjoin.spark.files.compression import DecompressedFile
from datahub_hyperjoin.spark.files.json_depth import MOST_LEVELS, ShallowLines
from datahub_hyperjoin.spark.files.json_values import columns_of_lines, read_lines
from datahub_hyperjoin.spark.files.nested import flatten, leaf_columns
from datahub_hyperjoin.spark.files.stored import DataPath

_BLOCK = 1 << 22
"""Number of bytes that are parsed at once. The first block determines the columns."""


def read_json_lines(path: DataPath, paths: Collection[str] | None) -> TableStream:
    """Open a JSON Lines file to read all columns or those in `paths`.

    Args:
        paths: Paths of the columns to read; all if None.

    Returns:
        The table being read; members of nested objects are columns, as in `address.city`.
    """
    try:
        with _opened(path) as (lines, _):
            leaves = leaf_columns(lines.schema)
    except (pa.ArrowInvalid, TooDeepError) as error:
        leaves = columns_of_lines(path)
        if not leaves:
            raise UnreadableTableError.because(_reason(error)) from error
    columns, notes = choose_columns(leaves, paths)
    extent = RowEstimate()
    return TableStream(columns, _batches(path, columns, notes, extent), notes, extent)


@contextmanager
def _opened(path: DataPath) -> Iterator[tuple[pa.RecordBatchReader, DecompressedFile]]:
    options = pa.json.ReadOptions(use_threads=False, block_size=_BLOCK)
    with (
        DecompressedFile(path) as source,
        pa.json.open_json(ShallowLines(source), read_options=options) as lines,
    ):
        yield lines, source


def _batches(
    path: DataPath, columns: Sequence[Column], notes: list[str], extent: RowEstimate
) -> Generator[pa.RecordBatch, None, None]:
    paths, rows = readable_paths(columns), 0
    try:
        with _opened(path) as (lines, source):
            for blocks, batch in enumerate(lines, start=1):
                # Each batch is one block; the blocks left have about as many rows each.
                estimate = max(1.0, source.size(blocks * _BLOCK) / _BLOCK / blocks)
                extent.rows = (rows + len(batch)) * estimate
                yield flatten(batch, paths)
                rows += len(batch)
    except (pa.ArrowInvalid, TooDeepError) as error:
        notes.append(f"read line by line: {_reason(error)}")
        yield from read_lines(path, paths, notes, extent, after=rows)


def _reason(error: Exception) -> str:
    if isinstance(error, TooDeepError):
        return f"a line is nested more than {MOST_LEVELS} levels deep"
    return str(error).splitlines()[0]
