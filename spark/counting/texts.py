"""Convert columns of any Arrow type to text, count the distinct texts, and infer their types.

The types that a file declares do not matter: a whole number is one whether it is written as text,
as `12` or as `12.0`. Every value has a type, a column has the set of its values' types, and the
set determines the type of the column. The set of a column is the union of the sets of its parts.

A few bytes show for most values that they are numbers or can only be text. Only the remaining
values are matched against regular expressions, and none of a column that is already known
to be text.
"""

from collections.abc import Callable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from datahub_hyperjoin.arrow_bytes import (
    Bytes,
    Indices,
    Mask,
    StringBytes,
    index_within,
    reduce_each,
)
from datahub_hyperjoin.normal_form import normal_form, normal_forms
from datahub_hyperjoin.spark.counting.sketch import Counts, filtered_bounds
from datahub_hyperjoin.tables import DataType
from datahub_hyperjoin.value_forms import Notation
from datahub_hyperjoin.written_in import canonical_form

_ROWS_ASKED = 1 << 14
"""Number of rows that show how often texts repeat."""
_EXACT_FLOATS = 2.0**53
"""Below this magnitude, every whole number is an exact double."""
LAST_ZEROS = ((r"(\.[0-9]*[1-9])0+$", r"\1"), (r"\.0+$", ""))
"""How zeros at the end of a fraction are dropped, so that `12.50` becomes `12.5`."""


@dataclass(frozen=True, slots=True, eq=False)
class TextCounts:
    """The texts in some rows of a column, with the row count of each."""

    rows: int
    """Number of rows counted."""

    values: pa.Array
    """Distinct texts in the order of their first rows, but for `list_texts`; nulls are a null."""

    counts: Counts
    """Number of rows that hold each text."""


def count_texts(column: pa.Array) -> TextCounts:
    """For each distinct text in a batch of a column, count the rows.

    Examples:
        >>> import pyarrow as pa
        >>> texts = count_texts(pa.array([2.0, None, 0.5, 2.0]))
        >>> texts.values.to_pylist(), texts.counts.tolist()
        (['2', None, '0.5'], [2, 1, 1])
    """
    distinct = pc.value_counts(countable(column))
    return TextCounts(len(column), _texts(distinct.field(0)), distinct.field(1).to_numpy())


def list_texts(column: pa.Array) -> TextCounts:
    """Like `count_texts`, but list each text once a row where few of them repeat.

    To look for repeated texts takes longer than to normalise and hash each.

    Examples:
        >>> import pyarrow as pa
        >>> list_texts(pa.array(["b", "a", "b", "c"])).values.to_pylist()
        ['b', 'a', 'b', 'c']
    """
    texts = countable(column)
    asked = texts[:_ROWS_ASKED]
    if not pa.types.is_string(texts.type) or 2 * pc.count_distinct(asked).as_py() < len(asked):
        return count_texts(texts)
    return TextCounts(len(texts), texts, np.ones(len(texts), np.int64))


def texts_of(column: pa.Array) -> pa.Array:
    """Convert the value in each row of a column to text."""
    return _texts(countable(column))


def countable(column: pa.Array) -> pa.Array:
    """Convert a column to a type whose values Arrow can both count and convert to text.

    Most types stay as they are, because Arrow supports both operations for them.
    """
    if pa.types.is_string(column.type):
        return column
    if isinstance(column, pa.ExtensionArray):
        return countable(column.storage)
    convert = next((convert for is_type, convert in _CONVERSIONS if is_type(column.type)), None)
    return convert(column) if convert else column


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
        return _without_exponents(rewrite(texts, *LAST_ZEROS))
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


def rewrite(texts: pa.Array, *rewrites: tuple[str, str]) -> pa.Array:
    """Apply several regular-expression replacements in order."""
    for pattern, replacement in rewrites:
        texts = pc.replace_substring_regex(texts, pattern, replacement)
    return texts


def _without_exponents(texts: pa.Array) -> pa.Array:
    """Write numbers such as `1e-07` without an exponent."""
    has_exponent = pc.fill_null(pc.match_substring(texts, "e", ignore_case=True), False)  # noqa: FBT003 (Arrow's signature)
    if not pc.any(has_exponent).as_py():
        return texts
    # Arrow has no function that writes numbers without exponents.
    found = texts.filter(has_exponent).to_pylist()
    exact = [canonical_form(text.lower(), Notation.POINT) for text in found]
    return pc.replace_with_mask(texts, has_exponent, pa.array(exact, pa.string()))


NULL_WORDS = ("na", "n/a", "#n/a", "null", "nan", "none", "\\n")
"""Normal forms that mean null in a column of numbers, dates or booleans.

In a column of text they are values: `NA` is the country code of Namibia.
"""

_MAILS = ("na", "no-email", "no-reply", "noemail", "none", "noreply", "test", "unknown")
_WORDS = (
    *("anonymous", "blank", "default", "deleted", "desconocido", "dummy", "empty", "guest"),
    *("inconnu", "k.a.", "keine", "missing", "n.a.", "n.d.", "n.n.", "nat", "nil", "no data"),
    *("no value", "none provided", "not applicable", "not available", "not set", "not specified"),
    *("s/n", "tba", "tbc", "tbd", "test", "unassigned", "unbekannt", "undefined", "unknown"),
    *("unspecified", "void"),
)
_IN_BRACKETS = ("empty", "na", "none", "null", "unknown", "blank")
_IDS = ("0" * 8, "0" * 4, "0" * 4, "0" * 4, "0" * 12)
MARKERS = (
    *_WORDS,
    *(f"{a}{word}{b}" for word in _IN_BRACKETS for a, b in ("()", "<>", "[]")),
    *(sign * count for sign in "-?._*x" for count in range(1, 7)),
    *("{}", "[]", "''", '""', "/", "#", "#ref!", "#value!", "#name?", "#div/0!"),
    *("-1", "-9", *("0" * digits for digits in range(1, 13))),
    *(f"{sign}{'9' * digits}" for digits in range(2, 20) for sign in ("", "-")),
    *(digit * length for digit in "12345678" for length in (9, 10)),
    *(f"-{2**bits}" for bits in (15, 31)),
    str(2**31 - 1),
    *("-".join(_IDS), "".join(_IDS), f"{{{'-'.join(_IDS)}}}", "-".join(_IDS).replace("0", "f")),
    *("0000-00-00", "0001-01-01", "1111-11-11", "1753-01-01", "1899-12-30", "1899-12-31"),
    *("1900-01-01", "1970-01-01", "2099-12-31", "9999-12-31", "9999-12-31 23:59:59"),
    *(f"{digit * 3}-{digit * 3}-{digit * 4}" for digit in "0123456789"),
    *(f"({digit * 3}) {digit * 3}-{digit * 4}" for digit in "019"),
    *(f"{name}@{host}" for name in _MAILS for host in ("example.com", "email.com", "test.com")),
)
"""Normal forms that stand for a missing value where rows repeat them and no other value."""

_LISTED = frozenset((*MARKERS, *NULL_WORDS))
_LISTED_VALUES = pa.array(sorted(_LISTED))


def is_usual_marker(text: str) -> bool:
    """Return whether a text is a usual word for a missing value, and so nobody's secret.

    >>> is_usual_marker("N/A"), is_usual_marker("-1"), is_usual_marker("ada@example.org")
    (True, True, False)
    """
    return normal_form(text) in _LISTED


def are_usual_markers(texts: pa.Array) -> Mask:
    """Return a mask that selects the texts that are usual words for a missing value."""
    found = pc.is_in(normal_forms(texts), value_set=_LISTED_VALUES)
    return found.to_numpy(zero_copy_only=False)


_WHOLE = r"^-?(?:0|[1-9][0-9]*)$"
# Programs write a sign or a point with an exponent; `12e5` is a code.
_NUMBER = (
    r"^-?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:e[+-][0-9]+)?$|"
    r"^-?(?:(?:0|[1-9][0-9]*)\.[0-9]*|\.[0-9]+)e[0-9]+$|^-?inf$"
)
_DATE = r"^[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])$"
_TIMESTAMP = (
    r"^[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])[t ]"
    r"(?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:\.[0-9]+)?)?"
    r"(?: ?[+-][0-9]{2}(?::?[0-9]{2})?)?$"
)
TYPE_PATTERNS = {
    DataType.INTEGER: _WHOLE,
    DataType.DECIMAL: _NUMBER,
    DataType.DATE: _DATE,
    DataType.TIMESTAMP: _TIMESTAMP,
    DataType.BOOLEAN: r"^(?:true|false)$",
}
"""Regular expression for the normal forms of each type. A value gets the first type that matches;
a value without a match is text."""
_TYPES = tuple(TYPE_PATTERNS)
_INTEGERS, _DECIMALS, _DATES, _TIMESTAMPS, _BOOLEANS = range(len(_TYPES))
_OTHER = len(_TYPES)
_TEXT = frozenset({DataType.TEXT})
_FIRST_VALUES = 16
"""Number of values per column that are matched first: these often show that a column is text."""
_ZERO, _HYPHEN, _DOT_BYTE = b"0-."
_DIGIT, _DOT, _TYPED, _TEXT_ONLY = 1, 2, 4, 8
_CLASS = {**dict.fromkeys(b"0123456789", _DIGIT), **dict.fromkeys(b" +-:aefilnrstu", _TYPED)}
_CLASSES = bytes({**_CLASS, ord("."): _DOT}.get(byte, _TEXT_ONLY) for byte in range(256))
"""The class of each byte. No pattern matches a value that contains a `_TEXT_ONLY` byte."""


def types_of(normal: pa.Array, bounds: Indices) -> list[frozenset[DataType]]:
    """For each of several concatenated columns, infer the types of its values.

    They are text alone as soon as one value is text.

    Examples:
        >>> import numpy as np, pyarrow as pa
        >>> numbers, codes = types_of(pa.array(["1", "2.5", "1", "007"]), np.array([0, 2, 4]))
        >>> sorted(numbers), sorted(codes)
        ([<DataType.DECIMAL: 'decimal'>, <DataType.INTEGER: 'integer'>], [<DataType.TEXT: 'text'>])
    """
    strings = StringBytes.of(normal)
    classes = strings.classes(_CLASSES)
    digits = classes == _DIGIT
    is_integer = digits & ((strings.at(0) != _ZERO) | (strings.lengths == 1))
    is_text = (classes >= _TEXT_ONLY) | (digits & ~is_integer)
    has_type = np.zeros((len(bounds) - 1, len(_TYPES) + 1), np.bool_)
    has_type[:, _INTEGERS] = reduce_each(np.logical_or, is_integer, bounds, np.bool_)
    has_type[:, _OTHER] = reduce_each(np.logical_or, is_text, bounds, np.bool_)
    is_decimal = _are_decimals(strings, classes)
    has_type[:, _DECIMALS] = reduce_each(np.logical_or, is_decimal, bounds, np.bool_)
    undecided = ~(is_integer | is_decimal | np.repeat(has_type[:, _OTHER], np.diff(bounds)))
    rows, rows_bounds = np.flatnonzero(undecided), filtered_bounds(undecided, bounds)
    columns = np.repeat(np.arange(len(rows_bounds) - 1), np.diff(rows_bounds))
    is_first = index_within(rows_bounds) < _FIRST_VALUES
    # The second round skips the columns that the first values have shown to be text.
    for batch in (is_first, ~is_first):
        asked = batch & ~has_type[columns, _OTHER]
        has_type[columns[asked], _match(normal, strings, classes, rows[asked])] = True
    return [_TEXT if column[_OTHER] else _types(column) for column in has_type.tolist()]


def common_type(types: AbstractSet[DataType]) -> DataType:
    """Return the type of a column, given the types of its values.

    Any other mixture than these is text, and so is a column without values.

    Examples:
        >>> common_type({DataType.INTEGER, DataType.DECIMAL})
        <DataType.DECIMAL: 'decimal'>
        >>> common_type({DataType.INTEGER, DataType.DATE})
        <DataType.TEXT: 'text'>
    """
    if len(types) == 1:
        return next(iter(types))
    if types == {DataType.INTEGER, DataType.DECIMAL}:
        return DataType.DECIMAL
    if types == {DataType.DATE, DataType.TIMESTAMP}:
        return DataType.TIMESTAMP
    return DataType.TEXT


def _are_decimals(strings: StringBytes, classes: Bytes) -> Mask:
    """Mark the values of digits and one dot, such as `12.5`, that the pattern of decimals matches.

    They are the usual decimals, and bytes decide this faster than a regular expression.
    """
    rows = np.flatnonzero(classes == (_DIGIT | _DOT))
    first, second = strings.at(0, rows), strings.at(1, rows)
    rows = rows[(first != _ZERO) | (second == _DOT_BYTE)]
    marks = np.zeros(len(classes), np.bool_)
    if len(rows):
        marks[rows] = strings.count(strings.data == _DOT_BYTE)[rows] == 1
    return marks


def _match(normal: pa.Array, strings: StringBytes, classes: Bytes, rows: Indices) -> Indices:
    """For each of `rows`, return the type of the value as an index in `_TYPES`, or `_OTHER`.

    Hyphens at the positions of a date, and else a dot, decide which patterns can match at all.
    """
    is_dated = (strings.at(4, rows) == _HYPHEN) & (strings.at(7, rows) == _HYPHEN)
    has_dot = (classes[rows] & _DOT > 0) & ~is_dated
    types = np.full(len(rows), _OTHER)
    for group, candidates in (
        (is_dated, (_DATES, _TIMESTAMPS)),
        (has_dot, (_DECIMALS,)),
        (~(is_dated | has_dot), (_INTEGERS, _DECIMALS, _BOOLEANS)),
    ):
        unmatched = np.flatnonzero(group)
        for candidate in candidates:
            values = normal.take(pa.array(rows[unmatched]))
            matches = pc.match_substring_regex(values, TYPE_PATTERNS[_TYPES[candidate]])
            mask = matches.to_numpy(zero_copy_only=False)
            types[unmatched[mask]], unmatched = candidate, unmatched[~mask]
    return types


def _types(has_type: list[bool]) -> frozenset[DataType]:
    return frozenset(type_ for type_, is_met in zip(_TYPES, has_type, strict=False) if is_met)
