"""Recognise columns of personal values, and replace the columns' samples with hashes.

A value is personal by its form (an e-mail address, a phone number) or by its check digits (an IBAN,
a national identity number). A chance match of check digits is one in ten or rarer, so most of a
sample must match.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from importlib import import_module
from itertools import starmap

import numpy as np
from stdnum import iban

from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.counting.placeholders import hide
from datahub_hyperjoin.spark.counting.texts import is_usual_marker
from datahub_hyperjoin.tables import NUMBERS, ColumnProfile, DataType, Table, TableProfile

_EMAIL = re.compile(r"[^\s@<>,;:\"]+@[^\s@<>,;:\"]+\.[^\W\d_]{2,}")
_PHONE = re.compile(
    r"\+[1-9]\d{0,2}[ ./()-]{0,2}\d[\d ./()-]{5,16}\d"  # anywhere
    r"|(1[ .-])?\(?[2-9]\d\d\)?[ .-]{1,2}[2-9]\d\d[ .-]\d{4}"  # in North America
)
_PHONE_NAME = re.compile(r"(?<![a-z])((tele|cell)?phone|fax|mobile)(?![a-z])", re.IGNORECASE)
_LOCAL_PHONE = re.compile(r"(\D{0,2}\d){6,15}\D?")
_IBAN = re.compile(r"[A-Z]{2}\d\d ?[A-Z0-9 ]{11,34}", re.IGNORECASE)
_COUNTRY = re.compile(r"[\s.-]*[A-Z][\s.-]*[A-Z]", re.IGNORECASE)
"""The beginning of all IBANs in ASCII."""
_NUMBER = re.compile(r"(?=(\D*\d){5})[A-Z0-9][A-Z0-9 ./+-]{7,20}", re.IGNORECASE)
"""The form that all national identity numbers have in common."""
_CHECKED_NUMBERS = {
    8: "ie.pps cl.rut",
    9: "ca.sin cl.rut es.dni es.nie ie.pps il.idnr nl.bsn",
    10: "at.vnr bg.egn ec.ci fi.hetu gb.nhs is_.kennitala se.personnummer",
    11: "be.nn br.cpf de.idnr ee.ik fi.hetu gr.amka hr.oib lt.asmens no.fodselsnummer pl.pesel "
    "tr.tckimlik",
    12: "in_.aadhaar se.personnummer",
    13: "ch.ssn kr.rrn ro.cnp si.emso th.pin za.idnr",
    15: "fr.nir",
    16: "it.codicefiscale",
    18: "cn.ric mx.curp",
}
"""For each length in letters and digits, the `stdnum` modules that check such personal numbers."""
_LETTER = re.compile(r"[^\W\d_]")
_WITH_LETTERS = {"es.dni", "es.nie", "ie.pps", "it.codicefiscale", "mx.curp"}
"""Modules of numbers that always have a letter."""
_SEPARATED_NUMBERS = (
    ("us.ssn", re.compile(r"\d{3}-\d{2}-\d{4}")),
    ("us.itin", re.compile(r"\d{3}-\d{2}-\d{4}")),
    ("cz.rc", re.compile(r"\d{6}/\d{3,4}")),
    ("dk.cpr", re.compile(r"\d{6}-\d{4}")),
    ("lv.pvn", re.compile(r"\d{6}-\d{5}")),
)
"""Personal numbers without a check digit, with their forms: only the separators distinguish these
numbers from others."""
_FIRST = 5
"""Number of values that are checked before all others; most columns are not personal."""
_CLEAR_SHARE = 0.1
"""Minimum share of unmistakable values, such as e-mail addresses, in a personal column's sample."""
# A chance match of check digits is one in ten, so a few values alone decide nothing.
_FIRST_SHARE, _CHECKED_SHARE = 0.6, 0.8
_LEAST_CHECKED = 3
_NEVER_PERSONAL = {DataType.DATE, DataType.TIMESTAMP, DataType.BOOLEAN}
"""Types whose values are not personal: a date has as many digits as a phone number."""
_Check = Callable[[str], object]


def hide_personal_values(
    column: ColumnProfile, table: Table, config: ProfileConfig
) -> ColumnProfile:
    """Replace a column's sample with hashes if the values are personal.

    Equal values have equal hashes in all columns, so that personal columns still join. These are
    the hashes that the sketch holds anyway.
    """
    reason = column.personal or _reason(column, table, config)
    if not reason or column.personal:
        return column
    hashes = np.frombuffer(column.sketch, "<u8")[: len(column.sample)].tolist()
    # The model compares trigrams of texts: in base 36, different hashes share nearly none.
    base = 10 if column.type in NUMBERS else 36
    sample = tuple(np.base_repr(hash_, base).lower() for hash_ in hashes)
    placeholders = tuple(
        text if is_usual_marker(text) else hide(text) for text in column.placeholders
    )
    return replace(column, sample=sample, personal=reason, placeholders=placeholders)


def hide_personal_columns(profile: TableProfile, config: ProfileConfig) -> TableProfile:
    """Hash the samples of personal columns in a stored profile.

    Only those that the catalog names are not hidden already: a profile is not used if the settings
    differ.
    """
    if not profile.table.personal:
        return profile
    columns = (hide_personal_values(column, profile.table, config) for column in profile.columns)
    return replace(profile, columns=tuple(columns))


def recognise(values: Sequence[str], name: str = "") -> str:
    """Return which kind of personal values a sample contains, such as phone numbers.

    Args:
        name: The column's name, which may say that plain digits are phone numbers.

    Returns:
        The kind in the plural; empty if the values are not recognised as personal.

    Examples:
        >>> recognise(["ann@example.org", "bob@example.org"]), recognise(["+41 44 668 18 00"])
        ('e-mail addresses', 'phone numbers')
        >>> recognise(["0446681800"]), recognise(["0446681800"], "fax")
        ('', 'phone numbers')
    """
    first, together = values[:_FIRST], "\n".join(values)
    # Looking for a character rules out most columns before a pattern is tried on every value.
    if "@" in together and _are(_EMAIL.search, values, _CLEAR_SHARE):
        return "e-mail addresses"
    if ("+" in together or any(map(_PHONE.fullmatch, first))) and (
        _are(_PHONE.fullmatch, values, _CLEAR_SHARE)
    ):
        return "phone numbers"
    # Plain digits are phone numbers only in a column that is named so.
    if _PHONE_NAME.search(name) and _are(_LOCAL_PHONE.fullmatch, values, _CHECKED_SHARE):
        return "phone numbers"
    if any(map(_IBAN.fullmatch, first)) and _are(_is_iban, values, _CLEAR_SHARE):
        return "IBANs"
    # Those of the first values that have the form of such numbers fail for most samples.
    numbers = [value for value in first if _NUMBER.fullmatch(value)]
    is_identity = len(numbers) >= _LEAST_CHECKED and any(
        _are(check, numbers, _FIRST_SHARE) and _are(check, values, _CHECKED_SHARE)
        for check in _checks(sum(map(str.isalnum, numbers[0])))
    )
    return "national identity numbers" if is_identity else ""


def _reason(column: ColumnProfile, table: Table, config: ProfileConfig) -> str:
    # The catalog may spell a column in another case.
    if column.id.path.casefold() in map(str.casefold, table.personal):
        return "marked in the catalog"
    if any(re.search(one, str(column.id), re.IGNORECASE) for one in config.personal_columns):
        return "named by `profile.personal_columns`"
    if not config.detect_personal or column.type in _NEVER_PERSONAL:
        return ""
    return recognise(column.sample, column.id.path)


def _are(check: _Check, values: Sequence[str], share: float) -> bool:
    """Return whether at least this share of the values passes a check.

    The checks are slow, so they end with the value that decides.
    """
    passing = len(values)
    for value in values:
        if not check(value):
            passing -= 1
            if passing / len(values) < share:
                return False
    return bool(values)


def _is_iban(value: str) -> bool:
    # The check takes a hundred times as long as this look at the country.
    return (not value.isascii() or bool(_COUNTRY.match(value))) and iban.is_valid(value)


@cache
def _checks(length: int) -> list[_Check]:
    """Return the functions that validate identity numbers of so many letters and digits.

    Numbers with separators may have any length. Modules are imported when they are first needed.
    """
    modules = _CHECKED_NUMBERS.get(length, "").split()
    return [*starmap(_separated_check, _SEPARATED_NUMBERS), *map(_check, modules)]


def _separated_check(name: str, form: re.Pattern[str]) -> _Check:
    check = _check(name)
    return lambda value: form.fullmatch(value) and check(value)


def _check(name: str) -> _Check:
    check: Callable[[str], bool] = import_module(f"stdnum.{name}").is_valid
    if name in _WITH_LETTERS:
        return lambda value: _LETTER.search(value) and check(value)
    return check
