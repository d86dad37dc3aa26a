"""Convert Python objects to Arrow arrays.

The objects come from database drivers and Avro files.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from decimal import Decimal

import pyarrow as pa

from datahub_hyperjoin.arrow_bytes import MOST_KEY_BYTES

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
"""Functions that recognise the Arrow types whose values Arrow can convert to text."""


def array_of(values: list[object]) -> pa.Array:
    """Convert the values of a column to an Arrow array.

    Examples:
        >>> from datetime import time
        >>> array_of([time(9, 30), None]).to_pylist(), array_of([1, None]).type
        (['09:30:00', None], DataType(int64))
    """
    try:
        array = pa.array(values)
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        array = None
    if array is not None and any(has_text(array.type) for has_text in _TEXT_TYPES):
        return array
    texts = [None if value is None or _is_long(value) else text_of(value) for value in values]
    return pa.array(texts, pa.string())


def _is_long(value: object) -> bool:
    """Return whether a value is bytes that are too long for a key."""
    return isinstance(value, bytes) and len(value) > MOST_KEY_BYTES


def text_of(value: object) -> str:
    r"""Convert a Python value to the same text that Arrow or the database would write.

    Examples:
        >>> from datetime import timedelta
        >>> text_of(b"\x01\x02"), text_of(timedelta(hours=9, minutes=30))
        ('0102', '09:30:00')
        >>> text_of(Decimal("1.50E+3")), text_of(timedelta(days=-2))
        ('1500', '-48:00:00')
    """
    match value:
        case bytes():
            return value.hex()
        case Decimal() if value.is_finite():
            text = f"{value:f}"
            return text.rstrip("0").rstrip(".") if "." in text else text
        case timedelta():
            return _duration_text(value)
        case datetime() if value.tzinfo:
            return str(value.astimezone(timezone.utc).replace(tzinfo=None))
    # Half a surrogate pair, which JSON and SQLite may hold, has no UTF-8.
    return str(value).encode("utf-8", "replace").decode()


def _duration_text(duration: timedelta) -> str:
    """Write a duration in MariaDB's format, such as `-838:59:59`."""
    sign = "-" if duration < timedelta(0) else ""
    seconds, fraction = divmod(abs(duration), timedelta(seconds=1))
    minutes, second = divmod(seconds, 60)
    hours, minute = divmod(minutes, 60)
    micros = f".{fraction.microseconds:06}".rstrip("0") if fraction else ""
    return f"{sign}{hours:02}:{minute:02}:{second:02}{micros}"


def batch_of(names: Sequence[str], columns: Sequence[list[object]], *, rows: int) -> pa.RecordBatch:
    """Build an Arrow batch from columns of Python objects."""
    # A batch without columns would lose its number of rows.
    if not names:
        return pa.RecordBatch.from_struct_array(pa.array([{}] * rows, pa.struct([])))
    return pa.RecordBatch.from_arrays([array_of(values) for values in columns], names=list(names))
