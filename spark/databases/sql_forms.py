"""Write SQL that computes the normal forms of a column's values.

A database that computes normal forms can count and compare values that never leave it. SQL knows
neither Unicode's full case folding nor its compatibility forms, so an expression is exact for most
values only. A condition tells for which it is not, and columns with such values are read instead.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy.types import TypeEngine

from datahub_hyperjoin.normal_form import NEEDS_REWRITE, REWRITES
from datahub_hyperjoin.spark.databases.sql_syntax import STANDARD_END, SqlSyntax
from datahub_hyperjoin.tables import DataType

_LONGEST = 1 << 20
"""Maximum length of a text in bytes; readers may cut longer texts."""
# Not every database knows `\t` and `\x1c` in a regular expression, but all know the characters.
_SOME_SPACES = "[\t-\r\x1c-\x1f]|  "
_SPACES = "[\t-\r\x1c-\x1f ]+"
_FIRST_DAY, _LAST_DAY = "0001-01-02", "9999-12-30"
"""First and last day on which the year is one that Python supports, whatever the time zone."""
NUMBER_TYPES = ((DataType.INTEGER, "position('.' IN f) = 0"), (DataType.DECIMAL, "true"))
"""Conditions on the normal form of a number that tell whole numbers from others."""
MOMENT_TYPES = ((DataType.DATE, "position(' ' IN f) = 0"), (DataType.TIMESTAMP, "true"))
"""Conditions on the normal form of a point in time that tell days from others."""
# Some databases write floats with exponents, or not with the fewest digits. If any number of at
# most 15 digits is read as the same float, it is the only one; of 32 bits, at most 6.
DIGITS_OF_DOUBLE = {6: (16, 9), 9: (16, 6), 12: (16, 3), 15: (16, 0)}
"""Maps powers of ten to precision and scale of decimals with 15 digits of the floats below."""
DIGITS_OF_REAL = {0: (7, 6), 2: (7, 4), 4: (7, 2), 6: (7, 0)}
"""Maps powers of ten to precision and scale of decimals with 6 digits of the floats below."""


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


def text_form(syntax: SqlSyntax, value: str, text: str = "v", spelled: str = "v") -> SqlForm:
    """Write the normal forms of a column of texts.

    Args:
        value: Expression by which rows are grouped: the text of the column `{}`, in UTF-8.
        text: Expression of the grouped value `v`: the text as readers return it.
        spelled: Expression of the grouped value `v`: the text of the column, if it was changed so
            that no others are grouped with it.
    """
    # To look for spaces takes half of the time of replacing them, and few values have any.
    spaced = (
        f"CASE WHEN {syntax.matching(spelled, _SOME_SPACES)} "
        f"THEN {syntax.replacing(spelled, _SPACES, ' ')} ELSE {spelled} END"
    )
    characters, length = syntax.length.format(spelled), syntax.byte_length.format(spelled)
    return SqlForm(
        value=syntax.exact.format(value),
        folded=f"trim(lower({spaced}))",
        # In UTF-8, only ASCII has one byte for each character.
        inexact=f"{length} <> {characters} OR {length} > {_LONGEST}",
        normal=_rewrite("f", syntax),
        text=text,
        is_unique=False,
    )


def plain_form(
    type_: TypeEngine[object], types: Mapping[type[TypeEngine[Any]], DataType], text: str
) -> SqlForm | None:
    """Write the normal forms of a column whose values have texts that are normal forms.

    Args:
        text: Expression of the grouped value `v`: its text.

    Returns:
        The expressions; None if the column has none of these types.
    """
    plain = [each for known, each in types.items() if isinstance(type_, known)]
    return SqlForm("{}", text, types=tuple((each, "true") for each in plain)) if plain else None


def decimal_form(
    digits: Mapping[int, tuple[int, int]], float_: str, text: str, number: str = "v"
) -> SqlForm:
    """Write the normal forms of a column of floats, for those that have few digits.

    Args:
        number: Template of the number `v` that is cast to a decimal, given a quarter of the unit of
            its last digit.

    Returns:
        The expressions; a zero with a sign may be a group of its own.
    """
    cases = (
        f"WHEN abs(v) < 1e{power} THEN "
        f"CAST({number.format(f'25e-{scale + 2}')} AS decimal({precision}, {scale}))"
        for power, (precision, scale) in digits.items()
    )
    decimal = f"CASE {' '.join(cases)} END"
    # With a NaN, no comparison is true.
    inexact = f"NOT abs(v) < 1e{max(digits)} OR {float_.format(decimal)} <> v"
    folded = without_needless_zeros(text.format(decimal))
    return SqlForm("{}", folded, inexact, types=NUMBER_TYPES, is_unique=False)


def day_form(syntax: SqlSyntax, day: str) -> SqlForm:
    """Write the normal forms of a column of days.

    Args:
        day: Expression of the grouped value `v`: the day as `2024-01-31`.
    """
    types = ((DataType.DATE, "true"),)
    inexact = outside_of_years(syntax, "v")
    return SqlForm("{}", syntax.exact.format(day), inexact, types=types)


def moment_form(syntax: SqlSyntax, moment: str, text: str) -> SqlForm:
    """Write the normal forms of a column of points in time.

    Args:
        moment: Expression of the grouped value `v`: the point in time, without a time zone.
        text: Expression of `v`: the point in time as `2024-01-31 09:30:00.000000`.
    """
    day, time = syntax.start.format(text, 10), syntax.rest.format(text, 12)
    shortened = (
        f"CASE WHEN {time} = '00:00:00.000000' THEN {day} "
        f"ELSE {without_last_zeros(text, syntax.without_end)} END"
    )
    return SqlForm(
        value="{}",
        folded=syntax.exact.format(shortened),
        inexact=outside_of_years(syntax, moment),
        text=text,
        types=MOMENT_TYPES,
    )


def outside_of_years(syntax: SqlSyntax, moment: str) -> str:
    """Write the condition that a point in time is outside of the years that Python knows."""
    first, last = (syntax.day.format(f"'{day}'") for day in (_FIRST_DAY, _LAST_DAY))
    return f"({moment} < {first} OR {moment} > {last})"


def without_last_zeros(text: str, without_end: str = STANDARD_END) -> str:
    """Write the SQL expression that removes zeros after a decimal point, and a point at the end.

    Args:
        without_end: Template that removes a character at the end of a text, as in `SqlSyntax`.
    """
    return without_end.format(without_end.format(text, "'0'"), "'.'")


def without_needless_zeros(number: str, without_end: str = STANDARD_END) -> str:
    """Write the SQL expression that removes zeros at the end of a fraction, if there is one.

    Args:
        without_end: Template that removes a character at the end of a text, as in `SqlSyntax`.
    """
    return (
        f"CASE WHEN position('.' IN {number}) > 0 THEN {without_last_zeros(number, without_end)} "
        f"ELSE {number} END"
    )


def _rewrite(folded: str, syntax: SqlSyntax) -> str:
    """Write the SQL expression that converts a case-folded text to its normal form."""
    rewritten = folded
    for pattern, replacement in REWRITES:
        rewritten = syntax.replacing(rewritten, pattern, replacement)
    # Bytes are compared much faster than patterns, and these values begin with `-` or a digit.
    may_need = f"{folded} >= '-' AND {folded} < ':'"
    needs = f"CASE WHEN {may_need} THEN {syntax.matching(folded, NEEDS_REWRITE)} END"
    return f"CASE WHEN {needs} THEN {rewritten} ELSE {folded} END"
