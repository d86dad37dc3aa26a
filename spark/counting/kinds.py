"""What kind of value a column holds, told from the values themselves.

Types that a file declares are not asked: a whole number is one whether it was written as text,
as `12` or as `12.0`. Every value has a kind, a column has a set of them, and the set names the
type. So the kinds of two halves of a column are the union of theirs.

Most values tell by single bytes that they are whole numbers or nothing but text; only the others
are held against patterns, and none of a column that is known to be text.
"""

from collections.abc import Set as AbstractSet

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from datahub_hyperjoin.arrow_bytes import Bytes, Places, StringBytes, nth_of, reduce_each
from datahub_hyperjoin.spark.counting.sketch import within_range
from datahub_hyperjoin.tables import DataType

MISSING = ("na", "n/a", "#n/a", "null", "nan", "none", "\\n")
"""Normal forms that say "no value" in a column of numbers, dates or booleans.

In a column of text they are values: `NA` is the country code of Namibia.
"""

_WHOLE = r"^-?(?:0|[1-9][0-9]*)$"
_NUMBER = r"^-?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:e[+-]?[0-9]+)?$|^-?inf$"
_DAY = r"^[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])$"
_MOMENT = (
    r"^[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])[t ]"
    r"(?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:\.[0-9]+)?)?(?: ?[+-][0-9]{2}:?[0-9]{2})?$"
)
_PATTERNS = {
    DataType.INTEGER: _WHOLE,
    DataType.DECIMAL: _NUMBER,
    DataType.DATE: _DAY,
    DataType.TIMESTAMP: _MOMENT,
    DataType.BOOLEAN: r"^(?:true|false)$",
}
_KINDS = tuple(_PATTERNS)
_WHOLES, _NUMBERS, _DAYS, _MOMENTS, _TRUTHS = range(len(_KINDS))
_OTHER = len(_KINDS)
_TEXT = frozenset({DataType.TEXT})
_GLANCE = 16
_ZERO, _HYPHEN = b"0-"
_DIGIT, _DOT, _MORE, _FOREIGN = 1, 2, 4, 8
_CLASS = {**dict.fromkeys(b"0123456789", _DIGIT), **dict.fromkeys(b" +-:aefilnrstu", _MORE)}
_CLASSES = bytes({**_CLASS, ord("."): _DOT}.get(byte, _FOREIGN) for byte in range(256))
"""What each byte is: one that is foreign stands in no value that has a pattern."""


def kinds_of(normal: pa.Array, bounds: Places) -> list[frozenset[DataType]]:
    """The kinds among the values of each of several columns; text swallows every other.

    Args:
        normal: Normal forms, without nulls, those of one column after those of another.
        bounds: Where each column begins, and where the last one ends.

    Returns:
        For each column the kinds met, or text alone as soon as one value is of no other kind.

    Examples:
        >>> import numpy as np, pyarrow as pa
        >>> numbers, codes = kinds_of(pa.array(["1", "2.5", "1", "007"]), np.array([0, 2, 4]))
        >>> sorted(numbers), sorted(codes)
        ([<DataType.DECIMAL: 'decimal'>, <DataType.INTEGER: 'integer'>], [<DataType.TEXT: 'text'>])
    """
    strings = StringBytes.of(normal)
    classes = strings.classes(_CLASSES)
    digits = classes == _DIGIT
    whole = digits & ((strings.at(0) != _ZERO) | (strings.lengths == 1))
    other = (classes >= _FOREIGN) | (digits & ~whole)
    met = np.zeros((len(bounds) - 1, len(_KINDS) + 1), np.bool_)
    met[:, _WHOLES] = reduce_each(np.logical_or, whole, bounds, np.bool_)
    met[:, _OTHER] = reduce_each(np.logical_or, other, bounds, np.bool_)
    rest = ~(whole | np.repeat(met[:, _OTHER], np.diff(bounds)))
    places, begins = np.flatnonzero(rest), within_range(rest, bounds)
    columns = np.repeat(np.arange(len(begins) - 1), np.diff(begins))
    early = nth_of(begins) < _GLANCE
    for some in (early, ~early):
        asked = some & ~met[columns, _OTHER]
        met[columns[asked], _recognised(normal, strings, classes, places[asked])] = True
    return [_TEXT if column[_OTHER] else _named(column) for column in met.tolist()]


def type_of(kinds: AbstractSet[DataType]) -> DataType:
    """The one type that describes values of several kinds.

    Args:
        kinds: The kinds met in a column.

    Returns:
        Decimal for numbers of both kinds, timestamp for moments and days; text for any other
        mixture and for a column without values.

    Examples:
        >>> type_of({DataType.INTEGER, DataType.DECIMAL})
        <DataType.DECIMAL: 'decimal'>
        >>> type_of({DataType.INTEGER, DataType.DATE})
        <DataType.TEXT: 'text'>
    """
    if len(kinds) == 1:
        return next(iter(kinds))
    if kinds == {DataType.INTEGER, DataType.DECIMAL}:
        return DataType.DECIMAL
    if kinds == {DataType.DATE, DataType.TIMESTAMP}:
        return DataType.TIMESTAMP
    return DataType.TEXT


def _recognised(normal: pa.Array, strings: StringBytes, classes: Bytes, places: Places) -> Places:
    """The place in `_KINDS` of the kind of each of some values."""
    dated = (strings.at(4, places) == _HYPHEN) & (strings.at(7, places) == _HYPHEN)
    pointed = (classes[places] & _DOT > 0) & ~dated
    found = np.full(len(places), _OTHER)
    for some, kinds in (
        (dated, (_DAYS, _MOMENTS)),
        (pointed, (_NUMBERS,)),
        (~(dated | pointed), (_WHOLES, _NUMBERS, _TRUTHS)),
    ):
        rows = np.flatnonzero(some)
        for kind in kinds:
            left = normal.take(pa.array(places[rows]))
            matches = pc.match_substring_regex(left, _PATTERNS[_KINDS[kind]])
            mask = matches.to_numpy(zero_copy_only=False)
            found[rows[mask]], rows = kind, rows[~mask]
    return found


def _named(met: list[bool]) -> frozenset[DataType]:
    return frozenset(kind for kind, is_met in zip(_KINDS, met, strict=False) if is_met)
