"""Read ORC files."""

from collections.abc import Collection, Generator, Sequence

import pyarrow as pa
from pyarrow import orc

from datahub_hyperjoin.spark.columns import RowEstimate, TableStream, choose_columns, readable_paths
from datahub_hyperjoin.spark.files.nested import (
    flatten,
    leaf_columns,
    top_level_fields,
    translate_read_errors,
)
from datahub_hyperjoin.spark.files.stored import DataPath, open_at_random
from datahub_hyperjoin.wording import name_some


def read_orc(
    path: DataPath, paths: Collection[str] | None, stripes: range | None = None
) -> TableStream:
    """Open an ORC file.

    Args:
        paths: Paths of the columns to read; all if None.
        stripes: Indices of the stripes to read; all if None.
    """
    with translate_read_errors():
        file = orc.ORCFile(open_at_random(path))
    columns, notes = choose_columns(leaf_columns(file.schema), paths)
    chosen = range(file.nstripes) if stripes is None else stripes
    batches = _batches(file, readable_paths(columns), notes, chosen)
    # A file does not say how many rows each stripe has.
    rows = file.nrows * len(chosen) / max(file.nstripes, 1)
    return TableStream(columns, batches, notes, RowEstimate(rows))


def count_stripes(path: DataPath) -> int:
    """Return the number of stripes in an ORC file, each of which can be read alone."""
    with translate_read_errors():
        return int(orc.ORCFile(open_at_random(path)).nstripes)


def _batches(
    file: orc.ORCFile, paths: Sequence[str], notes: list[str], stripes: range
) -> Generator[pa.RecordBatch, None, None]:
    # Without a comparable column, one field is read to count the rows.
    fields = top_level_fields(file.schema, paths) or file.schema.names[:1]
    unread: dict[str, None] = {}
    with translate_read_errors():
        for stripe in stripes:
            yield flatten(_read_stripe(file, stripe, fields, unread), paths)
    if unread:
        names = name_some([*map(repr, unread)])
        notes.append(f"columns with values that cannot be read, which count as missing: {names}")


def _read_stripe(
    file: orc.ORCFile, stripe: int, fields: Sequence[str], unread: dict[str, None]
) -> pa.RecordBatch:
    """Read a stripe of an ORC file; unreadable fields become null, and are added to `unread`.

    One date in a far year is enough: Arrow counts nanoseconds.
    """
    try:
        return file.read_stripe(stripe, columns=fields)
    except pa.ArrowInvalid:
        read = {name: _read_field(file, stripe, name) for name in fields}
        lengths = [len(array) for array in read.values() if array is not None]
        if not lengths:
            raise
    unread.update({name: None for name in fields if read[name] is None})
    arrays = [
        pa.nulls(lengths[0], file.schema.field(name).type) if array is None else array
        for name, array in read.items()
    ]
    return pa.RecordBatch.from_arrays(arrays, names=[*fields])


def _read_field(file: orc.ORCFile, stripe: int, name: str) -> pa.Array | None:
    try:
        return file.read_stripe(stripe, columns=[name]).column(0)
    except pa.ArrowInvalid:
        return None
