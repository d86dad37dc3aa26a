"""Write SQL that computes the normal forms of a column's values.

A database that computes normal forms can count and compare values that never leave it. SQL knows
neither Unicode's full case folding nor its compatibility forms, so an expression is exact for most
values only. A condition tells for which it is not, and columns with such values are read instead.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import types
from sqlalchemy.types import TypeEngine

from datahub_hyperjoin.arrow_bytes import MOST_KEY_BYTES
from datahub_hyperjoin.normal_form import NEEDS_REWRITE, REWRITES, normal_form
from datahub_hyperjoin.tables import DataType

_LONGEST = 1 << 20
"""Maximum length of a text in bytes; readers may cut longer texts."""
# Not every database knows `\t` and `\x1c` in a regular expression, but all know the characters.
_SOME_SPACES = "[\t-\r\x1c-\x1f]|  "
_SPACES = "[\t-\r\x1c-\x1f ]+"
_FIRST_DAY, _LAST_DAY = "0001-01-02", "9999-12-30"
"""First and last day on which the year is one that Python supports, whatever the time zone."""
# Some databases write floats with exponents, or not with the fewest digits. If any number of at
# most 15 digits is read as the same float, it is the only one; of 32 bits, at most 6.
DIGITS_OF_DOUBLE = {6: (16, 9), 9: (16, 6), 12: (16, 3), 15: (16, 0)}
"""Maps powers of ten to precision and scale of decimals with 15 digits of the floats below."""
DIGITS_OF_REAL = {0: (7, 6), 2: (7, 4), 4: (7, 2), 6: (7, 0)}
"""Maps powers of ten to precision and scale of decimals with 6 digits of the floats below."""
EXACT_DIGITS = 15
"""Two decimals of at most this many digits are never the same double, so that one of them is the
shortest text. Engines differ in texts with more digits."""
# From 2^53 on, not every whole number is a double. Readers leave exponents of three digits.
FAR_NUMBER = f"abs(v) >= {1 << 53} OR v <> 0 AND abs(v) < 1e-15"
"""Condition that a float `v` has a text that SQL does not write as readers do."""


@dataclass(frozen=True, slots=True)
class SqlForm:
    """SQL expressions that compute the normal forms of a column's values."""

    value: str
    """Expression by which rows are grouped first: the value of the column `{}`."""

    folded: str
    """Expression that turns the grouped value `v` into text, without regard to case and spaces."""

    inexact: str = "false"
    """Condition on `v` under which the normal form that SQL computes may be wrong."""

    normal: str = "f"
    """Expression that turns the folded text `f` into the normal form. An empty text is a null."""

    text: str = "f"
    """Expression of `v` or `f`: the text of the value as readers return it."""

    types: tuple[tuple[DataType, str], ...] = ()
    """The possible types of a value, each with a condition on the normal form `f`. The first true
    condition determines the type. The tuple is empty for texts, which may be of any type.

    Texts may also be words such as `NA`, which mean null in some columns."""

    is_unique: bool = True
    """Whether different grouped values have different normal forms."""

    @property
    def is_text(self) -> bool:
        """Whether the values are texts."""
        return not self.types


FormsByType = Mapping[type[Any], SqlForm | Callable[[Any], SqlForm | None]]
"""The normal forms of columns by the class of their type, or functions that write them, given the
type."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlSyntax:
    """The parts of the SQL that counts values in which database systems differ.

    `{0}`, `{1}` and so on stand for expressions.
    """

    quote_text: Callable[[str], str]
    """Function that writes a text as a string literal."""

    exact: str
    """Template that makes comparisons of a text `{0}` exact: by bytes, and with all spaces."""

    matches: str
    """Condition that a part of the text `{0}` matches the regular expression `{1}`."""

    replaced: str
    """The text `{0}`, in which the regular expression `{1}` is replaced with `{2}` everywhere."""

    group_mark: str = "\\"
    """What precedes the number of a group in a replacement of the pattern's matches."""

    has_silent_groups: bool = True
    """Whether regular expressions may have groups that are not numbered, as in `(?:a|b)`."""

    contains: str = "position({1} IN {0}) > 0"
    """Condition that the text `{0}` contains the text `{1}`."""

    hashed: str = "left(md5({0}), 16)"
    """The first 64 bits of the MD5 of the text `{0}`, as 16 hexadecimal digits of one case."""

    length: str = "char_length({0})"
    """Length of the text `{0}` in characters."""

    byte_length: str = "octet_length({0})"
    """Length of the text `{0}` in bytes of UTF-8."""

    start: str = "left({0}, {1})"
    """The first `{1}` characters of the text `{0}`."""

    rest: str = "substr({0}, {1})"
    """The text `{0}` from its character `{1}` on."""

    day: str = "{0}"
    """The day whose text is the literal `{0}`, as it is compared with a point in time."""

    without_end: str = "trim(TRAILING {1} FROM {0})"
    """The text `{0}` without the character `{1}` at its end, however often it is there."""

    digits: str = "concat({0})"
    """The whole number `{0}` as a text."""

    character: str = "chr({0})"
    """The character with the code `{0}`."""

    bits: str = "bit_or({0})"
    """Aggregate with the bits that any of the whole numbers `{0}` has."""

    joined: str = "string_agg({0}, {1} ORDER BY {2}) FILTER (WHERE {3})"
    """Aggregate that joins the texts `{0}` with the separator `{1}`, sorted by `{2}`, of the rows
    for which the condition `{3}` holds. Only these are sorted."""

    joined_bytes: str
    """Aggregate that joins the bytes with the hexadecimal digits `{0}`, sorted by `{1}`, of the
    rows for which the condition `{2}` holds. The result is of bytes or their base64."""

    has_one_order: bool = False
    """Whether all texts that one statement joins must be sorted alike."""

    most_joined: int = 0
    """Maximum size of a joined text in bytes, beyond which a statement fails; 0 if it is larger
    than any text that is asked for."""

    materialized: str = "AS"
    """Keywords that define a common table expression, which is computed once if possible."""

    has_fields: bool = False
    """Whether a dot in the name of a column leads into a struct. Such columns are read."""

    scanned: str = "{0}"
    """The table `{0}`, of which the first rows do not depend on the columns that are asked for."""

    most_columns: int = 8
    """Maximum number of columns in one statement that counts values. The database keeps each
    column, in memory or on disk, until the statement ends."""

    fence: str = ""
    """Clause that keeps the planner from computing the expressions of a subquery as often as they
    are used, where it would."""

    settings: str = ""
    """What precedes each statement that counts, and sets what holds for this statement only."""

    preparations: tuple[str, ...] = ()
    """Statements before the first that counts. Afterwards, all statements of the transaction see
    the same rows, if the database can do this."""

    def matching(self, text: str, pattern: str) -> str:
        """Write the condition that a part of a text matches a regular expression."""
        plain = pattern if self.has_silent_groups else _with_plain_groups(pattern, "")[0]
        return self.matches.format(text, self.quote_text(plain))

    def replacing(self, text: str, pattern: str, replacement: str) -> str:
        r"""Write the text in which a regular expression is replaced everywhere; `\1` is a group."""
        if not self.has_silent_groups:
            pattern, replacement = _with_plain_groups(pattern, replacement)
        marked = replacement.replace("\\", self.group_mark)
        return self.replaced.format(text, *map(self.quote_text, (pattern, marked)))

    def text_form(self, value: str, text: str = "v", spelled: str = "v") -> SqlForm:
        """Write the normal forms of texts.

        Args:
            value: The text of the column `{}`, in UTF-8, by which rows are grouped.
            text: Expression of the grouped value `v`: the text as readers return it.
            spelled: Expression of `v`: the text of the column, if it was changed so that no others
                are grouped with it.
        """
        # To look for spaces takes half of the time of replacing them, and few values have any.
        spaced = (
            f"CASE WHEN {self.matching(spelled, _SOME_SPACES)} "
            f"THEN {self.replacing(spelled, _SPACES, ' ')} ELSE {spelled} END"
        )
        characters, length = self.length.format(spelled), self.byte_length.format(spelled)
        return SqlForm(
            value=self.exact.format(value),
            folded=f"trim(lower({spaced}))",
            # In UTF-8, only ASCII has one byte for each character.
            inexact=f"{length} <> {characters} OR {length} > {_LONGEST}",
            normal=self._rewrite("f"),
            text=text,
            is_unique=False,
        )

    def plain_form(self, type_: DataType, text: str, value: str = "{}") -> SqlForm:
        """Write the normal forms of values of one type whose texts are normal forms.

        Args:
            type_: The type that readers infer from the texts.
            text: Expression of the grouped value `v`: its text.
            value: Expression by which rows are grouped: the value of the column `{}`.
        """
        return SqlForm(value, self.exact.format(text), types=((type_, "true"),))

    def usual_forms(self, text: str) -> FormsByType:
        """Write the normal forms of types of which `text` is the text of the grouped value `v`."""
        return {
            types.Boolean: self.plain_form(DataType.BOOLEAN, text),
            types.Date: self.day_form(text),
            types.Integer: self.plain_form(DataType.INTEGER, text),
            types.Numeric: self.number_form(text),
            types.Uuid: self.plain_form(DataType.TEXT, text),
        }

    def number_form(
        self, text: str, *, value: str = "{}", inexact: str = "false", unique: bool = True
    ) -> SqlForm:
        """Write the normal forms of numbers, some of which have a fraction that ends in zeros.

        Args:
            text: Expression of the grouped value `v`: its text, without an exponent.
            value: Expression by which rows are grouped: the value of the column `{}`.
            inexact: As in `SqlForm`.
            unique: False if a zero with a sign may be a group of its own.
        """
        folded = self.exact.format(self.without_needless_zeros(text))
        return SqlForm(value, folded, inexact, types=self.number_types(), is_unique=unique)

    def number_types(self) -> tuple[tuple[DataType, str], ...]:
        """Write the conditions on a normal form that tell whole numbers from others."""
        return ((DataType.DECIMAL, self.contains.format("f", "'.'")), (DataType.INTEGER, "true"))

    def moment_types(self) -> tuple[tuple[DataType, str], ...]:
        """Write the conditions on a normal form that tell days from points in time."""
        return ((DataType.TIMESTAMP, self.contains.format("f", "' '")), (DataType.DATE, "true"))

    def decimal_form(
        self, digits: Mapping[int, tuple[int, int]], float_: str, text: str, number: str = "v"
    ) -> SqlForm:
        """Write the normal forms of floats that have few digits.

        Args:
            digits: `DIGITS_OF_DOUBLE` or `DIGITS_OF_REAL`.
            float_: Template that turns a decimal `{}` into a float.
            text: Template of the text of a decimal `{}`.
            number: Template of the number that is cast to a decimal, with a quarter of the unit of
                its last digit.
        """
        cases = (
            f"WHEN abs(v) < 1e{power} THEN "
            f"CAST({number.format(f'25e-{scale + 2}')} AS decimal({precision}, {scale}))"
            for power, (precision, scale) in digits.items()
        )
        decimal = f"CASE {' '.join(cases)} END"
        # With a NaN, no comparison is true.
        inexact = f"NOT abs(v) < 1e{max(digits)} OR {float_.format(decimal)} <> v"
        return self.number_form(text.format(decimal), inexact=inexact, unique=False)

    def day_form(self, day: str) -> SqlForm:
        """Write the normal forms of days.

        Args:
            day: Expression of the grouped value `v`: the day as `2024-01-31`.
        """
        types = ((DataType.DATE, "true"),)
        return SqlForm("{}", self.exact.format(day), self._outside_of_years("v"), types=types)

    def moment_form(self, moment: str, text: str) -> SqlForm:
        """Write the normal forms of points in time.

        Args:
            moment: Expression of the grouped value `v`: the point in time, without a time zone.
            text: Expression of `v`: the point in time as `2024-01-31 09:30:00.000000`.
        """
        day, time = self.start.format(text, 10), self.rest.format(text, 12)
        whole = self.without_end.format(self.without_end.format(text, "'0'"), "'.'")
        shortened = f"CASE WHEN {time} = '00:00:00.000000' THEN {day} ELSE {whole} END"
        return SqlForm(
            value="{}",
            folded=self.exact.format(shortened),
            inexact=self._outside_of_years(moment),
            text=text,
            types=self.moment_types(),
        )

    def without_needless_zeros(self, number: str) -> str:
        """Write the SQL expression that removes zeros at the end of a fraction, if there is one."""
        has_point = self.contains.format(number, "'.'")
        shortened = self.without_end.format(self.without_end.format(number, "'0'"), "'.'")
        return f"CASE WHEN {has_point} THEN {shortened} ELSE {number} END"

    def _outside_of_years(self, moment: str) -> str:
        """Write the condition that a point in time is outside of the years that Python knows."""
        first, last = (self.day.format(f"'{day}'") for day in (_FIRST_DAY, _LAST_DAY))
        return f"({moment} < {first} OR {moment} > {last})"

    def _rewrite(self, folded: str) -> str:
        """Write the SQL expression that converts a case-folded text to its normal form."""
        rewritten = folded
        for pattern, replacement in REWRITES:
            rewritten = self.replacing(rewritten, pattern, replacement)
        # Bytes are compared much faster than patterns, and these values begin with `-` or a digit.
        may_need = f"{folded} >= '-' AND {folded} < ':'"
        needs = f"CASE WHEN {may_need} THEN {self.matching(folded, NEEDS_REWRITE)} END"
        return f"CASE WHEN {needs} THEN {rewritten} ELSE {folded} END"


_GROUP = re.compile(r"\\.|\[[^]]*\]|\((?:\?:)?")
"""An escaped character, a set of characters, or the start of a group."""


def _with_plain_groups(pattern: str, replacement: str) -> tuple[str, str]:
    """Number all groups of a regular expression, and correct the numbers in its replacement."""
    starts = [found for found in _GROUP.findall(pattern) if found.startswith("(")]
    plain = [at for at, start in enumerate(starts, start=1) if start == "("]
    return (
        _GROUP.sub(lambda found: "(" if found[0] == "(?:" else found[0], pattern),
        re.sub(r"\\([1-9])", lambda found: f"\\{plain[int(found[1]) - 1]}", replacement),
    )


def quote_with_backslashes(text: str) -> str:
    r"""Write a text as a string literal in which backslashes escape."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def quote_in_one_line(text: str) -> str:
    r"""Write a text as a string literal in which backslashes escape, without control characters."""
    written = quote_with_backslashes(text)
    return re.sub("[\x01-\x1f]", lambda found: f"\\x{ord(found[0]):02x}", written)


def short_digits(length: str, digits: str) -> str:
    """Write the hexadecimal digits of the bytes `{0}`; null if these are too long for a key.

    So no image is ever sent.
    """
    return f"CASE WHEN {length} <= {MOST_KEY_BYTES} THEN {digits} END"


_REWRITTEN = ("12.00", "-0", "12.01", "2024-01-31T09:30Z", "2024-01-31 09:30:01.2500+00:00", "1e3")
_TEXTS = (*_REWRITTEN, " Oslo\t \x1cx ")
"""Texts whose normal forms need each of the rewrites, or other spaces and letters."""


class Probe(NamedTuple):
    """A known value, whose normal form a database is asked for."""

    type: TypeEngine[Any]
    """The type of a column with this value, as SQLAlchemy reflects it."""

    value: str
    """Expression of the value in the SQL of the database."""

    normal: str
    """The normal form, as this package computes it."""


def usual_probes(day: str, moment: str, double: str, decimal: str) -> list[Probe]:
    """List values of types that all systems have, by templates of days and points in time."""
    numbers = (("-0.5", 2), ("120", 2), ("120", 0))
    return [
        Probe(types.Boolean(), "true", "true"),
        Probe(types.Date(), day.format("2024-01-31"), "2024-01-31"),
        Probe(types.DateTime(), moment.format("2024-01-31 00:00:00"), "2024-01-31"),
        Probe(types.DateTime(), moment.format("2024-01-31 09:30:00.25"), "2024-01-31 09:30:00.25"),
        Probe(types.Float(), f"CAST(1234567.25 AS {double})", "1234567.25"),
        *(
            Probe(types.Numeric(), f"CAST({number} AS {decimal}(12, {scale}))", number)
            for number, scale in numbers
        ),
    ]


def probes_of_texts(type_: TypeEngine[Any], quote_text: Callable[[str], str]) -> list[Probe]:
    """List texts whose normal forms are difficult."""
    return [Probe(type_, quote_text(text), normal_form(text)) for text in _TEXTS]
