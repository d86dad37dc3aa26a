"""The longer parts of value forms: how one value is written, SQL, words and characters.

A template stands for the text of a value; `SqlParts` has what dialects have no common SQL for.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from html import unescape
from ipaddress import ip_address
from unicodedata import normalize

SEPARATORS = " -_./:,;()[]{}<>=+#*|~'\""
"""Characters that stand between the parts of codes, or around them."""

PADDED_CODE = "^([a-z]+)0+([1-9])"
"""Pattern of the start of codes with zeros between their first letters and a number."""
CODE_REWRITES = ((f"[{re.escape(SEPARATORS)}]+", ""), (PADDED_CODE, r"\1\2"))
NUMBER_REWRITES = (
    (",", "."),
    (r"^\+", ""),
    (r"^(-?)\.", r"\10."),
    (r"(\.[0-9]*[1-9])0+$", r"\1"),
    (r"\.0*$", ""),
    ("^-0$", "0"),
)


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

    serial_day: str
    """The day of which `{t}` is the number in spreadsheets, which is 1 on the last of 1899."""

    unpadded: str
    """The code `{t}` without zeros between its first letters and a number."""

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


def phone_sql(sql: SqlParts) -> str:
    """Write the SQL of telephone numbers with the code of their country."""
    digits = sql.without(sql.separators)
    after_zeros = digits.replace("{t}", "SUBSTR({t}, 3)")
    return f"CASE WHEN {{t}} LIKE '00%' THEN {after_zeros} ELSE {digits} END"


def code_sql(sql: SqlParts) -> str:
    """Write the SQL of codes without separators, and without zeros before their number."""
    return sql.unpadded.replace("{t}", sql.without(sql.separators))


_UUID_MARKS = "-{}()"


def uuid_sql(sql: SqlParts) -> str:
    """Write the SQL of uuids."""
    return sql.without(_UUID_MARKS).replace(
        "{t}", "REPLACE(REPLACE({t}, 'urn:uuid:', ''), '0x', '')"
    )


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
    "CASE WHEN {t} LIKE '__:__:__.%' THEN SUBSTR({t}, 1, 8) "
    "WHEN {t} LIKE '__:__' THEN CONCAT({t}, ':00') "
    "WHEN {t} LIKE '_:__' THEN CONCAT('0', {t}, ':00') "
    "WHEN {t} LIKE '_:__:__' THEN CONCAT('0', {t}) ELSE NULLIF({t}, '') END"
)

_SHORT = "REPLACE(REPLACE(REPLACE({t}, ' ', ''), '.', ''), 'm', '')"
_SHORT = (
    f"CASE WHEN SUBSTR({_SHORT}, 2, 1) BETWEEN '0' AND '9' THEN {_SHORT} "
    f"ELSE CONCAT('0', {_SHORT}) END"
)
_AFTERNOON = " ".join(f"WHEN '{hour:02}p' THEN '{hour + 12}'" for hour in range(1, 12))
CLOCK_SQL = (
    f"CASE WHEN {{t}} LIKE '%m%' THEN CONCAT(CASE CONCAT(SUBSTR({_SHORT}, 1, 2), "
    f"CASE WHEN {{t}} LIKE '%p%' THEN 'p' ELSE 'a' END) WHEN '12a' THEN '00' {_AFTERNOON} "
    f"ELSE SUBSTR({_SHORT}, 1, 2) END, ':', "
    f"CASE WHEN {_SHORT} LIKE '__:__%' THEN SUBSTR({_SHORT}, 4, 2) ELSE '00' END, ':', "
    f"CASE WHEN {_SHORT} LIKE '__:__:__%' THEN SUBSTR({_SHORT}, 7, 2) ELSE '00' END) END"
)


HEXADECIMAL_SQL = "CASE WHEN SUBSTR({t}, 2, 1) = 'x' THEN SUBSTR({t}, 3) ELSE NULLIF({t}, '') END"
NETWORK_SQL = "CONCAT('.', REPLACE(REPLACE({t}, '::ffff:', ''), '/32', ''))"
for _zeros in (".00", ".0"):  # a part that is zero becomes empty on both sides
    NETWORK_SQL = f"REPLACE({NETWORK_SQL}, '{_zeros}', '.')"
TAX_SQL = "CASE WHEN {t} BETWEEN 'a' AND 'zz' THEN SUBSTR({t}, 3) ELSE NULLIF({t}, '') END"
BANK_SQL = "CASE WHEN {t} LIKE '________xxx' THEN SUBSTR({t}, 1, 8) ELSE NULLIF({t}, '') END"
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
NUMBER_OF_MONTH = {word: f"{number:02}" for number, word in enumerate(_MONTHS, 1)}
_MONTH_CASES = " ".join(f"WHEN '{word}' THEN '{at}'" for word, at in NUMBER_OF_MONTH.items())
_OTHER_MONTHS = (
    *("ene|gen", "fév|fev", "mär|mrz|mrt|maa", "avr|abr", "mai|mag|mei", "juin|giu"),
    *("juil|lug", "aoû|aou|ago", "set", "okt|ott|out", "", "déc|dez|dic"),
)
_NUMBER_OF_OTHER_MONTH = {
    word: f"{number:02}"
    for number, words in enumerate(_OTHER_MONTHS, 1)
    for word in words.split("|")
    if word
}
"""The months of German, French, Spanish, Italian, Portuguese and Dutch that begin otherwise."""
MONTH_SQL = (
    "CASE WHEN SUBSTR({t}, 1, 1) BETWEEN '0' AND '9' AND {t} LIKE '______' "
    "THEN CONCAT(SUBSTR({t}, 1, 4), '-', SUBSTR({t}, 5, 2)) "
    "WHEN SUBSTR({t}, 1, 1) BETWEEN '0' AND '9' AND {t} LIKE '____-__' THEN {t} "
    "WHEN SUBSTR({t}, 1, 1) BETWEEN '0' AND '9' AND {t} LIKE '_____%' "
    "AND SUBSTR({t}, 5, 1) NOT BETWEEN '0' AND '9' "
    "THEN CONCAT(SUBSTR({t}, 1, 4), '-', SUBSTR({t}, 6, 2)) "
    "WHEN SUBSTR({t}, 1, 1) BETWEEN '0' AND '9' THEN CONCAT(SUBSTR({t}, LENGTH({t}) - 3, 4), "
    "'-', SUBSTR(CONCAT('0', {t}), LENGTH({t}) - 5, 2)) "
    "ELSE CONCAT(CASE WHEN SUBSTR({t}, LENGTH({t}) - 3, 1) BETWEEN '0' AND '9' "
    "THEN SUBSTR({t}, LENGTH({t}) - 3, 4) "
    "ELSE CONCAT('20', SUBSTR({t}, LENGTH({t}) - 1, 2)) END, '-', "
    f"CASE SUBSTR({{t}}, 1, 3) {_MONTH_CASES} END) END"
)


QUARTER_SQL = (
    "CASE WHEN {t} LIKE 'q%' THEN CONCAT(SUBSTR({t}, LENGTH({t}) - 3, 4), '-', SUBSTR({t}, 1, 2)) "
    "WHEN {t} LIKE '_q%' THEN CONCAT(SUBSTR({t}, LENGTH({t}) - 3, 4), '-q', SUBSTR({t}, 1, 1)) "
    "ELSE CONCAT(SUBSTR({t}, 1, 4), '-q', SUBSTR({t}, LENGTH({t}), 1)) END"
)
LABELS = (
    "isbn-13",
    "isbn-10",
    "number",
    "gtin",
    "iban",
    "isbn",
    "issn",
    "ean",
    "num",
    "tel",
    "upc",
    "vat",
    "no",
    "nr",
    "n°",
)
"""What is written before codes and numbers, the longest first."""
MONEY_MARKS = "$€£¥%"
ENTITY = "&(?:[a-z]+[0-9]*|#[0-9]+|#x[0-9a-f]+);"
"""Pattern of an entity of HTML in lower case."""
ACCENTED = "".join(chr(code) for code in range(0xDF, 0x17F) if chr(code).islower())
"""Letters with accents, and others that are written without in plain text."""


def labelled_sql(sql: SqlParts) -> str:
    """Write the SQL of codes without the word before them."""
    whens = " ".join(
        f"WHEN {{t}} LIKE '{word}_%' AND SUBSTR({{t}}, {len(word) + 1}, 1) IN (' ', '.', ':', '#') "
        f"THEN SUBSTR({{t}}, {len(word) + 1})"
        for word in LABELS
    )
    return code_sql(sql).replace("{t}", f"CASE {whens} ELSE {{t}} END")


def local_phone_sql(sql: SqlParts) -> str:
    """Write the SQL of the last ten digits of telephone numbers."""
    digits = sql.without(sql.separators)
    last = f"SUBSTR({digits}, LENGTH({digits}) - 9, 10)"
    return f"CASE WHEN LENGTH({digits}) > 10 THEN {last} ELSE {digits} END"


def book_sql(sql: SqlParts) -> str:
    """Write the SQL of the nine digits that book numbers of both lengths have."""
    digits = sql.without(" -")
    return (
        f"CASE LENGTH({digits}) WHEN 13 THEN SUBSTR({digits}, 4, 9) "
        f"WHEN 10 THEN SUBSTR({digits}, 1, 9) ELSE {digits} END"
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


def write_code(text: str) -> str:
    """Write a code without separators, and without zeros before its number."""
    for rewrite in CODE_REWRITES:
        text = re.sub(*rewrite, text)
    return text


def write_date(year: str, month: str, day: str) -> str:
    """Write a day."""
    return f"{_with_century(year)}-{month:0>2}-{day:0>2}"


def _with_century(year: str) -> str:
    century = "" if len(year) > len("24") else "20" if year < _FIRST_OF_LAST_CENTURY else "19"
    return f"{century}{year}"


def write_year_first(match: re.Match[str]) -> str:
    """Write a day of which the year, then month and day in one of several places were read."""
    year, *rest = match.groups()
    month, day = filter(None, rest)
    return write_date(year, month, day)


def write_day_in_words(match: re.Match[str]) -> str:
    """Write a day whose month was read as a word."""
    first, before, end, after, second, year = match.groups()
    return write_date(year or end, NUMBER_OF_MONTH[before or after], first or second)


def write_day_in_other_words(match: re.Match[str]) -> str:
    """Write a day whose month was read as a word of another language than English."""
    day, other, word, year = match.groups()
    return write_date(year, _number_of(other, word), day)


def write_month_in_other_words(match: re.Match[str]) -> str:
    """Write a month that was read as a word of another language than English."""
    other, word, year = match.groups()
    return f"{year}-{_number_of(other, word)}"


def _number_of(other: str | None, word: str) -> str:
    return _NUMBER_OF_OTHER_MONTH[other] if other else NUMBER_OF_MONTH[word]


def write_month(match: re.Match[str]) -> str:
    """Write a month of which the year and a number or a word were read."""
    first, number, other, second, word, third, short = match.groups()
    year = _with_century(first or second or third or short)
    return f"{year}-{number or other or NUMBER_OF_MONTH[word]:0>2}"


def write_quarter(match: re.Match[str]) -> str:
    """Write a quarter of a year."""
    year, quarter, first, second, third, fourth = match.groups()
    return f"{year or second or fourth}-q{quarter or first or third}"


def write_clock(match: re.Match[str]) -> str:
    """Write a time of day of which the hour in its half was read."""
    hour, minute, second, half = match.groups()
    return f"{int(hour) % 12 + (12 if half == 'p' else 0):02}:{minute or '00'}:{second or '00'}"


def write_serial_day(match: re.Match[str]) -> str:
    """Write the day of a spreadsheet's number."""
    return str(date(1899, 12, 30) + timedelta(int(match[0])))


def write_book(match: re.Match[str]) -> str:
    """Write the nine digits that book numbers of both lengths have; invalid ones stay."""
    digits = re.sub("[ -]", "", match[0])
    if len(digits) > len("316148410x"):
        return digits[3:12]
    weighted = (place * int(digit) for place, digit in enumerate(digits[:9], 1))
    return digits[:9] if sum(weighted) % 11 == "0123456789x".index(digits[9]) else match[0]


def write_network(match: re.Match[str]) -> str:
    """Write a network address of the sixth version in its shortest form."""
    try:
        return ip_address(match[0]).compressed
    except ValueError:  # too many groups
        return match[0]


_TYPED = str.maketrans("\u2018\u2019\u201c\u201d\u2013\u2014", "''\"\"--")


def write_markup(match: re.Match[str]) -> str:
    """Write a text without entities of HTML, as normal forms are written."""
    text = normalize("NFKC", unescape(match.string).casefold()).translate(_TYPED)
    return " ".join(text.split())


_STROKES = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "ð": "d", "æ": "ae", "œ": "oe"})


def write_without_accents(match: re.Match[str]) -> str:
    """Write a text without accents."""
    return without_accents(match.string)


def without_accents(text: str) -> str:
    """Return a text whose Latin letters have no accents.

    >>> without_accents("łódź")
    'lodz'
    """
    letters = re.sub("[\u0300-\u036f]", "", normalize("NFD", text))
    return normalize("NFC", letters).translate(_STROKES)


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


_MONTH, _DAY = "(1[0-2]|0?[1-9])", "([12][0-9]|3[01]|0?[1-9])"
_MONTH_WORD = f"({'|'.join(NUMBER_OF_MONTH)})[a-z]*[.]?"
DAY_IN_WORDS_PATTERN = (
    rf"^(?:[a-zà-ÿ]+[.]?,? )?(?:{_DAY}[. -]*{_MONTH_WORD}[ ,-]*([0-9]{{4}}|[0-9]{{2}})|"
    rf"{_MONTH_WORD} {_DAY},? ([0-9]{{4}}))$"
)
_YEAR = "((?:1[6-9]|2[01])[0-9]{2})"
MONTH_PATTERN = (
    rf"^(?:{_YEAR}[./m-]?(0[1-9]|1[0-2])|{_MONTH}[./-]{_YEAR}|"
    rf"{_MONTH_WORD}[ ./-](?:{_YEAR}|'?([0-9]{{2}})))$"
)
# Either the month shows another language, or what stands before the year does.
_OTHER_WORD = f"({'|'.join(_NUMBER_OF_OTHER_MONTH)})[a-zà-ÿ]*[.]?(?: del?)?[ .,/-]*"
_WORD_OF = f"({'|'.join(NUMBER_OF_MONTH)})[a-zà-ÿ]*[.]? del? "
DAY_IN_OTHER_WORDS_PATTERN = (
    rf"^(?:[a-zà-ÿ]+[.]?,? )?{_DAY}(?:er|o)?[. -]*(?:de )?(?:{_OTHER_WORD}|{_WORD_OF})([0-9]{{4}})$"
)
MONTH_IN_OTHER_WORDS_PATTERN = f"^(?:{_OTHER_WORD}|{_WORD_OF}){_YEAR}$"
QUARTER_PATTERN = rf"^(?:{_YEAR}[ ./-]?q([1-4])|q([1-4])[ ./-]?{_YEAR}|([1-4])q[ ./-]?{_YEAR})$"
CLOCK_PATTERN = r"^(0?[1-9]|1[0-2])(?::([0-5][0-9]))?(?::([0-5][0-9]))?(?:[.]0+)? ?([ap])[.]?m[.]?$"
SIXTH_VERSION_PATTERN = "^(?:[0-9a-f:]*::[0-9a-f:]*|(?:[0-9a-f]{1,4}:){7}[0-9a-f]{1,4})$"
BOOK_PATTERN = "^(?:97[89][ -]?[0-9](?:[ -]?[0-9]){8}[ -]?[0-9]|[0-9](?:[ -]?[0-9]){8}[ -]?[0-9x])$"
LOCAL_PHONE_PATTERN = (
    r"^(?:(?:\+|00)?1[ .-]?)?[(]?([2-9][0-9]{2})[)]?[ .-]*([2-9][0-9]{2})[ .-]?([0-9]{4})$"
)
MONEY_PATTERN = (
    rf"^([+-]?)[{MONEY_MARKS}]? ?"
    r"((?:0|[1-9][0-9]*|[1-9][0-9]{0,2}(?:,[0-9]{3})+)(?:\.[0-9]*)?)()"
    rf" ?[{MONEY_MARKS}]?$"
)
_HEX = tuple(f"([0-9a-f]{{{length}}})" for length in (8, 4, 4, 4, 12))
UUID_PATTERN, BARE_UUID_PATTERN = "-".join(_HEX), f"^(?:0x)?{''.join(_HEX)}$"
WRAPPED_UUID_PATTERN = rf"^(?:urn:uuid:|[{{(])?{UUID_PATTERN}[)}}]?$"
LINK_PATTERN = (
    r"^<?(?:[a-z][a-z0-9+]*://|mailto:)?(?:www\.|(?:dx\.)?doi\.org/|orcid\.org/)?"
    r"([^ /@?#]*[.@][^ ]*?|[0-9]{4}-[0-9]{4}-[0-9]{4}-[0-9]{3}[0-9x])/?>?$"
)
_COUNTRIES = (
    "at|be|bg|ch|cy|cz|de|dk|ee|el|es|fi|fr|gb|hr|hu|ie|it|lt|lu|lv|mt|nl|pl|pt|ro|se|si|sk"
)
TAX_PATTERN = f"^(?:{_COUNTRIES})([0-9]{{8,10}})$"
_MIDNIGHT = r"(?:[ t](?:0?0:00(?::00(?:\.0+)?)?|12:00(?::00)? ?am))?"
_SHORT_YEAR = "[./]([0-9]{2})"
DAY_FIRST_PATTERN = rf"^{_DAY}[./-]{_MONTH}(?:[./-]([0-9]{{4}})|{_SHORT_YEAR}){_MIDNIGHT}$"
MONTH_FIRST_PATTERN = rf"^{_MONTH}[./-]{_DAY}(?:[./-]([0-9]{{4}})|{_SHORT_YEAR}){_MIDNIGHT}$"
WITH_CENTURY = (
    (r"^([0-9]+[./-][0-9]+[./])([0-5][0-9]|6[0-8])($|[ t])", r"\120\2\3"),
    (r"^([0-9]+[./-][0-9]+[./])([0-9]{2})($|[ t])", r"\119\2\3"),
)
YEAR_FIRST_PATTERN = (
    # The years 1600 to 2199, because other numbers of eight digits are rarely dates.
    r"^((?:1[6-9]|2[01])[0-9]{2})(?:"
    r"(0[1-9]|1[0-2])(0[1-9]|[12][0-9]|3[01])|"
    rf"[./-]{_MONTH}[./-]{_DAY}{_MIDNIGHT})$"
)
