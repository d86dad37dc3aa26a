"""Converts Python objects, as database drivers and Avro return them, to Arrow arrays."""

from collections.abc import Sequence

import pyarrow as pa

_TEXT_TYPES = (
    pa.types.is_integer,
    pa.types.is_floating,
    pa.types.is_decimal,
    pa.types.is_boolean,
    pa.types.is_date,
    pa.types.is_timestamp,
    pa.types.is_string,
    pa.types.is_null,
)
"""Tests for the types whose values Arrow can convert to text later."""


def array_of(values: list[object]) -> pa.Array:
    """Convert values of one column to an array.

    Args:
        values: Values of some rows.

    Returns:
        An array of a type that Arrow converts to text; of strings, written as Python writes the
        values, if there is no such type.

    Examples:
        >>> from datetime import time
        >>> array_of([time(9, 30), None]).to_pylist(), array_of([1, None]).type
        (['09:30:00', None], DataType(int64))
    """
    try:
        array = pa.array(values)
    except (pa.ArrowException, OverflowError, ValueError):
        array = None
    if array is not None and any(has_text(array.type) for has_text in _TEXT_TYPES):
        return array
    return pa.array([None if value is None else str(value) for value in values], pa.string())


def batch_of(names: Sequence[str], columns: Sequence[list[object]], *, rows: int) -> pa.RecordBatch:
    """Convert rows to a batch.

    Args:
        names: The columns' names.
        columns: The columns' values.
        rows: Number of rows, which a batch without columns needs.

    Returns:
        The batch.
    """
    # A batch without columns would lose its number of rows.
    if not names:
        return pa.RecordBatch.from_struct_array(pa.array([{}] * rows, pa.struct([])))
    return pa.RecordBatch.from_arrays([array_of(values) for values in columns], names=list(names))
