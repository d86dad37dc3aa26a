"""Forms in which differently written values are equal.

The normal form distinguishes `000123` from `123`, `1.234,50` from `1234.5`, and `31.01.2024` from
`2024-01-31`, because they may be different codes. A *value form* is a second form, in which they
are equal. It is evidence of its own: a join says in which form its values were compared.

The same text may mean two values: `01/02/2024` is a day of January or of February. A *notation* is
one way to read texts, and `notation_of` decides it for a column as a whole. A column without a
notation is compared by its normal forms in every value form.

`canonical_form` defines the result for one value; the Spark package computes the same for columns.
"""

import re
from collections.abc import Callable, Collection, Mapping
from datetime import datetime, timezone
from decimal import Decimal
from enum import Enum


class ValueForm(str, Enum):
    """A form in which differently written values, such as `1,5` and `1.5`, are equal.

    The value of a member names the form in evidence.
    """

    WITHOUT_ZEROS = "numbers without leading zeros"
    NUMBERS = "numbers"
    DATES = "dates"
    TRUTH = "truth values"
    INSTANTS = "points in time"
    UUIDS = "uuids"


class Notation(str, Enum):
    """A way to write values, such as dates with the day first."""

    PADDED = "digits with leading zeros"
    """Digits with leading zeros, as in `000123`."""

    POINT = "decimal point"
    """Numbers with a decimal point, as in `12.50`, `1,234.50` or `1.2e-05`."""

    COMMA = "decimal comma"
    """Numbers with a decimal comma, as in `12,50` or `1.234,50`."""

    DAY_FIRST = "day first"
    """Dates with the day first, as in `31.01.2024`."""

    MONTH_FIRST = "month first"
    """Dates with the month first, as in `01/31/2024`."""

    YEAR_FIRST = "year first"
    """Dates with the year first, as in `2024/01/31` or `20240131`."""

    TRUTH_WORDS = "truth words"
    """Words for true and false, such as `t`, `yes` or `1`."""

    OFFSET = "offset from UTC"
    """Points in time with an offset from UTC, as in `2024-01-31T09:30:00+01:00`."""

    BARE_UUID = "uuids without hyphens"
    """32 hexadecimal digits, as of a uuid that is stored as 16 bytes."""

    @property
    def form(self) -> ValueForm:
        """The form to which values in this notation are converted for comparison.

        >>> Notation.COMMA.form is Notation.POINT.form is ValueForm.NUMBERS
        True
        """
        return _FORMS[self]


_FORMS: Mapping[Notation, ValueForm] = {
    Notation.PADDED: ValueForm.WITHOUT_ZEROS,
    Notation.POINT: ValueForm.NUMBERS,
    Notation.COMMA: ValueForm.NUMBERS,
    Notation.DAY_FIRST: ValueForm.DATES,
    Notation.MONTH_FIRST: ValueForm.DATES,
    Notation.YEAR_FIRST: ValueForm.DATES,
    Notation.TRUTH_WORDS: ValueForm.TRUTH,
    Notation.OFFSET: ValueForm.INSTANTS,
    Notation.BARE_UUID: ValueForm.UUIDS,
}

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

_MONTH, _DAY = "(1[0-2]|0?[1-9])", "([12][0-9]|3[01]|0?[1-9])"
_SIGN, _EXPONENT = "([+-]?)", "(?:e([+-]?[0-9]{1,2}))?"
PATTERNS: Mapping[Notation, str] = {
    Notation.PADDED: "^0*([0-9]+)$",
    Notation.POINT: (
        rf"^{_SIGN}((?:0|[1-9][0-9]*|[1-9][0-9]{{0,2}}(?:,[0-9]{{3}})+)(?:\.[0-9]*)?|\.[0-9]+)"
        rf"{_EXPONENT}$"
    ),
    Notation.COMMA: (
        rf"^{_SIGN}((?:0|[1-9][0-9]*|[1-9][0-9]{{0,2}}(?:[. ][0-9]{{3}})+)(?:,[0-9]*)?|,[0-9]+)"
        rf"{_EXPONENT}$"
    ),
    Notation.DAY_FIRST: rf"^{_DAY}[./-]{_MONTH}[./-]([0-9]{{4}})$",
    Notation.MONTH_FIRST: rf"^{_MONTH}[./-]{_DAY}[./-]([0-9]{{4}})$",
    Notation.YEAR_FIRST: (
        # The years 1600 to 2199, because other numbers of eight digits are rarely dates.
        r"^((?:1[6-9]|2[01])[0-9]{2})(?:"
        r"(0[1-9]|1[0-2])(0[1-9]|[12][0-9]|3[01])|"
        rf"[./-]{_MONTH}[./-]{_DAY})$"
    ),
    Notation.TRUTH_WORDS: f"^(?:({'|'.join(TRUE_WORDS)})|{'|'.join(FALSE_WORDS)})$",
    Notation.OFFSET: (
        r"^([12][0-9]{3}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01]))[t ]"
        r"((?:[01][0-9]|2[0-3]):[0-5][0-9])(?:(:[0-5][0-9])(?:\.([0-9]{1,6}))?)?"
        r" ?([+-](?:0[0-9]|1[0-4])):?([0-5][0-9])?$"
    ),
    Notation.BARE_UUID: "^([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})$",
}
"""For each notation, a pattern of the normal forms that it can read, in the common subset of
Python's and RE2's syntax."""

_MIN_SHARE = 0.95
"""A column is converted only if at least this share of its values fits one notation."""
_TRUTHS = 2
"""Number of distinct values that a column of truth words, such as `yes` and `no`, must have.
Constant columns are not converted."""
_MIDNIGHT = " 00:00:00"


def canonical_form(normal: str, notation: Notation) -> str:
    """Convert a value to its value form, for example `31.1.2024` to `2024-01-31`.

    Returns:
        The value in the notation's form. A value that the notation cannot read stays as it is.

    Examples:
        >>> canonical_form("000123", Notation.PADDED), canonical_form("a007", Notation.PADDED)
        ('123', 'a007')
        >>> canonical_form("1.234,50", Notation.COMMA), canonical_form("1,234.50", Notation.POINT)
        ('1234.5', '1234.5')
        >>> canonical_form("1.2e-05", Notation.POINT), canonical_form("-0.0", Notation.POINT)
        ('0.000012', '0')
        >>> canonical_form("31.1.2024", Notation.DAY_FIRST)
        '2024-01-31'
        >>> canonical_form("01/31/2024", Notation.MONTH_FIRST)
        '2024-01-31'
        >>> canonical_form("20240131", Notation.YEAR_FIRST)
        '2024-01-31'
        >>> canonical_form("ja", Notation.TRUTH_WORDS), canonical_form("0", Notation.TRUTH_WORDS)
        ('true', 'false')
        >>> canonical_form("2024-01-31t00:30:00+01:00", Notation.OFFSET)
        '2024-01-30 23:30:00'
        >>> canonical_form("6f9619ff8b86d011b42d00c04fc964ff", Notation.BARE_UUID)
        '6f9619ff-8b86-d011-b42d-00c04fc964ff'
    """
    match = _COMPILED[notation].match(normal)
    return _WRITERS[notation](match) if match else normal


def notation_of(
    values: Collection[str], among: Collection[Notation] = tuple(Notation)
) -> Notation | None:
    """Find the notation of a column's values; return None if no notation clearly fits.

    Args:
        values: Normal forms of some distinct values; of all of them if there are at most two.

    Returns:
        The notation that reads nearly all values and writes some of them differently. None if
        there is none, or if two notations of one form read the values equally well.

    Examples:
        >>> notation_of(["000123", "004711"]), notation_of(["123", "4711"])
        (<Notation.PADDED: 'digits with leading zeros'>, None)
        >>> notation_of(["01.02.2024", "31.01.2024"]), notation_of(["01.02.2024", "03.04.2024"])
        (<Notation.DAY_FIRST: 'day first'>, None)
        >>> notation_of(["1.234,50", "7"]), notation_of(["1.234", "5.678"])
        (<Notation.COMMA: 'decimal comma'>, None)
        >>> notation_of(["ja", "nein"]), notation_of(["ja", "nein", "no"])
        (<Notation.TRUTH_WORDS: 'truth words'>, None)
    """
    shares = {notation: readable_share(values, notation) for notation in among}
    for notation, share in shares.items():
        same_form = [other for read, other in shares.items() if read.form is notation.form]
        is_clear = share == max(same_form) and same_form.count(share) == 1
        if share >= _MIN_SHARE and is_clear and _changes(values, notation):
            return notation
    return None


def common_form(left: Notation | None, right: Notation | None) -> ValueForm | None:
    """Return the value form in which two columns are compared; None if no form suits both.

    Args:
        left: The notation of a column, if it has one.

    Returns:
        The form of both notations, or of the one that there is. None if there is none, or if the
        notations have different forms.

    Examples:
        >>> common_form(Notation.DAY_FIRST, Notation.MONTH_FIRST)
        <ValueForm.DATES: 'dates'>
        >>> common_form(Notation.POINT, None)
        <ValueForm.NUMBERS: 'numbers'>
        >>> common_form(Notation.DAY_FIRST, Notation.PADDED)
    """
    forms = {notation.form for notation in (left, right) if notation}
    return forms.pop() if len(forms) == 1 else None


def readable_share(values: Collection[str], notation: Notation) -> float:
    """Return the share of values that are valid in a notation."""
    pattern = _COMPILED[notation]
    return sum(pattern.match(value) is not None for value in values) / max(len(values), 1)


def _changes(values: Collection[str], notation: Notation) -> bool:
    """Return whether converting values to a notation's value form yields any new value.

    Truth words count only if there are exactly two values, one true and one false.
    """
    written = {canonical_form(value, notation) for value in values}
    if notation is Notation.TRUTH_WORDS and not len(values) == len(written) == _TRUTHS:
        return False
    return not written <= {*values}


def _write_number(match: re.Match[str], point: str, groups: str) -> str:
    sign, digits, exponent = match.groups()
    for group in groups:
        digits = digits.replace(group, "")
    # A float would round long numbers, and so make different identifiers equal.
    number = Decimal(f"{sign}{digits.replace(point, '.')}e{exponent or 0}")
    text = f"{number:f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    # Otherwise `-0` would differ from `0`.
    return "0" if number.is_zero() else text


def _write_date(year: str, month: str, day: str) -> str:
    return f"{year}-{month:0>2}-{day:0>2}"


def _write_year_first(match: re.Match[str]) -> str:
    year, *rest = match.groups()
    month, day = filter(None, rest)
    return _write_date(year, month, day)


def _write_instant(match: re.Match[str]) -> str:
    day, minute, second, fraction, hours, minutes = match.groups()
    # Python 3.10 reads fractions of six digits only.
    text = f"{day} {minute}{second or ':00'}.{fraction or '':0<6}{hours}:{minutes or '00'}"
    try:
        instant = datetime.fromisoformat(text).astimezone(timezone.utc)
    except ValueError:  # a day that does not exist
        return match.string
    written = instant.replace(tzinfo=None).isoformat(" ", "microseconds")
    return written.rstrip("0").rstrip(".").removesuffix(_MIDNIGHT)


_COMPILED = {notation: re.compile(pattern) for notation, pattern in PATTERNS.items()}
_WRITERS: Mapping[Notation, Callable[[re.Match[str]], str]] = {
    Notation.PADDED: lambda match: match[1],
    Notation.POINT: lambda match: _write_number(match, ".", ","),
    Notation.COMMA: lambda match: _write_number(match, ",", ". "),
    Notation.DAY_FIRST: lambda match: _write_date(match[3], match[2], match[1]),
    Notation.MONTH_FIRST: lambda match: _write_date(match[3], match[1], match[2]),
    Notation.YEAR_FIRST: _write_year_first,
    Notation.TRUTH_WORDS: lambda match: "true" if match[1] else "false",
    Notation.OFFSET: _write_instant,
    Notation.BARE_UUID: lambda match: "-".join(match.groups()),
}
"""For each notation, a function that takes a match of the pattern and returns the value form."""
