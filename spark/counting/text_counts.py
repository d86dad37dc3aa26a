"""Convert columns of any Arrow type to text, and count the distinct texts."""

from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from datahub_hyperjoin.spark.counting.sketch import Counts
from datahub_hyperjoin.value_forms import Notation, canonical_form

_EXACT_FLOATS = 2.0**53
"""Below this magnitude, every whole number is an exact double."""
_LAST_ZEROS = ((r"(\.[0-9]*[1-9])0+$", r"\1"), (r"\.0+$", ""))


@dataclass(frozen=True, slots=True, eq=False)
class TextCounts:
    """The distinct texts in some rows of a column, with the row count of each text."""

    rows: int
    """Number of rows counted."""

    values: pa.Array
    """Distinct texts in the order of their first rows; nulls appear as one null entry."""

    counts: Counts
    """Number of rows that hold each text."""


def count_texts(column: pa.Array) -> TextCounts:
    """For each distinct text in a batch of a column, count the rows.

    Args:
        column: Rows of any type that has a text form.

    Examples:
        >>> import pyarrow as pa
        >>> texts = count_texts(pa.array([2.0, None, 0.5, 2.0]))
        >>> texts.values.to_pylist(), texts.counts.tolist()
        (['2', None, '0.5'], [2, 1, 1])
    """
    distinct = pc.value_counts(countable(column))
    return TextCounts(len(column), _texts(distinct.field(0)), distinct.field(1).to_numpy())


def texts_of(column: pa.Array) -> pa.Array:
    """Convert the value in each row of a column to text.

    Args:
        column: Rows of any type that has a text form.
    """
    return _texts(countable(column))


def countable(column: pa.Array) -> pa.Array:
    """Convert a column to a type whose values Arrow can both count and convert to text.

    Most types stay as they are, because Arrow supports both operations for them.

    Args:
        column: Rows of any type that has a text form.
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
    """Convert values to texts.

    Equal numbers have equal texts, whatever their types.

    Arrow writes a large float such as `2e9` with an exponent, and a decimal with all digits of its
    type. An identifier stored as a float must have the same text as one stored as an integer, and a
    price the same whatever its scale, or the two columns would not match.
    """
    if pa.types.is_string(distinct.type):
        return distinct
    texts = distinct.cast(pa.string())
    if pa.types.is_decimal(distinct.type) or pa.types.is_time(distinct.type):
        return _without_exponents(_without_last_zeros(texts))
    if not pa.types.is_floating(distinct.type):
        return texts
    is_whole = pc.and_(
        pc.equal(pc.floor(distinct), distinct), pc.less(pc.abs(distinct), _EXACT_FLOATS)
    )
    is_whole = pc.fill_null(is_whole, False)  # noqa: FBT003 (Arrow's signature)
    if not pc.any(is_whole).as_py():
        return _without_exponents(texts)
    integers = pc.if_else(is_whole, distinct, None).cast(pa.int64()).cast(pa.string())
    return _without_exponents(pc.if_else(is_whole, integers, texts))


def _without_last_zeros(texts: pa.Array) -> pa.Array:
    """Drop zeros at the end of fractions, so that `12.50` becomes `12.5`."""
    for pattern, replacement in _LAST_ZEROS:
        texts = pc.replace_substring_regex(texts, pattern, replacement)
    return texts


def _without_exponents(texts: pa.Array) -> pa.Array:
    """Write numbers such as `1e-07` without an exponent."""
    has_exponent = pc.fill_null(pc.match_substring(texts, "e", ignore_case=True), False)  # noqa: FBT003 (Arrow's signature)
    if not pc.any(has_exponent).as_py():
        return texts
    # Arrow has no function that writes numbers without exponents.
    exact = [
        canonical_form(text.lower(), Notation.POINT)
        for text in texts.filter(has_exponent).to_pylist()
    ]
    return pc.replace_with_mask(texts, has_exponent, pa.array(exact, pa.string()))
