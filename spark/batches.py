"""Merge small batches of rows, shorten long texts, and replace invalid values.

Files may unfold: a few kilobytes of Parquet may hold a million long texts. Readers therefore read
few rows at a time, and these are combined up to a number of bytes.
"""

from collections.abc import Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from datahub_hyperjoin.spark.columns import TableStream

STEP_ROWS = 1 << 10
"""Rows to read at a time from files that may be much larger in memory."""
_BATCH_BYTES = 1 << 26
_LONGEST = 1 << 20
"""Maximum number of characters kept of each value. Values of join columns are far shorter."""
_LIMITS = {"s": 10**12, "ms": 10**15, "us": 10**18, "ns": (1 << 63) - 1}
"""For each unit of time, the maximum distance from 1970 at which Arrow can write a timestamp: at
most about 31,700 years."""
# Days from 1970: about 30,000 years, within the bounds of `_LIMITS`.
_LAST_DAY = 11_000_000

_INVALID = "texts that are not UTF-8, with characters replaced by \ufffd"
_LONG = f"values longer than {_LONGEST} characters, which were cut"
_FAR = "dates and times thousands of years away, which count as missing"


def merge_batches(batches: Iterable[pa.RecordBatch], *, cells: int) -> Iterator[pa.RecordBatch]:
    """Merge small batches into larger ones, because every batch has a fixed cost.

    Args:
        cells: Number of values up to which batches are combined, if they take at most 64 MiB.
    """
    pending: list[pa.RecordBatch] = []
    pending_rows = pending_bytes = 0
    for batch in batches:
        rows = pending_rows + len(batch)
        is_large = rows * batch.num_columns > cells or pending_bytes + batch.nbytes > _BATCH_BYTES
        if pending and is_large:
            yield pa.concat_batches(pending)
            pending, pending_rows, pending_bytes = [], 0, 0
        pending.append(batch)
        pending_rows, pending_bytes = pending_rows + len(batch), pending_bytes + batch.nbytes
    if pending:
        yield pa.concat_batches(pending)


def with_usable_values(stream: TableStream) -> TableStream:
    """Shorten very long texts, and replace invalid characters and out-of-range dates.

    The table's notes tell users how many values were changed.

    Returns:
        The same rows. Texts have at most a million characters, and all are valid; points in time
        that Arrow cannot write are null.
    """
    return replace(stream, batches=_usable(stream.batches, stream.notes))


def _usable(
    batches: Generator[pa.RecordBatch, None, None], notes: list[str]
) -> Generator[pa.RecordBatch, None, None]:
    changed = dict.fromkeys((_INVALID, _LONG, _FAR), 0)
    try:
        with closing(batches):
            for batch in batches:
                columns = [_usable_column(column, changed) for column in batch.columns]
                is_changed = any(a is not b for a, b in zip(columns, batch.columns, strict=True))
                names = batch.schema.names
                yield pa.RecordBatch.from_arrays(columns, names=names) if is_changed else batch
    finally:
        notes += [f"{what}: {count}" for what, count in changed.items() if count]


def _usable_column(column: pa.Array, changed: dict[str, int]) -> pa.Array:
    type_ = column.type
    if pa.types.is_string_view(type_):
        return _usable_column(column.cast(pa.large_string()), changed)
    if pa.types.is_string(type_) or pa.types.is_large_string(type_):
        return _without_tails(_as_utf8(column, changed), changed)
    if pa.types.is_date(type_) or pa.types.is_timestamp(type_):
        return _without_far(column, changed)
    return column


def _as_utf8(column: pa.Array, changed: dict[str, int]) -> pa.Array:
    characters = column.buffers()[2]
    # ASCII is the usual case, and ten times as fast to recognise.
    if characters is None or np.frombuffer(characters, np.int8).min(initial=0) >= 0:
        return column
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        binary = pa.large_binary() if pa.types.is_large_string(column.type) else pa.binary()
        written = column.view(binary).to_pylist()
        texts = [None if each is None else each.decode("utf-8", "replace") for each in written]
        changed[_INVALID] += sum(
            text is not None and text.encode() != each
            for each, text in zip(written, texts, strict=True)
        )
        return pa.array(texts, column.type)
    return column


def _without_tails(column: pa.Array, changed: dict[str, int]) -> pa.Array:
    characters = column.buffers()[2]
    # So few bytes cannot hold a value of as many characters.
    if characters is None or characters.size <= _LONGEST:
        return column
    long = pc.sum(pc.greater(pc.utf8_length(column), _LONGEST)).as_py()
    if not long:
        return column
    changed[_LONG] += long
    return pc.utf8_slice_codeunits(column, 0, _LONGEST)


def _without_far(column: pa.Array, changed: dict[str, int]) -> pa.Array:
    if pa.types.is_date32(column.type):
        units, limit = column.cast(pa.int32()), _LAST_DAY
    else:
        units, limit = column.cast(pa.int64()), _LIMITS[getattr(column.type, "unit", "ms")]
    is_far = pc.or_(pc.less(units, -limit), pc.greater(units, limit))
    far = pc.sum(is_far).as_py()
    if not far:
        return column
    changed[_FAR] += far
    return pc.if_else(is_far, pa.scalar(None, column.type), column)
