"""The kinds that well-kept packages list: ISO 3166, 4217 and 639, IATA, IUPAC and the calendar.

Names in other languages are those of Unicode's CLDR.
"""

from collections.abc import Iterable, Iterator
from functools import cache
from itertools import groupby

import airportsdata
import periodictable
import pycountry
from babel import Locale
from babel.localedata import locale_identifiers

from datahub_hyperjoin.model.reference.kinds import Called, Kind, writings

_Source = Iterable[tuple[str, str | None]]
"""What identifies a thing within its kind, and what it is called, if it is."""


@cache
def kinds() -> tuple[Kind, ...]:
    """All kinds, read when first asked for, which takes three seconds.

    Returns:
        Countries, the subdivisions of each country, currencies, languages, chemical elements,
        airports, months and days of the week.
    """
    return (
        _countries(),
        *_subdivisions(),
        _currencies(),
        _languages(),
        _elements(),
        _airports(),
        _calendar("months"),
        _calendar("days"),
    )


def _kind(name: str, *forms: _Source) -> Kind:
    numbers: dict[str, int] = {}
    called = [
        Called(numbers.setdefault(thing, len(numbers)), form, writing)
        for form, source in enumerate(forms)
        for thing, one in source
        if one
        for writing in writings(one)
    ]
    return Kind(name, tuple(dict.fromkeys(called)), len(numbers), len(forms))


def _countries() -> Kind:
    listed = list(pycountry.countries)
    return _kind(
        "countries",
        *(
            [(one.alpha_2, getattr(one, code)) for one in listed]
            for code in ("alpha_2", "alpha_3", "numeric")
        ),
        [
            (one.alpha_2, getattr(one, name, None))
            for one in listed
            for name in ("name", "common_name", "official_name")
        ],
        _in_all_languages("territories", {one.alpha_2 for one in listed}),
    )


def _subdivisions() -> Iterator[Kind]:
    """A kind a country, whose codes are as in `US-CA` and as in `CA`.

    Numbers and single letters of a country's own say too little elsewhere.
    """
    listed = sorted(pycountry.subdivisions, key=lambda one: str(one.code))
    for country, group in groupby(listed, key=lambda one: str(one.country_code)):
        ones = [(str(one.code), str(one.name)) for one in group]
        ends = [(code, code.removeprefix(f"{country}-")) for code, _ in ones]
        yield _kind(
            f"subdivisions of {country}",
            [(code, code) for code, _ in ones],
            [(code, end) for code, end in ends if end.isalpha() and len(end) > 1],
            ones,
        )


def _currencies() -> Kind:
    listed = [(one.alpha_3, one.name) for one in pycountry.currencies]
    return _kind(
        "currencies",
        [(code, code) for code, _ in listed],
        listed,
        _in_all_languages("currencies", {code for code, _ in listed}),
    )


def _languages() -> Kind:
    """Those with a code of two letters: nearly half of all words of three are some language's."""
    listed = [one for one in pycountry.languages if hasattr(one, "alpha_2")]
    return _kind(
        "languages",
        *(
            [(one.alpha_2, getattr(one, code, None)) for one in listed]
            for code in ("alpha_2", "alpha_3", "bibliographic")
        ),
        [(one.alpha_2, one.name) for one in listed],
        _in_all_languages("languages", {one.alpha_2 for one in listed}),
    )


def _elements() -> Kind:
    listed = [one for one in periodictable.elements if one.number]
    return _kind(
        "chemical elements",
        [(one.symbol, one.symbol) for one in listed],
        [(one.symbol, one.name) for one in listed],
    )


def _airports() -> Kind:
    """Those with a code of IATA or, in the United States, of the FAA."""
    listed = [one for codes in ("IATA", "LID") for one in airportsdata.load(codes).values()]
    names = [(one["icao"], one["name"]) for one in listed]
    return _kind(
        "airports",
        *([(one["icao"], one[code]) for one in listed] for code in ("iata", "lid", "icao")),
        names + [(code, name.removesuffix(" Airport")) for code, name in names],
    )


def _calendar(table: str) -> Kind:
    """Names of months or days, whole and short, in all languages."""
    return _kind(
        table,
        (
            (str(number), name)
            for locale in _locales()
            for context in getattr(locale, table).values()
            for width in ("wide", "abbreviated")
            for number, name in context.get(width, {}).items()
        ),
    )


def _in_all_languages(table: str, codes: set[str]) -> Iterator[tuple[str, str]]:
    for locale in _locales():
        names = getattr(locale, table)
        yield from ((code, str(name)) for code, name in names.items() if code in codes)


@cache
def _locales() -> tuple[Locale, ...]:
    """One a language, English first; its regions differ in little."""
    others = sorted(name for name in locale_identifiers() if "_" not in name and name != "en")
    return (Locale("en"), *map(Locale.parse, others))
