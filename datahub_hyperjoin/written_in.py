"""Decide in which notation a column is written, and convert its values to the form of the notation.

What notations and forms there are, `value_forms.py` declares.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from itertools import islice

from datahub_hyperjoin.value_forms import Notation, ValueForm

_COMPILED = {notation: re.compile(notation.rules.pattern) for notation in Notation}
WITH_CERTAIN: Mapping[Notation, tuple[Notation, ...]] = {
    notation: (
        *sorted(
            [
                notation,
                *(
                    other
                    for other in Notation
                    if other is not notation
                    and other.form is notation.form
                    and other.rules.is_certain
                    and not other.rules.generality
                ),
            ],
            key=lambda read: read.rules.generality,
        ),
    )
    for notation in Notation
}
"""The notations that are read in a column of each notation: the first that reads a value does. A
general one reads what no other does."""
_ANY = {
    notation: re.compile("|".join(each.rules.pattern for each in read))
    for notation, read in WITH_CERTAIN.items()
}
_ROUNDING = 1e-9
_OWN_SHARE = 0.03
"""Minimum share of a column's values that its notation reads itself."""
_FEWEST_THOUSANDS = 3
TRUTHS = 2
"""Number of distinct values that a column of truth words, such as `yes` and `no`, must have.
Constant columns are not converted."""


def canonical_form(normal: str, notation: Notation) -> str:
    """Convert a value to its value form; one that the notation cannot read stays as it is.

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
        >>> canonical_form("978-3-16-148410-0", Notation.SEPARATED)
        '9783161484100'
        >>> canonical_form("0049 (30) 123-456", Notation.PHONE)
        '4930123456'
        >>> canonical_form("https://www.example.org/a/", Notation.LINK)
        'example.org/a'
        >>> canonical_form("9:30", Notation.SHORT_TIME)
        '09:30:00'
    """
    for read in WITH_CERTAIN[notation]:
        if match := _COMPILED[read].match(normal):
            return read.rules.write(match)
    return normal


def notation_of(
    values: Collection[str], among: Collection[Notation] = tuple(Notation)
) -> Notation | None:
    """Find the notation that reads nearly all values and writes some of them differently.

    There is none if two notations of one form read the values equally well, but as other values.
    The values are normal forms of some distinct values; of all of them if there are at most two.

    Examples:
        >>> notation_of(["000123", "004711"]), notation_of(["123", "4711"])
        (<Notation.PADDED: 'digits with leading zeros'>, None)
        >>> notation_of(["01.02.2024", "31.01.2024"]), notation_of(["01.02.2024", "03.04.2024"])
        (<Notation.DAY_FIRST: 'day first'>, None)
        >>> notation_of(["1.234,50", "7"]), notation_of(["1.234", "5.678"])
        (<Notation.COMMA: 'decimal comma'>, None)
        >>> notation_of(["1,234", "999", "56,789", "2,000"]), notation_of(["1,234", "56,789"])
        (<Notation.POINT: 'decimal point'>, None)
        >>> notation_of(["ja", "nein"]), notation_of(["ja", "nein", "no"])
        (<Notation.TRUTH_WORDS: 'truth words'>, None)
    """
    shares = best_shares(values, among)
    for notation, share in shares.items():
        rivals = [
            other
            for other, its in shares.items()
            if other is not notation and other.form is notation.form and its >= share
        ]
        is_meant = all(
            share == shares[other] and _agree(values, notation, other) for other in rivals
        ) or (notation is Notation.POINT and _are_thousands(values))
        if is_meant and _changes(values, notation):
            return notation
    return None


_THOUSANDS, _HUNDREDS = re.compile("-?[1-9][0-9]{0,2}(?:,[0-9]{3})+"), re.compile("-?[0-9]{1,3}")


def _are_thousands(values: Iterable[str]) -> bool:
    """Return whether numbers have commas between thousands, and none below a thousand has one."""
    # Decimals would not all have three digits, and some be less than one.
    with_comma = [value for value in values if not _HUNDREDS.fullmatch(value)]
    return len(with_comma) >= _FEWEST_THOUSANDS and all(map(_THOUSANDS.fullmatch, with_comma))


def best_shares(
    values: Collection[str], among: Iterable[Notation], most: float = 1.0
) -> dict[Notation, float]:
    """Return the share of values that each notation reads, of those that read enough.

    General notations are left out where another one reads as many. `most` is the greatest share
    that is asked for.
    """
    shares = {
        notation: share
        for notation in among
        if (share := readable_share(values, notation, min(notation.rules.least, most)))
    }
    return {
        read: share
        for read, share in shares.items()
        if all(share > its or not _is_preferred(other, read) for other, its in shares.items())
    }


def _is_preferred(one: Notation, other: Notation) -> bool:
    general = other.rules.generality
    return one.rules.generality < general and (general > 1 or one.form is other.form)


def common_forms(left: Notation | None, right: Notation | None) -> tuple[ValueForm, ...]:
    """Return the forms in which two columns may be equal.

    A column whose notation has another form is compared as it is written.

    Examples:
        >>> common_forms(Notation.DAY_FIRST, Notation.MONTH_FIRST)
        (<ValueForm.DATES: 'dates'>,)
        >>> common_forms(Notation.POINT, None)
        (<ValueForm.NUMBERS: 'numbers'>,)
        >>> len(common_forms(Notation.SEPARATED, Notation.PADDED))
        2
    """
    return (*dict.fromkeys(notation.form for notation in (left, right) if notation),)


def _agree(values: Iterable[str], one: Notation, other: Notation) -> bool:
    return all(canonical_form(value, one) == canonical_form(value, other) for value in values)


def readable_share(values: Collection[str], notation: Notation, least: float = 0.0) -> float:
    """Return the share of values that are valid in a notation.

    It is 0 if few are in the notation itself, or if the share is below `least`.
    """
    own, any_read = _COMPILED[notation], _ANY[notation]
    most, foreign, unread = len(values) * (1 - least) + _ROUNDING, 0, 0
    # Most notations fail at the first values.
    if not any(map(any_read.match, islice(values, int(most) + 1))):
        return 0.0
    for value in values:
        match = own.match(value)
        if match and not (notation.rules.is_checked and notation.rules.write(match) == value):
            continue
        foreign += 1
        unread += match is not None or not any_read.match(value)
        if unread > most:
            return 0.0
    if foreign >= len(values) - _OWN_SHARE * len(values):
        return 0.0
    return 1 - unread / len(values)


def readings_in(
    form: ValueForm, left: Notation | None, right: Notation | None
) -> tuple[Notation | None, Notation | None]:
    """Return how two columns are read in a form, given their notations.

    A column in no notation of the form may have values in that of the other column, if they are
    certain.

    >>> readings_in(ValueForm.CODES, Notation.SEPARATED, None)[1]
    <Notation.SEPARATED: 'codes with separators'>
    >>> readings_in(ValueForm.NUMBERS, Notation.COMMA, None)[1] is None
    True
    """
    first, second = (each if each and each.form is form else None for each in (left, right))
    return (
        first or (second if second and second.rules.is_certain else None),
        second or (first if first and first.rules.is_certain else None),
    )


def _changes(values: Collection[str], notation: Notation) -> bool:
    """Return whether converting values to a notation's value form yields any new value.

    Truth words count only if there are exactly two values, one true and one false.
    """
    if notation is Notation.TRUTH_WORDS:
        written = {canonical_form(value, notation) for value in values}
        return len(values) == len(written) == TRUTHS and not written <= {*values}
    known = {*values}
    return any(canonical_form(value, notation) not in known for value in values)
