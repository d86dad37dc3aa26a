"""Values that come as Python's objects, as drivers of databases and Avro give them."""

from collections.abc import Sequence

import pyarrow as pa

_HAVE_TEXTS = (
    pa.types.is_integer,
    pa.types.is_floating,
    pa.types.is_decimal,
    pa.types.is_boolean,
    pa.types.is_date,
    pa.types.is_timestamp,
    pa.types.is_string,
    pa.types.is_null,
)


def array_of(values: list[object]) -> pa.Array:
    """Values of one column.

    Args:
        values: Some rows of it.

    Returns:
        As many; what Arrow has no text for is written as Python writes it.

    Examples:
        >>> from datetime import time
        >>> array_of([time(9, 30), None]).to_pylist(), array_of([1, None]).type
        (['09:30:00', None], DataType(int64))
    """
    try:
        found = pa.array(values)
    except (pa.ArrowException, OverflowError, ValueError):
        found = None
    if found is not None and any(has_text(found.type) for has_text in _HAVE_TEXTS):
        return found
    return pa.array([None if one is None else str(one) for one in values], pa.string())


def batch_of(names: Sequence[str], columns: Sequence[list[object]], *, rows: int) -> pa.RecordBatch:
    """Rows whose values are Python's objects.

    Args:
        names: The columns' names.
        columns: Their values.
        rows: How many there are, which without a column nothing else tells.

    Returns:
        As many rows.
    """
    if not names:
        return pa.RecordBatch.from_struct_array(pa.array([{}] * rows, pa.struct([])))
    return pa.RecordBatch.from_arrays([array_of(one) for one in columns], names=list(names))
