"""Forms in which differently written values are equal.

The normal form distinguishes `000123` from `123`, `1.234,50` from `1234.5`, and `31.01.2024` from
`2024-01-31`, because they may be different codes. A *value form* is a second form, in which they
are equal. It is evidence of its own: a join says in which form its values were compared.

The same text may mean two values: `01/02/2024` is a day of January or of February. A *notation* is
one way to read texts, and `written_in.py` decides it for a column as a whole. A column without a
notation is compared by its normal forms in every value form.

All that is known of a form or a notation is in its declaration here: what it reads, how one value
and how many values are written in it, and its SQL. `canonical_form` defines the result for one
value; the Spark package computes the same for columns, and `sql` the same in databases.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum

from typing_extensions import Self

from datahub_hyperjoin import form_parts as parts

Rewrites = tuple[tuple[str, str], ...]
"""Patterns and replacements, applied in this order."""


@dataclass(frozen=True, slots=True)
class _Form:
    """The declaration of a value form."""

    words: str
    sql: Callable[[parts.SqlParts], str]


class ValueForm(str, Enum):
    """A form in which differently written values, such as `1,5` and `1.5`, are equal.

    The value of a member names the form in evidence.
    """

    _value_: str
    sql: Callable[[parts.SqlParts], str]
    """Function that writes the SQL of values in normal form in this form, with the parts of a
    dialect."""

    def __new__(cls, form: _Form | str) -> Self:
        """Make a member of its declaration."""
        assert isinstance(form, _Form)  # noqa: S101 (`ValueForm("dates")` comes not here)
        member = str.__new__(cls, form.words)
        member._value_, member.sql = form.words, form.sql
        return member

    WITHOUT_ZEROS = _Form("numbers without leading zeros", lambda sql: sql.without_zeros)
    NUMBERS = _Form("numbers", lambda sql: sql.number("REPLACE({t}, ',', '')"))
    DATES = _Form("dates", lambda sql: sql.iso_day)
    TRUTH = _Form("truth values", parts.truth_sql)
    INSTANTS = _Form("points in time", lambda sql: sql.instant)
    UUIDS = _Form("uuids", parts.uuid_sql)
    HEXADECIMAL = _Form("hexadecimal digits", lambda _: parts.HEXADECIMAL_SQL)
    CODES = _Form("codes without separators", parts.code_sql)
    LINKS = _Form("addresses without scheme", lambda _: f"NULLIF({parts.LINK_SQL}, '')")
    TIMES = _Form("times of day", lambda _: parts.TIME_SQL)
    MONTHS = _Form("months", lambda _: "NULLIF({t}, '')")
    NETWORK = _Form("network addresses", lambda _: f"NULLIF({parts.NETWORK_SQL}, '.')")
    TAX_NUMBERS = _Form("tax numbers without country", lambda _: "NULLIF({t}, '')")
    BANKS = _Form("bank codes", lambda _: parts.BANK_SQL)
    QUARTERS = _Form("quarters", lambda _: parts.QUARTER_SQL)
    BOOKS = _Form("book numbers", parts.book_sql)
    MARKUP = _Form("text without HTML entities", lambda _: "NULLIF({t}, '')")
    ACCENTS = _Form("text without accents", lambda _: "NULLIF({t}, '')")
    EXACT = _Form("exact values", lambda _: "{x}")


VALUE_FORMS = frozenset({"", *(form.value for form in ValueForm)})
"""Values of `compared_as` for joins of equal values, and not of codes with names of entities."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Notation:
    """The declaration of a notation."""

    words: str
    form: ValueForm

    pattern: str
    """Pattern of the normal forms that it can read, in the common subset of Python's and RE2's
    syntax."""

    write: Callable[[re.Match[str]], str]
    """Function that takes a match of the pattern and returns the value form."""

    sql: Callable[[parts.SqlParts], str]
    """Function that writes the SQL of the value form, with the parts of a dialect."""

    rewrites: Rewrites = ()
    """Replacements in RE2's syntax that do what `write` does, for many values at once. Without any,
    values are written one at a time."""

    one_by_one: str = ""
    """What values contain that the rewrites cannot write; empty if there is no such value."""

    marks: str = ""
    """Characters of which a column has some if it is written so; empty if no character tells."""

    generality: int = 0
    """A notation is only taken for columns that no less general one reads as well, and one of
    generality 1 only for those that none of its own form does."""

    is_certain: bool = False
    """Whether its values mean the same in any column, so that some values of columns in another
    notation of the form, or in none, may be written so."""

    is_checked: bool = False
    """Whether values that are written as they are have wrong check digits, and so do not count."""

    least: float = 0.95
    """Minimum share of a column's values that the notation must read."""

    types: Mapping[str, tuple[int, ...]] = field(default_factory=lambda: {"text": ()})
    """The types, as `DataType` names them, of columns that may be written so, each with the numbers
    of characters of values, which rule out most columns; none if values have any length, and
    begin and end as numbers do. Decimals need no notation: they are never key columns, and a join
    converts them if the other column needs that."""


_SIGN, _EXPONENT = "([+-]?)", "(?:e([+-]?[0-9]{1,2}))?"
_DATE_REWRITES = ((r"-([0-9])-", r"-0\1-"), (r"-([0-9])$", r"-0\1"))
_PART = "0*(25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9])"
_NETWORK_ADDRESS = rf"^(?:::ffff:)?{_PART}[.]{_PART}[.]{_PART}[.]{_PART}(?:/32)?$"
_MARKS = re.escape(parts.SEPARATORS)
_LABEL = f"^(?:{'|'.join(parts.LABELS)})[. :#]+"
_NUMBERED = f"{_LABEL}([0-9a-z][0-9a-z -]*)$"
_BANK_CODE = "^([a-z]{6}[a-z0-9]{2})(?:xxx)?$"
_PHONE = r"^(?:\+|00)[1-9][0-9 ()/.-]{7,}$"
_TIME = r"^(0?[0-9]|1[0-9]|2[0-3]):([0-5][0-9])(?::([0-5][0-9])(?:[.]0+)?)?$"


class Notation(str, Enum):
    """A way to write values, such as dates with the day first."""

    _value_: str
    rules: _Notation
    """All that is known of the notation."""

    def __new__(cls, rules: _Notation | str) -> Self:
        """Make a member of its declaration."""
        assert isinstance(rules, _Notation)  # noqa: S101 (as above)
        member = str.__new__(cls, rules.words)
        member._value_, member.rules = rules.words, rules
        return member

    # That of `Enum` is written in Python, and notations are the keys of many look-ups.
    __hash__ = str.__hash__

    PHONE = _Notation(
        words="telephone numbers with country code",
        form=ValueForm.CODES,
        pattern=_PHONE,
        write=lambda match: re.sub("^00|[^0-9]", "", match[0]),
        rewrites=(("^00", ""), ("[^0-9]", "")),
        sql=parts.phone_sql,
        marks="+0",
        generality=1,
    )
    """Telephone numbers with the code of their country, as `+49 (30) 123456` or `004930123456`."""

    LOCAL_PHONE = _Notation(
        words="telephone numbers of North America",
        form=ValueForm.CODES,
        pattern=parts.LOCAL_PHONE_PATTERN,
        write=lambda match: "".join(match.groups()),
        rewrites=((parts.LOCAL_PHONE_PATTERN, r"\1\2\3"),),
        sql=parts.local_phone_sql,
        types={"text": (), "integer": (11,)},
    )
    """Telephone numbers with or without the 1, as `(212) 555-0123` or `+1 212 555 0123`."""

    BOOK = _Notation(
        words="book numbers of 10 and 13 digits",
        form=ValueForm.BOOKS,
        pattern=parts.BOOK_PATTERN,
        write=parts.write_book,
        sql=parts.book_sql,
        types={"text": (10, 13, 17), "integer": (10, 13)},
        is_checked=True,
    )
    """Numbers of books, of which the shorter have the last digit of another check."""

    PADDED = _Notation(
        words="digits with leading zeros",
        form=ValueForm.WITHOUT_ZEROS,
        pattern="^0*([0-9]+)$",
        write=lambda match: match[1],
        rewrites=(("^0+([0-9])", r"\1"),),
        sql=lambda sql: sql.without_zeros,
        is_certain=True,
    )
    """Digits with leading zeros, as in `000123`."""

    POINT = _Notation(
        words="decimal point",
        form=ValueForm.NUMBERS,
        pattern=(
            rf"^{_SIGN}((?:0|[1-9][0-9]*|[1-9][0-9]{{0,2}}(?:,[0-9]{{3}})+)(?:\.[0-9]*)?|\.[0-9]+)"
            rf"{_EXPONENT}$"
        ),
        write=lambda match: parts.write_number(match, ".", ","),
        rewrites=((",", ""), *parts.NUMBER_REWRITES),
        one_by_one="e",  # only decimal arithmetic can shift the point
        sql=lambda sql: sql.number("REPLACE({t}, ',', '')"),
    )
    """Numbers with a decimal point, as in `12.50`, `1,234.50` or `1.2e-05`."""

    EXPONENT = _Notation(
        words="exponents",
        form=ValueForm.NUMBERS,
        pattern=r"^(-?)([0-9](?:\.[0-9]*)?)e\+?([0-9]{1,2})$",
        write=lambda match: parts.write_number(match, ".", ""),
        sql=lambda sql: sql.number("{t}"),
        types={"decimal": ()},
    )
    """Whole numbers as spreadsheets shorten them, as in `1.55433E+06`."""

    BEFORE_POINT = _Notation(
        words="whole numbers before a point",
        form=ValueForm.NUMBERS,
        pattern="^([0-9]+)[.]?$",
        write=lambda match: match[1],
        rewrites=(("[.]$", ""),),
        sql=lambda sql: sql.number("{t}"),
        types={"decimal": ()},
    )
    """Whole numbers with a point behind them, as in `12.`."""

    MONEY = _Notation(
        words="currency and percent signs",
        form=ValueForm.NUMBERS,
        pattern=parts.MONEY_PATTERN,
        write=lambda match: parts.write_number(match, ".", ","),
        rewrites=((f"[,{parts.MONEY_MARKS} ]", ""), *parts.NUMBER_REWRITES),
        sql=lambda sql: sql.number(sql.without(f", {parts.MONEY_MARKS}")),
        marks=parts.MONEY_MARKS,
    )
    """Amounts, as `$1,200.50` or `12 %`."""

    COMMA = _Notation(
        words="decimal comma",
        form=ValueForm.NUMBERS,
        pattern=(
            rf"^{_SIGN}((?:0|[1-9][0-9]*|[1-9][0-9]{{0,2}}(?:[. ][0-9]{{3}})+)(?:,[0-9]*)?|,[0-9]+)"
            rf"{_EXPONENT}$"
        ),
        write=lambda match: parts.write_number(match, ",", ". "),
        rewrites=(("[. ]", ""), *parts.NUMBER_REWRITES),
        one_by_one="e",
        sql=lambda sql: sql.number("REPLACE(REPLACE(REPLACE({t}, '.', ''), ' ', ''), ',', '.')"),
    )
    """Numbers with a decimal comma, as in `12,50` or `1.234,50`."""

    DAY_FIRST = _Notation(
        words="day first",
        form=ValueForm.DATES,
        pattern=parts.DAY_FIRST_PATTERN,
        write=lambda match: parts.write_date(match[3] or match[4], match[2], match[1]),
        rewrites=(*parts.WITH_CENTURY, (parts.DAY_FIRST_PATTERN, r"\3-\2-\1"), *_DATE_REWRITES),
        sql=lambda sql: sql.day_first,
    )
    """Dates with the day first, as in `31.01.2024`."""

    MONTH_FIRST = _Notation(
        words="month first",
        form=ValueForm.DATES,
        pattern=parts.MONTH_FIRST_PATTERN,
        write=lambda match: parts.write_date(match[3] or match[4], match[1], match[2]),
        rewrites=(*parts.WITH_CENTURY, (parts.MONTH_FIRST_PATTERN, r"\3-\1-\2"), *_DATE_REWRITES),
        sql=lambda sql: sql.month_first,
    )
    """Dates with the month first, as in `01/31/2024`."""

    YEAR_FIRST = _Notation(
        words="year first",
        form=ValueForm.DATES,
        pattern=parts.YEAR_FIRST_PATTERN,
        write=parts.write_year_first,
        # A group without a match is empty, so that only one of both alternatives is written.
        rewrites=((parts.YEAR_FIRST_PATTERN, r"\1-\2\4-\3\5"), *_DATE_REWRITES),
        sql=lambda sql: sql.year_first,
        types={"text": (), "integer": (8,)},
        is_certain=True,
    )
    """Dates with the year first, as in `2024/01/31` or `20240131`."""

    DAY_IN_WORDS = _Notation(
        words="months in words",
        form=ValueForm.DATES,
        pattern=parts.DAY_IN_WORDS_PATTERN,
        write=parts.write_day_in_words,
        sql=lambda sql: sql.day_in_words,
        is_certain=True,
    )
    """Dates with the English name of the month, as `31 Jan 2024` or `January 31, 2024`."""

    DAY_IN_OTHER_WORDS = _Notation(
        words="months in words of other languages",
        form=ValueForm.DATES,
        pattern=parts.DAY_IN_OTHER_WORDS_PATTERN,
        write=parts.write_day_in_other_words,
        sql=lambda _: "NULL",  # databases know the names of one language
        is_certain=True,
    )
    """Dates with the month in another language than English, as `3. Mai 2024`."""

    SERIAL_DAY = _Notation(
        words="days of spreadsheets",
        form=ValueForm.DATES,
        pattern="^[2-6][0-9]{4}$",
        write=parts.write_serial_day,
        sql=lambda sql: sql.serial_day,
        types={"integer": (5,)},
    )
    """Days as spreadsheets number them, as `45292`, in columns that are called days or dates."""

    MONTH = _Notation(
        words="months of a year",
        form=ValueForm.MONTHS,
        pattern=parts.MONTH_PATTERN,
        write=parts.write_month,
        sql=lambda _: parts.MONTH_SQL,
        types={"text": (), "integer": (6,)},
        is_certain=True,
    )
    """Months, as `202401`, `01/2024` or `Jan 2024`."""

    MONTH_IN_OTHER_WORDS = _Notation(
        words="months of a year in other languages",
        form=ValueForm.MONTHS,
        pattern=parts.MONTH_IN_OTHER_WORDS_PATTERN,
        write=parts.write_month_in_other_words,
        sql=lambda _: "NULL",
        is_certain=True,
    )
    """Months in another language than English, as `März 2024`."""

    QUARTER = _Notation(
        words="quarters of a year",
        form=ValueForm.QUARTERS,
        pattern=parts.QUARTER_PATTERN,
        write=parts.write_quarter,
        sql=ValueForm.QUARTERS.sql,
        is_certain=True,
    )
    """Quarters, as `2024Q1`, `Q1 2024` or `1Q2024`."""

    NETWORK = _Notation(
        words="network addresses with zeros",
        form=ValueForm.NETWORK,
        pattern=_NETWORK_ADDRESS,
        write=lambda match: ".".join(match.groups()),
        rewrites=((_NETWORK_ADDRESS, r"\1.\2.\3.\4"),),
        sql=ValueForm.NETWORK.sql,
        marks=".",
        is_certain=True,
    )
    """Network addresses, as `010.001.000.007`, `10.1.0.7/32` or `::ffff:10.1.0.7`."""

    SIXTH_VERSION = _Notation(
        words="network addresses of version 6",
        form=ValueForm.NETWORK,
        pattern=parts.SIXTH_VERSION_PATTERN,
        write=parts.write_network,
        sql=lambda _: "NULL",  # few systems have functions for them
        marks=":",
        is_certain=True,
    )
    """Long network addresses, as `2001:0db8::0001`."""

    NUMBERED = _Notation(
        words="numbers after a word",
        form=ValueForm.CODES,
        pattern=_NUMBERED,
        write=lambda match: parts.write_code(match[1]),
        rewrites=((_LABEL, ""), *parts.CODE_REWRITES),
        sql=parts.labelled_sql,
        is_certain=True,
    )
    """Numbers and codes that are called so, as `No. 12` or `ISBN 978-3-16-148410-0`."""

    TAX_NUMBER = _Notation(
        words="tax numbers with country code",
        form=ValueForm.TAX_NUMBERS,
        pattern=parts.TAX_PATTERN,
        write=lambda match: match[1],
        rewrites=((parts.TAX_PATTERN, r"\1"),),
        sql=lambda _: parts.TAX_SQL,
        types={"text": (8, 9, 10, 11)},
        is_certain=True,
    )
    """Tax numbers of companies, as `DE123456789`."""

    BANK_CODE = _Notation(
        words="bank codes with branch",
        form=ValueForm.BANKS,
        pattern=_BANK_CODE,
        write=lambda match: match[1],
        rewrites=((_BANK_CODE, r"\1"),),
        sql=ValueForm.BANKS.sql,
        types={"text": (8, 9, 10, 11)},
        is_certain=True,
    )
    """Codes of banks (BIC) with the branch `XXX`, which is the head office."""

    TRUTH_WORDS = _Notation(
        words="truth words",
        form=ValueForm.TRUTH,
        pattern=f"^(?:({'|'.join(parts.TRUE_WORDS)})|{'|'.join(parts.FALSE_WORDS)})$",
        write=lambda match: "true" if match[1] else "false",
        sql=parts.truth_sql,
        types={},  # columns of two values are asked for them, whatever their type
    )
    """Words for true and false, such as `t`, `yes` or `1`."""

    OFFSET = _Notation(
        words="offset from UTC",
        form=ValueForm.INSTANTS,
        pattern=(
            r"^([12][0-9]{3}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01]))[t ]"
            r"((?:[01][0-9]|2[0-3]):[0-5][0-9])(?:(:[0-5][0-9])(?:\.([0-9]{1,6}))?)?"
            r" ?([+-](?:0[0-9]|1[0-4])):?([0-5][0-9])?$"
        ),
        write=parts.write_instant,
        sql=lambda sql: sql.zoned_instant,
        types={"timestamp": ()},
    )
    """Points in time with an offset from UTC, as in `2024-01-31T09:30:00+01:00`."""

    BARE_UUID = _Notation(
        words="uuids without hyphens",
        form=ValueForm.UUIDS,
        pattern=parts.BARE_UUID_PATTERN,
        write=lambda match: "-".join(match.groups()),
        rewrites=((parts.BARE_UUID_PATTERN, r"\1-\2-\3-\4-\5"),),
        sql=ValueForm.UUIDS.sql,
        types={"text": (32, 34)},
        is_certain=True,
    )
    """32 hexadecimal digits, as of a uuid that is stored as 16 bytes, also after `0x`."""

    WRAPPED_UUID = _Notation(
        words="uuids in braces",
        form=ValueForm.UUIDS,
        pattern=parts.WRAPPED_UUID_PATTERN,
        write=lambda match: "-".join(match.groups()),
        rewrites=((parts.WRAPPED_UUID_PATTERN, r"\1-\2-\3-\4-\5"),),
        sql=ValueForm.UUIDS.sql,
        marks="{(:",
        is_certain=True,
    )
    """Uuids in braces or with their scheme, as `urn:uuid:6f9619ff-8b86-d011-b42d-00c04fc964ff`."""

    HEXADECIMAL = _Notation(
        words="hexadecimal digits after 0x",
        form=ValueForm.HEXADECIMAL,
        pattern=r"^(?:0|\\)x([0-9a-f]{8,})$",  # fewer digits may be those of another number
        write=lambda match: match[1],
        rewrites=((r"^(?:0|\\)x", ""),),
        sql=ValueForm.HEXADECIMAL.sql,
        marks="x",
        is_certain=True,
    )
    """Bytes as databases write them, as `0x52908400098527886e0f7030069857d2` or after `\\x`."""

    SHORT_TIME = _Notation(
        words="times without seconds",
        form=ValueForm.TIMES,
        pattern=_TIME,
        write=lambda match: f"{match[1]:0>2}:{match[2]}:{match[3] or '00'}",
        rewrites=((r"[.]0+$", ""), (r"^([0-9]):", r"0\1:"), (r"^(.....)$", r"\1:00")),
        sql=ValueForm.TIMES.sql,
        marks=":",
        is_certain=True,
    )
    """Times of day, as `9:30` for `09:30:00`."""

    CLOCK = _Notation(
        words="times before and after noon",
        form=ValueForm.TIMES,
        pattern=parts.CLOCK_PATTERN,
        write=parts.write_clock,
        sql=lambda _: parts.CLOCK_SQL,
        marks="m",
    )
    """Times of day, as `9:30 PM`."""

    LINK = _Notation(
        words="addresses with their scheme",
        form=ValueForm.LINKS,
        pattern=parts.LINK_PATTERN,
        write=lambda match: match[1],
        rewrites=((parts.LINK_PATTERN, r"\1"),),
        sql=ValueForm.LINKS.sql,
        marks=":/w<",
        is_certain=True,
    )
    """Addresses on the web, as `https://www.example.org/` or `mailto:a@example.org`."""

    LETTERED = _Notation(
        words="letters and a number with leading zeros",
        form=ValueForm.CODES,
        pattern=f"{parts.PADDED_CODE}[a-z0-9]*$",
        write=lambda match: parts.write_code(match[0]),
        rewrites=parts.CODE_REWRITES,
        sql=ValueForm.CODES.sql,
        marks="0",
        generality=2,
        is_certain=True,
        least=0.03,  # of a counter, a tenth may have zeros
    )
    """Letters before a number of so many digits, as in `AB0012`."""

    SEPARATED = _Notation(
        words="codes with separators",
        form=ValueForm.CODES,
        pattern=f"^[a-z{_MARKS}]*[0-9][a-z0-9{_MARKS}]*$",
        write=lambda match: parts.write_code(match[0]),
        rewrites=parts.CODE_REWRITES,
        sql=ValueForm.CODES.sql,
        marks=parts.SEPARATORS,
        generality=2,
        is_certain=True,
    )
    """Letters and digits with separators, as in `978-3-16-148410-0`, `AB_0012` or `="0012"`."""

    MARKUP = _Notation(
        words="HTML entities",
        form=ValueForm.MARKUP,
        pattern=f"^.*{parts.ENTITY}",
        write=parts.write_markup,
        sql=ValueForm.MARKUP.sql,
        marks="&",
        generality=3,
        is_certain=True,
        least=0.03,
    )
    """Texts of pages on the web, as `R&amp;D`."""

    ACCENTS = _Notation(
        words="accents",
        form=ValueForm.ACCENTS,
        pattern="^.*[à-öø-ž]",
        write=parts.write_without_accents,
        sql=ValueForm.ACCENTS.sql,
        marks=parts.ACCENTED,
        generality=4,
        is_certain=True,
        least=0.03,
    )
    """Texts with accents, which others leave out, as `Zoë` and `Zoe`."""

    EXACT = _Notation(
        words="values that differ in case",
        form=ValueForm.EXACT,
        pattern="a^",  # matches nothing: whole columns tell, not their normal forms
        write=lambda match: match[0],
        sql=ValueForm.EXACT.sql,
        types={},
    )
    """Keys of which some differ in nothing that the normal form keeps, such as `a1` and `A1`."""

    @property
    def form(self) -> ValueForm:
        """The form to which values in this notation are converted for comparison.

        >>> Notation.COMMA.form is Notation.POINT.form is ValueForm.NUMBERS
        True
        """
        return self.rules.form
