"""Read Parquet files."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from datahub_hyperjoin.errors import TableError
from datahub_hyperjoin.locations import File
from datahub_hyperjoin.spark.columns import (
    STEP_ROWS,
    Batches,
    Column,
    Paths,
    RowEstimate,
    TableStream,
    choose_columns,
    merge_batches,
    readable_paths,
)
from datahub_hyperjoin.spark.files.formats import DuckDbCall, FileFormat
from datahub_hyperjoin.spark.files.nested import (
    flatten,
    has_made_up_names,
    holds_bytes,
    leaf_columns,
    translate_read_errors,
)
from datahub_hyperjoin.spark.files.stored import open_at_random, path_of
from datahub_hyperjoin.wording import name_some

_BATCH_CELLS = 1 << 22
_STEP_BYTES = 1 << 22
_MOST_STEP_ROWS = 1 << 14
CONTENT_BYTES = 1 << 10
"""Mean size of the values of a column of bytes from which they are contents, such as images, and
too large to be read in search of keys."""
VALUES_LOOKED_AT = 1 << 10
"""Number of values of a column of bytes that tell whether these are text."""


class Parquet(FileFormat):
    """Parquet, whose row groups can be read alone."""

    name = "parquet"
    title = "PARQUET files"
    suffixes = (".parquet", ".pq", ".parq")
    plain_duckdb_calls = (DuckDbCall(function="read_parquet", suffixes=suffixes[:1]),)
    spark_reader = "parquet"
    spark_providers = ("parquet", "org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe")

    def read(self, file: File, paths: Paths) -> TableStream:
        """See `FileFormat.read`."""
        opened = _opened(file)
        return _read(opened, paths, range(opened.num_row_groups))

    def read_groups(self, file: File, paths: Paths, groups: range) -> TableStream:
        """See `FileFormat.read_groups`."""
        return _read(_opened(file), paths, groups)

    def group_sizes(self, file: File) -> Sequence[int]:
        """Return the size of each row group."""
        with _opened(file) as opened, translate_read_errors():
            metadata = opened.metadata
        return [metadata.row_group(at).total_byte_size for at in range(metadata.num_row_groups)]

    def duckdb_calls_of(self, file: File) -> Iterator[DuckDbCall]:
        """See `FileFormat.duckdb_calls_of`."""
        has_texts = False
        with suppress(TableError), _opened(file) as opened:
            has_texts = bool(_texts_as_bytes(opened))
        for call in self.plain_duckdb_calls:
            yield replace(call, options={"binary_as_string": True}) if has_texts else call


def _opened(file: File) -> pq.ParquetFile:
    with translate_read_errors():
        return pq.ParquetFile(open_at_random(path_of(file)))


def _read(file: pq.ParquetFile, paths: Paths, groups: range) -> TableStream:
    texts = _texts_as_bytes(file)
    columns, notes = choose_columns(leaf_columns(_with_texts(file.schema_arrow, texts)), paths)
    rows = sum(file.metadata.row_group(group).num_rows for group in groups)
    contents = _long_bytes(file.metadata, columns)
    if contents:
        names = name_some([*map(repr, contents)])
        notes.append(f"bytes not compared, because they are too long for keys: {names}")
    batches = _batches(file, columns, groups, unread=contents, texts=texts)
    return TableStream(columns, batches, notes, RowEstimate(rows))


def are_texts(values: pa.Array | pa.ChunkedArray) -> bool:
    r"""Return whether bytes are text: UTF-8 without control characters.

    >>> are_texts(pa.array([b"Z\xc3\xbcrich", None])), are_texts(pa.array([b"\x01ab"]))
    (True, False)
    """
    try:
        texts = pc.drop_null(values.cast(pa.binary())).cast(pa.string())
    except pa.ArrowInvalid:
        return False
    controls = pc.match_substring_regex(texts, r"[\x00-\x08\x0e-\x1f\x7f]")
    return pc.any(controls).as_py() is False  # not of no values


def _texts_as_bytes(file: pq.ParquetFile) -> list[str]:
    """Return the columns of bytes that are texts, which old versions of Impala and Hive wrote."""
    schema = file.schema_arrow
    long = _long_bytes(file.metadata, leaf_columns(schema))
    names = [
        each.name
        for each in schema
        # A name that several columns have cannot be looked up.
        if holds_bytes(each.type)
        and each.name not in long
        and schema.get_field_index(each.name) >= 0
    ]
    if not names:
        return []
    with translate_read_errors():
        first = next(file.iter_batches(VALUES_LOOKED_AT, columns=names, use_threads=False), None)
    return [name for name in names if first and are_texts(first[name])]


def _with_texts(schema: pa.Schema, texts: Collection[str]) -> pa.Schema:
    for name in {*texts}.intersection(schema.names):
        schema = schema.set(schema.get_field_index(name), pa.field(name, pa.string()))
    return schema


def _decode(batch: pa.RecordBatch, texts: Collection[str]) -> pa.RecordBatch:
    # Later bytes that are no text are replaced as in other texts. A cast of no columns would lose
    # the number of rows.
    schema = _with_texts(batch.schema, texts)
    return batch if schema.equals(batch.schema) else batch.cast(schema, safe=False)


def _long_bytes(metadata: pq.FileMetaData, columns: Iterable[Column]) -> list[str]:
    """Return the columns of bytes, such as images, that are too long for keys on average."""
    binary = [column.path for column in columns if column.is_binary]
    sizes, counts = dict.fromkeys(binary, 0), dict.fromkeys(binary, 1)
    for group in map(metadata.row_group, range(metadata.num_row_groups) if binary else ()):
        for chunk in map(group.column, range(group.num_columns)):
            if chunk.path_in_schema in sizes:
                sizes[chunk.path_in_schema] += chunk.total_uncompressed_size
                counts[chunk.path_in_schema] += chunk.num_values
    return [path for path in binary if sizes[path] > CONTENT_BYTES * counts[path]]


def _step_rows(
    file: pq.ParquetFile, groups: range, read: Callable[[int], Iterator[pa.RecordBatch]]
) -> int:
    """Return how many rows to read at a time, as the size of the first ones in memory tells.

    The file does not tell it, since equal values share no bytes in memory.
    """
    if sum(file.metadata.row_group(group).num_rows for group in groups) <= STEP_ROWS:
        return STEP_ROWS
    size = max((step.nbytes / len(step) for step in islice(read(STEP_ROWS), 1)), default=1)
    return int(np.clip(_STEP_BYTES / max(size, 1), STEP_ROWS, _MOST_STEP_ROWS))


def _batches(
    file: pq.ParquetFile,
    columns: tuple[Column, ...],
    groups: range,
    *,
    unread: Sequence[str],
    texts: Collection[str],
) -> Batches:
    """Read the rows; columns in `unread` are null, and the bytes of `texts` are decoded."""
    paths = readable_paths(columns)
    read = [path for path in paths if path not in unread]
    needed = None if has_made_up_names(file.schema_arrow) else read

    def steps(rows: int) -> Iterator[pa.RecordBatch]:
        found = file.iter_batches(rows, groups, columns=needed, use_threads=False)
        return (flatten(_decode(step, texts), read) for step in found)

    with file, translate_read_errors():
        for batch in merge_batches(steps(_step_rows(file, groups, steps)), cells=_BATCH_CELLS):
            nulls = [pa.nulls(len(batch), pa.string())] * len(unread)
            names = [*batch.schema.names, *unread]
            yield pa.RecordBatch.from_arrays([*batch.columns, *nulls], names) if unread else batch
