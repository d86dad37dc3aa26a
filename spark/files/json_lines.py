"""Reads files of JSON, an object a line."""

from collections.abc import Collection, Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.json

from datahub_hyperjoin.errors import UnreadableTableError
from datahub_hyperjoin.spark.columns import Column, Reading, choose, read_of
from datahub_hyperjoin.spark.files.compression import open_bytes
from datahub_hyperjoin.spark.files.nested import flatten, leaves_of

_BLOCK = 1 << 22
"""Bytes that are parsed at once; the first ones tell the columns."""


def read_json_lines(path: Path, paths: Collection[str] | None) -> Reading:
    """Opens a file of JSON lines.

    Args:
        path: Where it is.
        paths: The columns to read; without it, all.

    Returns:
        The reading; objects in objects are columns, as in `address.city`.

    Raises:
        UnreadableTableError: A line is no object, or a key has values of different types.
    """
    with _opened(path) as lines:
        schema = lines.schema
    columns, notes = choose(leaves_of(schema), paths)
    return Reading(columns, _batches(path, columns), notes)


@contextmanager
def _opened(path: Path) -> Iterator[pa.RecordBatchReader]:
    options = pa.json.ReadOptions(use_threads=False, block_size=_BLOCK)
    try:
        with open_bytes(path) as source, pa.json.open_json(source, read_options=options) as lines:
            yield lines
    except pa.ArrowInvalid as fault:
        raise UnreadableTableError.because(str(fault).splitlines()[0]) from fault


def _batches(path: Path, columns: Sequence[Column]) -> Generator[pa.RecordBatch, None, None]:
    paths = read_of(columns)
    with _opened(path) as lines:
        for batch in lines:
            yield flatten(batch, paths)
