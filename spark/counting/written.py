"""The distinct values of a column as its rows write them, whatever Arrow's type they have."""

from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from datahub_hyperjoin.spark.counting.sketch import Counts

_EXACT_FLOATS = 2.0**53


@dataclass(frozen=True, slots=True, eq=False)
class Written:
    """What some rows of a column hold, as written."""

    rows: int
    """Rows seen."""

    values: pa.Array
    """The distinct texts, in the order of their first rows; null for no value."""

    counts: Counts
    """Rows that hold each."""


def count_written(column: pa.Array) -> Written:
    """Counts the texts of one batch of a column.

    Args:
        column: The rows, of any type that has a text.

    Returns:
        The distinct ones.

    Examples:
        >>> import pyarrow as pa
        >>> found = count_written(pa.array([2.0, None, 0.5, 2.0]))
        >>> found.values.to_pylist(), found.counts.tolist()
        (['2', None, '0.5'], [2, 1, 1])
    """
    found = pc.value_counts(countable(column))
    return Written(len(column), _texts(found.field(0)), found.field(1).to_numpy())


def texts_of(column: pa.Array) -> pa.Array:
    """The texts of one batch of a column.

    Args:
        column: The rows, of any type that has a text.

    Returns:
        As many strings.
    """
    return _texts(countable(column))


def countable(column: pa.Array) -> pa.Array:
    """The rows in a type that Arrow can take, count and write, as not all are.

    Args:
        column: The rows, of any type that has a text.

    Returns:
        As many, with the same texts.
    """
    if pa.types.is_string(column.type):
        return column
    if isinstance(column, pa.ExtensionArray):
        return countable(column.storage)
    for is_type, plain in _PLAIN:
        if is_type(column.type):
            return plain(column)
    return column


_PLAIN: tuple[tuple[Callable[[pa.DataType], bool], Callable[[pa.Array], pa.Array]], ...] = (
    (pa.types.is_dictionary, lambda column: countable(column.dictionary_decode())),
    (pa.types.is_string_view, lambda column: column.cast(pa.string())),
    (pa.types.is_large_string, lambda column: column.cast(pa.string())),
    (pa.types.is_float16, lambda column: column.cast(pa.float32())),
    (pa.types.is_duration, lambda column: column.cast(pa.int64())),
    (pa.types.is_timestamp, lambda column: column.cast(pa.timestamp(column.type.unit))),
)


def _texts(distinct: pa.Array) -> pa.Array:
    if pa.types.is_string(distinct.type):
        return distinct
    written = distinct.cast(pa.string())
    if not pa.types.is_floating(distinct.type):
        return written
    # Arrow writes great whole floats with an exponent; an identifier has none.
    whole = pc.and_(
        pc.equal(pc.floor(distinct), distinct), pc.less(pc.abs(distinct), _EXACT_FLOATS)
    )
    whole = pc.fill_null(whole, False)  # noqa: FBT003 (Arrow's signature)
    if not pc.any(whole).as_py():
        return written
    digits = pc.if_else(whole, distinct, None).cast(pa.int64()).cast(pa.string())
    return pc.if_else(whole, digits, written)
