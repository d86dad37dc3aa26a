"""The SQL of value forms, and the words and characters that forms are about.

A template stands for the text of a value; `SqlParts` has what dialects have no common SQL for.
"""

from collections.abc import Callable
from dataclasses import dataclass

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
