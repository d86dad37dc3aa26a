"""Joins by parts of cells, and by ids of a type.

In a normal form and in every value form, a cell is one value. Here it holds several values, or a
value with something around it: `a;b;c` lists three tags, `CUST-00042` is customer 42, and `US-CA`
holds a country and a state. Or a cell is an id of a table that the type beside it names. A join
says in words what is done, and everything else reads the words.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import takewhile


class PartKind(Enum):
    """What is compared instead of whole cells; the value of a member is a pattern of its words."""

    ELEMENTS = "each element of {column}, split at {mark}"
    """Each element of a list, which may be in brackets and its elements in quotes."""

    NUMBER = "the numbers of {column} behind {mark}"
    """The number behind a prefix that cells have, or without it, without leading zeros."""

    NUMBERS = "{column} and the other column by their numbers behind {mark}"
    """The numbers behind another prefix in each column."""

    TEXT = "the texts of {column} behind {mark}"
    """What stands behind a prefix that all cells have."""

    JOINED = "{column} and other columns joined by {mark}"
    """The columns of the other table, which one cell holds with a mark between them."""

    OF_TYPE = "{column} in rows of type {mark}"
    """The ids in the rows in which another column has a type, which names the other table."""


_WORDS = {
    kind: re.compile(
        f"^{re.escape(kind.value)}$".replace(r"\{column\}", "(.*)").replace(r"\{mark\}", "(.+)"),
        re.DOTALL,
    )
    for kind in PartKind
}
_BLANK, AND = "spaces", " and "
BRACKETS, QUOTES = "[](){}", "\"'"
"""Characters around lists, and around their elements."""


@dataclass(frozen=True, slots=True, order=True)
class CellParts:
    """How the cells of a column are taken apart before they are compared."""

    kind: PartKind
    column: str
    """The column in words: its table and path."""

    mark: str
    """What separates the parts or stands before the number, or the type as it is written."""

    @property
    def words(self) -> str:
        """What is compared, as `Evidence.compared_as` tells it.

        >>> CellParts(PartKind.ELEMENTS, "posts.tags", ";").words
        'each element of posts.tags, split at ;'
        """
        mark = _BLANK if self.mark == " " else self.mark
        return self.kind.value.format(column=self.column, mark=mark)

    def sides(self, other: str) -> "tuple[CellParts, CellParts]":
        """Return the numbers of the column, and those of the `other` one, behind their prefixes.

        >>> both = CellParts(PartKind.NUMBERS, "orders.customer", "c and cust-")
        >>> [side.mark for side in both.sides("customers.code")]
        ['c', 'cust-']
        """
        own, _, its = self.mark.partition(AND)
        number = PartKind.NUMBER
        return CellParts(number, self.column, own), CellParts(number, other, its)

    @classmethod
    def read(cls, words: str) -> "CellParts | None":
        """Read what `words` wrote; None for any other comparison.

        >>> parts = CellParts(PartKind.NUMBER, "orders.customer", "cust-")
        >>> CellParts.read(parts.words) == parts, CellParts.read("numbers")
        (True, None)
        """
        for kind, pattern in _WORDS.items():
            if match := pattern.match(words):
                column, mark = match.groups()
                return cls(kind, column, " " if mark == _BLANK else mark)
        return None


def elements_of(normal: str, mark: str) -> list[str]:
    """Split a list in normal form into its elements, each once and none empty.

    >>> elements_of("a; b;;a", ";"), elements_of('["x", "y z"]', ",")
    (['a', 'b'], ['x', 'y z'])
    """
    inner = normal.strip(BRACKETS) if normal[:1] in BRACKETS else normal
    parts = (part.strip(QUOTES + " ") for part in inner.split(mark))
    return [*dict.fromkeys(filter(None, parts))]


_PREFIXED = re.compile(r"(.*?[^0-9])0*([0-9]+)$", re.DOTALL)
_LEAST = 0.95
"""Least share of a column's values that must have the same prefix, or be plain numbers."""
_LEAST_PREFIXED = 0.1


def common_prefix(values: Sequence[str]) -> str:
    """Return what nearly all normal forms have before their number; empty if they differ.

    >>> common_prefix(["cust-00042", "cust-7"]), common_prefix(["a1", "b2"]), common_prefix(["7"])
    ('cust-', '', '')
    >>> common_prefix(["cust-00042", "7"])
    'cust-'
    """
    matches = [_PREFIXED.match(value) for value in values]
    prefixes = [match[1] for match in matches if match]
    first = max(prefixes, key=prefixes.count, default="")
    same, plain = prefixes.count(first), sum(map(str.isdecimal, values))
    fits = same + plain >= _LEAST * len(values) and same >= _LEAST_PREFIXED * len(values)
    return first if fits else ""


_MARK_AT_END = re.compile(r"[^\w\s](?!.*[^\w\s])", re.DOTALL)


def common_start(values: Sequence[str]) -> str:
    """Return what all normal forms have in common up to a mark; empty if they have nothing.

    >>> common_start(["customer:a7", "customer:a9"]), common_start(["new york", "new delhi"])
    ('customer:', '')
    """
    # What the first and the last in order have in common, all have.
    ends = zip(min(values, default=""), max(values, default=""), strict=False)
    start = "".join(one for one, other in takewhile(lambda pair: pair[0] == pair[1], ends))
    match = _MARK_AT_END.search(start)
    return start[: match.end()] if match else ""


def number_behind(normal: str, prefix: str) -> str:
    """Return a number, which may be behind a prefix, without leading zeros; empty for any other.

    >>> number_behind("cust-00042", "cust-"), number_behind("7", "cust-")
    ('42', '7')
    """
    rest = normal.removeprefix(prefix)
    return (rest.lstrip("0") or "0") if rest.isascii() and rest.isdigit() else ""
