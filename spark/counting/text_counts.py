"""Count the distinct texts of a column, whatever its Arrow type."""

from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from datahub_hyperjoin.spark.counting.sketch import Counts

_EXACT_FLOATS = 2.0**53
"""Below this magnitude, every whole number is an exact double."""


@dataclass(frozen=True, slots=True, eq=False)
class TextCounts:
    """The distinct texts in some rows of a column."""

    rows: int
    """Number of rows counted."""

    values: pa.Array
    """Distinct texts in the order of their first rows; nulls appear as one null entry."""

    counts: Counts
    """Number of rows that hold each text."""


def count_texts(column: pa.Array) -> TextCounts:
    """Count the texts in one batch of a column.

    Args:
        column: Rows of any type that has a text form.

    Returns:
        The distinct texts and their counts.

    Examples:
        >>> import pyarrow as pa
        >>> texts = count_texts(pa.array([2.0, None, 0.5, 2.0]))
        >>> texts.values.to_pylist(), texts.counts.tolist()
        (['2', None, '0.5'], [2, 1, 1])
    """
    distinct = pc.value_counts(countable(column))
    return TextCounts(len(column), _texts(distinct.field(0)), distinct.field(1).to_numpy())


def texts_of(column: pa.Array) -> pa.Array:
    """Return the text of every row in one batch of a column.

    Args:
        column: Rows of any type that has a text form.

    Returns:
        One string per row; null stays null.
    """
    return _texts(countable(column))


def countable(column: pa.Array) -> pa.Array:
    """Convert rows to a type whose values Arrow can select, count and cast to strings.

    Arrow supports these operations for most types, but not for all of them.

    Args:
        column: Rows of any type that has a text form.

    Returns:
        The same rows with unchanged texts.
    """
    if pa.types.is_string(column.type):
        return column
    if isinstance(column, pa.ExtensionArray):
        return countable(column.storage)
    for is_type, convert in _CONVERSIONS:
        if is_type(column.type):
            return convert(column)
    return column


_CONVERSIONS: tuple[tuple[Callable[[pa.DataType], bool], Callable[[pa.Array], pa.Array]], ...] = (
    (pa.types.is_dictionary, lambda column: countable(column.dictionary_decode())),
    (pa.types.is_string_view, lambda column: column.cast(pa.string())),
    (pa.types.is_large_string, lambda column: column.cast(pa.string())),
    (pa.types.is_float16, lambda column: column.cast(pa.float32())),
    (pa.types.is_duration, lambda column: column.cast(pa.int64())),
    (pa.types.is_timestamp, lambda column: column.cast(pa.timestamp(column.type.unit))),
)


def _texts(distinct: pa.Array) -> pa.Array:
    """Cast values to strings, and write whole floats as integers.

    Arrow writes a large float such as `2e9` with an exponent. An identifier stored as a float must
    have the same text as one stored as an integer, or the two columns would not match.
    """
    if pa.types.is_string(distinct.type):
        return distinct
    texts = distinct.cast(pa.string())
    if not pa.types.is_floating(distinct.type):
        return texts
    is_whole = pc.and_(
        pc.equal(pc.floor(distinct), distinct), pc.less(pc.abs(distinct), _EXACT_FLOATS)
    )
    is_whole = pc.fill_null(is_whole, False)  # noqa: FBT003 (Arrow's signature)
    if not pc.any(is_whole).as_py():
        return texts
    integers = pc.if_else(is_whole, distinct, None).cast(pa.int64()).cast(pa.string())
    return pc.if_else(is_whole, integers, texts)
