"""Write values that a pattern of a notation has read in their canonical form."""

import re
from datetime import datetime, timezone
from decimal import Decimal

from datahub_hyperjoin.form_sql import NUMBER_OF_MONTH

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
