"""The longer parts of value forms: how one value is written, SQL, words and characters.

A template stands for the text of a value; `SqlParts` has what dialects have no common SQL for.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timezone
from decimal import Decimal

SEPARATORS = " -_./:,;()[]{}<>=+#*|~'\""
"""Characters that stand between the parts of codes, or around them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlParts:
    """Expressions of a SQL dialect that convert texts; null where they cannot read a value.

    `{t}` stands for the text in lower case without spaces around it.
    """

    number: Callable[[str], str]
    """Function that writes the number of which an expression is the text, such as `-12.5`."""

    without_zeros: str
    """The digits `{t}` without leading zeros; other texts as they are."""

    day_first: str
    """The day whose text `{t}` is as `31.01.2024`."""

    month_first: str
    """The day whose text `{t}` is as `01/31/2024`."""

    year_first: str
    """The day whose text `{t}` is as `20240131` or `2024/1/31`."""

    day_in_words: str
    """The day whose text `{t}` is as `31 jan 2024` or `january 31, 2024`."""

    iso_day: str
    """The day whose text `{t}` is as `2024-01-31`."""

    instant: str
    """The point in time whose text `{t}` is as `2024-01-31t09:30:00`."""

    zoned_instant: str
    """The point in time in UTC whose text `{t}` is as `2024-01-31t09:30:00+01:00`."""

    translates: bool
    """Whether there is a function that replaces each of several characters."""

    separators: str = SEPARATORS
    """The characters that codes are compared without: those of the columns, if they are known."""

    apostrophe: str = "''''"

    def without(self, characters: str) -> str:
        """Write the text `{t}` without some characters."""
        text = "{t}"
        plain = "".join(each for each in characters if each != "'")
        if self.translates and len(plain) > 1:
            # Not every dialect accepts an empty replacement.
            first = plain[0]
            doubled = plain[1:].replace("{", "{{").replace("}", "}}")
            text, plain = f"TRANSLATE({text}, '{first}{doubled}', '{first}')", first
        for each in plain:
            text = f"REPLACE({text}, '{each * 2 if each in '{}' else each}', '')"
        if "'" in characters:
            text = f"REPLACE({text}, {self.apostrophe}, '')"
        return f"NULLIF({text}, '')"


_UUID_MARKS = "-{}()"


def uuid_sql(sql: SqlParts) -> str:
    """Write the SQL of uuids."""
    return sql.without(_UUID_MARKS).replace("{t}", "REPLACE({t}, 'urn:uuid:', '')")


TRUE_WORDS = (
    *("1", "t", "true", "y", "yes"),
    *("j", "ja", "o", "oui", "s", "si", "sim", "sì", "sí", "vero", "vrai", "wahr"),
)
"""Normal forms that mean true."""
FALSE_WORDS = (
    *("0", "f", "false", "n", "no"),
    *("falsch", "falso", "faux", "nee", "nein", "non", "não"),
)
"""Normal forms that mean false."""


# Marks show what stands at the start and at the end.
LINK_SQL = "CONCAT('|', REPLACE(REPLACE({t}, '<', ''), '>', ''), '|')"
for _start in ("https://", "http://", "ftp://", "mailto:", "www.", "dx.", "doi.org/", "orcid.org/"):
    LINK_SQL = f"REPLACE({LINK_SQL}, '|{_start}', '|')"
for _end in ("/|", "|"):
    LINK_SQL = f"REPLACE({LINK_SQL}, '{_end}', '')"
TIME_SQL = (
    "CASE WHEN {t} LIKE '__:__' THEN CONCAT({t}, ':00') "
    "WHEN {t} LIKE '_:__' THEN CONCAT('0', {t}, ':00') "
    "WHEN {t} LIKE '_:__:__' THEN CONCAT('0', {t}) ELSE NULLIF({t}, '') END"
)


NETWORK_SQL = "CONCAT('.', REPLACE(REPLACE({t}, '::ffff:', ''), '/32', ''))"
for _zeros in (".00", ".0"):  # a part that is zero becomes empty on both sides
    NETWORK_SQL = f"REPLACE({NETWORK_SQL}, '{_zeros}', '.')"
TAX_SQL = "CASE WHEN {t} BETWEEN 'a' AND 'zz' THEN SUBSTR({t}, 3) ELSE NULLIF({t}, '') END"
BANK_SQL = "CASE WHEN {t} LIKE '________xxx' THEN SUBSTR({t}, 1, 8) ELSE NULLIF({t}, '') END"
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
NUMBER_OF_MONTH = {word: f"{number:02}" for number, word in enumerate(_MONTHS, 1)}
_MONTH_CASES = " ".join(f"WHEN '{word}' THEN '{at}'" for word, at in NUMBER_OF_MONTH.items())
MONTH_SQL = (
    "CASE WHEN {t} LIKE '______' THEN CONCAT(SUBSTR({t}, 1, 4), '-', SUBSTR({t}, 5, 2)) "
    "WHEN SUBSTR({t}, 1, 1) BETWEEN '0' AND '9' AND {t} LIKE '____-__' THEN {t} "
    "WHEN SUBSTR({t}, 1, 1) BETWEEN '0' AND '9' AND {t} LIKE '_____%' "
    "AND SUBSTR({t}, 5, 1) NOT BETWEEN '0' AND '9' "
    "THEN CONCAT(SUBSTR({t}, 1, 4), '-', SUBSTR({t}, 6, 2)) "
    "WHEN SUBSTR({t}, 1, 1) BETWEEN '0' AND '9' THEN CONCAT(SUBSTR({t}, LENGTH({t}) - 3, 4), "
    "'-', SUBSTR(CONCAT('0', {t}), LENGTH({t}) - 5, 2)) "
    "ELSE CONCAT(SUBSTR({t}, LENGTH({t}) - 3, 4), '-', "
    f"CASE SUBSTR({{t}}, 1, 3) {_MONTH_CASES} END) END"
)


def truth_sql(_: SqlParts) -> str:
    """Write the SQL of truth words."""
    true, false = (
        ", ".join(f"'{word}'" for word in words if word.isascii())
        for words in (TRUE_WORDS, FALSE_WORDS)
    )
    return f"CASE WHEN {{t}} IN ({true}) THEN 'true' WHEN {{t}} IN ({false}) THEN 'false' END"


_FIRST_OF_LAST_CENTURY = "69"
"""The first of the years of two digits that are of the last century, as POSIX has it."""


def write_number(match: re.Match[str], point: str, groups: str) -> str:
    """Write a number without separators, exponent and needless zeros."""
    sign, digits, exponent = match.groups()
    for group in groups:
        digits = digits.replace(group, "")
    # A float would round long numbers, and so make different identifiers equal.
    number = Decimal(f"{sign}{digits.replace(point, '.')}e{exponent or 0}")
    text = f"{number:f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    # Otherwise `-0` would differ from `0`.
    return "0" if number.is_zero() else text


def write_date(year: str, month: str, day: str) -> str:
    """Write a day."""
    return f"{year}-{month:0>2}-{day:0>2}"


def write_year_first(match: re.Match[str]) -> str:
    """Write a day of which the year, then month and day in one of several places were read."""
    year, *rest = match.groups()
    month, day = filter(None, rest)
    return write_date(year, month, day)


def write_day_in_words(match: re.Match[str]) -> str:
    """Write a day whose month was read as a word."""
    first, before, end, after, second, year = match.groups()
    year = year or end
    century = "" if len(year) > len("24") else "20" if year < _FIRST_OF_LAST_CENTURY else "19"
    return write_date(f"{century}{year}", NUMBER_OF_MONTH[before or after], first or second)


def write_month(match: re.Match[str]) -> str:
    """Write a month of which the year and a number or a word were read."""
    first, second, third, fourth, word, fifth = match.groups()
    month = second or third or NUMBER_OF_MONTH[word]
    return f"{first or fourth or fifth}-{month:0>2}"


def write_instant(match: re.Match[str]) -> str:
    """Write a point in time in UTC."""
    day, minute, second, fraction, hours, minutes = match.groups()
    # Python 3.10 reads fractions of six digits only.
    text = f"{day} {minute}{second or ':00'}.{fraction or '':0<6}{hours}:{minutes or '00'}"
    try:
        instant = datetime.fromisoformat(text).astimezone(timezone.utc)
    except ValueError:  # a day that does not exist
        return match.string
    written = instant.replace(tzinfo=None).isoformat(" ", "microseconds")
    return written.rstrip("0").rstrip(".").removesuffix(" 00:00:00")
