"""What kind of value a column holds, told from the values themselves.

Types that a file declares are not asked: a whole number is one whether it was written as text,
as `12` or as `12.0`. Every value has a kind, a column has a set of them, and the set names the
type. So the kinds of two halves of a column are the union of theirs.
"""

from collections.abc import Set as AbstractSet

import pyarrow as pa
import pyarrow.compute as pc

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
_KINDS = (
    (DataType.INTEGER, _WHOLE),
    (DataType.DECIMAL, _NUMBER),
    (DataType.DATE, _DAY),
    (DataType.TIMESTAMP, _MOMENT),
    (DataType.BOOLEAN, r"^(?:true|false)$"),
)
_TEXT = frozenset({DataType.TEXT})
_GLANCE = 16


def kinds_of(normal: pa.Array) -> frozenset[DataType]:
    """The kinds among values; text swallows every other.

    Args:
        normal: Normal forms, without nulls.

    Returns:
        The kinds met, or text alone as soon as one value is of no other kind.

    Examples:
        >>> import pyarrow as pa
        >>> sorted(kinds_of(pa.array(["1", "2.5"])))
        [<DataType.DECIMAL: 'decimal'>, <DataType.INTEGER: 'integer'>]
        >>> kinds_of(pa.array(["1", "007"]))
        frozenset({<DataType.TEXT: 'text'>})
    """
    if len(normal) > _GLANCE and kinds_of(normal[:_GLANCE]) == _TEXT:
        return _TEXT
    found = set()
    rest = normal
    for kind, pattern in _KINDS:
        matches = pc.match_substring_regex(rest, pattern)
        if pc.any(matches).as_py():
            found.add(kind)
            rest = rest.filter(pc.invert(matches))
    return _TEXT if len(rest) else frozenset(found)


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
