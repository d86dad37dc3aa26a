"""Mend rows of delimited text that have fewer or more fields than the header.

A value stays in its column: it is left out where the other rows do not show where it belongs. What
the first column shows to be no row, such as a footer, is skipped.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum

from datahub_hyperjoin.spark.files.header import is_number

_FEWEST_ROWS = 2
_DIGIT, _LETTERS = re.compile(r"\d+"), re.compile(r"[^\W\d_]+")


class _Kind(Enum):
    """What the values of a column have in common."""

    NUMBERS = "numbers"
    WITH_DIGITS = "with digits"
    """Such as dates and codes."""
    NO_NUMBERS = "no numbers"
    ANY = "any"


_STRICT = {_Kind.NUMBERS, _Kind.WITH_DIGITS}


@dataclass(slots=True)
class RaggedRows:
    """What the regular rows of a table show about the others."""

    delimiter: str
    kinds: Sequence[_Kind]
    known: Sequence[set[str]]
    """The values of each column."""

    shapes: Sequence[set[str]]
    """The shapes of the values of each column."""

    filled: int = field(default=0, init=False)
    merged: int = field(default=0, init=False)
    skipped: int = field(default=0, init=False)

    @classmethod
    def beside(cls, width: int, rows: Sequence[Sequence[str]], delimiter: str) -> "RaggedRows":
        """Learn from the first rows of a table with `width` columns."""
        regular = [row for row in rows if len(row) == width] or _as_wide(width, rows, delimiter)
        columns = [*zip(*regular, strict=True)] or [()] * width
        return cls(
            delimiter,
            [_kind(values) for values in columns],
            [{*values} for values in columns],
            [{*map(written_shape, values)} for values in columns],
        )

    def mend(self, fields: Sequence[str]) -> list[str] | None:
        """Return a row with a field for each column; None if the fields are no row."""
        width = len(self.kinds)
        row = _without_blank_end(fields, width)
        is_long = len(row) > width
        mended = self._merge(row) if is_long else self._fill(row)
        if mended is None:
            self.skipped += 1
        elif is_long:
            self.merged += 1
        elif len(fields) < width:
            self.filled += 1
        return mended

    def notes(self) -> list[str]:
        """Return notes for users about the rows that were mended or skipped."""
        told = {
            "rows with fewer fields than the header, which are empty at the end": self.filled,
            "rows with more fields than the header, joined where the other rows show it": (
                self.merged
            ),
            "skipped lines that are no rows, with more or fewer fields than the header": (
                self.skipped
            ),
        }
        return [f"{what}: {count}" for what, count in told.items() if count]

    def _fill(self, row: Sequence[str]) -> list[str] | None:
        width = len(self.kinds)
        # A line with one field is mostly a footer or a comment.
        if len([*filter(str.strip, row)]) < 2 and written_shape(row[0]) not in self.shapes[0]:  # noqa: PLR2004
            return None
        fitting = next((at for at, each in enumerate(row) if not self._suits(at, each)), len(row))
        return [*row[:fitting], *[""] * (width - fitting)] if fitting else None

    def _merge(self, row: Sequence[str]) -> list[str] | None:
        """Join the fields of a value that an unquoted delimiter has divided."""
        width = len(self.kinds)
        readings = [_merged(row, at, width, self.delimiter) for at in range(width)]
        fitting = {
            at: reading
            for at, reading in enumerate(readings)
            if all(self._suits(column, each) for column, each in enumerate(reading))
        }
        if not fitting:
            # Free text may be divided, but what stands before it is in its place.
            free = next((at for at, kind in enumerate(self.kinds) if kind not in _STRICT), width)
            return self._fill(row[:free]) if free else None
        likeness = {at: self._likeness(at, reading) for at, reading in fitting.items()}
        best = [fitting[at] for at in fitting if likeness[at] == max(likeness.values())]
        # A field is certain if all readings that are as good agree.
        mended = [each[0] if len({*each}) == 1 else "" for each in zip(*best, strict=True)]
        return mended if any(mended) else None

    def _suits(self, column: int, text: str) -> bool:
        if not text.strip():
            return True
        match self.kinds[column]:
            case _Kind.NUMBERS:
                return is_number(text)
            case _Kind.WITH_DIGITS:
                return _DIGIT.search(text) is not None
            case _Kind.NO_NUMBERS:
                return not is_number(text)
            case _Kind.ANY:
                return True

    def _likeness(self, at: int, row: Sequence[str]) -> tuple[bool, int, int]:
        """Return how alike a reading is to the regular rows, if the fields from `at` on are one."""
        others = [(column, each) for column, each in enumerate(row) if column != at]
        # A space follows a comma within a text, but not between fields.
        begin = [
            each.startswith(" ") and not self._is_spaced(column) for column, each in enumerate(row)
        ]
        is_odd = any(begin) or (
            self._is_coded(at) and written_shape(row[at]) not in self.shapes[at]
        )
        return (
            not is_odd,
            sum(written_shape(each) in self.shapes[column] for column, each in others),
            sum(each in self.known[column] for column, each in others),
        )

    def _is_coded(self, column: int) -> bool:
        """Return whether the values of a column are codes, which nobody divides."""
        is_one = len(self.shapes[column]) == 1 and not any(
            " " in each for each in self.shapes[column]
        )
        return is_one and self.kinds[column] in _STRICT

    def _is_spaced(self, column: int) -> bool:
        return any(shape.startswith(" ") for shape in self.shapes[column])


def _kind(values: Sequence[str]) -> _Kind:
    written = [value for value in values if value.strip()]
    if not written:
        return _Kind.ANY
    if all(map(is_number, written)):
        return _Kind.NUMBERS
    if all(map(_DIGIT.search, written)):
        return _Kind.WITH_DIGITS
    return _Kind.ANY if any(map(is_number, written)) else _Kind.NO_NUMBERS


def written_shape(text: str) -> str:
    """Return a text with one sign for each run of digits or letters.

    >>> written_shape("Main St 12"), written_shape("2024-01-31")
    ('a a 9', '9-9-9')
    """
    return _LETTERS.sub("a", _DIGIT.sub("9", text))


def _without_blank_end(row: Sequence[str], width: int) -> Sequence[str]:
    end = len(row)
    while end > width and not row[end - 1].strip():
        end -= 1
    return row[:end]


def _merged(row: Sequence[str], at: int, width: int, delimiter: str) -> list[str]:
    end = at + len(row) - width + 1
    return [*row[:at], delimiter.join(row[at:end]), *row[end:]]


def _as_wide(width: int, rows: Sequence[Sequence[str]], delimiter: str) -> list[list[str]]:
    """Return rows as wide as the header where none is: filled up, or joined in one column."""
    usual = max(Counter(map(len, rows)).items(), key=lambda each: each[1])[0] if rows else 0
    alike = [row for row in rows if len(row) == usual]
    if len(alike) < _FEWEST_ROWS:
        return []
    if usual <= width:
        # A single field in each line is no table.
        return [[*row, *[""] * (width - usual)] for row in alike] if usual > 1 else []
    return max(
        ([_merged(row, at, width, delimiter) for row in alike] for at in reversed(range(width))),
        key=_regularity,
    )


def _regularity(rows: Sequence[Sequence[str]]) -> int:
    kinds = map(_kind, zip(*rows, strict=True))
    return sum(2 * (kind is _Kind.NUMBERS) + (kind is _Kind.WITH_DIGITS) for kind in kinds)
