"""Load lists of standard codes and names, such as country and airport codes.

The codes are those of ISO 3166, 4217 and 639, IATA, ICAO, the FAA and IUPAC. The names of months
and days, and names in other languages, come from Unicode's CLDR.
"""

from collections.abc import Iterable, Iterator
from functools import cache
from itertools import groupby
from unicodedata import normalize

import airportsdata
import periodictable
import pycountry
from babel import Locale
from babel.localedata import locale_identifiers

from datahub_hyperjoin.model.reference.entities import EntityKind, EntityName, spellings

_Source = Iterable[tuple[str, str | None]]
"""The identifier of each entity within its kind, and its name in one form if it has one."""


@cache
def load_kinds() -> tuple[EntityKind, ...]:
    """Load all entity kinds."""
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


def _kind(name: str, *forms: _Source) -> EntityKind:
    numbers: dict[str, int] = {}
    names = [
        EntityName(numbers.setdefault(identifier, len(numbers)), form, spelling)
        for form, source in enumerate(forms)
        for identifier, written in source
        if written
        for spelling in spellings(written)
    ]
    return EntityKind(name, tuple(dict.fromkeys(names)), len(numbers), len(forms))


def _countries() -> EntityKind:
    # CLDR identifies territories by alpha-2 codes, so these identify the countries in all forms.
    countries = list(pycountry.countries)
    return _kind(
        "countries",
        *(
            [(country.alpha_2, getattr(country, code)) for country in countries]
            for code in ("alpha_2", "alpha_3", "numeric")
        ),
        [
            (country.alpha_2, getattr(country, name, None))
            for country in countries
            for name in ("name", "common_name", "official_name")
        ],
        _in_all_languages("territories", {country.alpha_2 for country in countries}),
    )


def _subdivisions() -> Iterator[EntityKind]:
    """For each country, yield its subdivisions, such as states."""
    # Short codes that are numbers or single letters match too many other columns.
    subdivisions = sorted(pycountry.subdivisions, key=lambda entry: str(entry.code))
    for country, group in groupby(subdivisions, key=lambda entry: str(entry.country_code)):
        names = [(str(entry.code), str(entry.name)) for entry in group]
        short = [(code, code.removeprefix(f"{country}-")) for code, _ in names]
        yield _kind(
            f"subdivisions of {country}",
            [(code, code) for code, _ in names],
            [(code, end) for code, end in short if end.isalpha() and len(end) > 1],
            names,
        )


def _currencies() -> EntityKind:
    names = [(currency.alpha_3, currency.name) for currency in pycountry.currencies]
    return _kind(
        "currencies",
        [(code, code) for code, _ in names],
        names,
        _in_all_languages("currencies", {code for code, _ in names}),
    )


def _languages() -> EntityKind:
    """Load the languages that have a two-letter code."""
    # Nearly half of all three-letter words are the code of some language, so the codes of the
    # others would match by chance.
    languages = [entry for entry in pycountry.languages if hasattr(entry, "alpha_2")]
    return _kind(
        "languages",
        *(
            [(language.alpha_2, getattr(language, code, None)) for language in languages]
            for code in ("alpha_2", "alpha_3", "bibliographic")
        ),
        [(language.alpha_2, language.name) for language in languages],
        _in_all_languages("languages", {language.alpha_2 for language in languages}),
    )


def _elements() -> EntityKind:
    # The package also lists the neutron, as the element with number 0.
    elements = [element for element in periodictable.elements if element.number]
    return _kind(
        "chemical elements",
        [(element.symbol, element.symbol) for element in elements],
        [(element.symbol, element.name) for element in elements],
    )


def _airports() -> EntityKind:
    """Load the airports that have an IATA code."""
    # In the United States, an FAA code suffices.
    airports = [entry for codes in ("IATA", "LID") for entry in airportsdata.load(codes).values()]
    # Many tables leave out the word "Airport", so each name counts with and without it.
    names = [(airport["icao"], airport["name"]) for airport in airports]
    return _kind(
        "airports",
        *(
            [(airport["icao"], airport[code]) for airport in airports]
            for code in ("iata", "lid", "icao")
        ),
        names + [(code, name.removesuffix(" Airport")) for code, name in names],
    )


def _calendar(table: str) -> EntityKind:
    """Load the full and abbreviated names of months or weekdays in all languages."""
    # Single Latin letters, by which Estonian abbreviates its weekdays, match too many columns.
    return _kind(
        table,
        (
            (str(number), name)
            for locale in _locales()
            for context in getattr(locale, table).values()
            for width in ("wide", "abbreviated")
            for number, name in context.get(width, {}).items()
            if len(name.rstrip(".")) > 1 or not normalize("NFD", name)[0].isascii()
        ),
    )


def _in_all_languages(table: str, codes: set[str]) -> Iterator[tuple[str, str]]:
    for locale in _locales():
        names = getattr(locale, table)
        yield from ((code, str(name)) for code, name in names.items() if code in codes)


@cache
def _locales() -> tuple[Locale, ...]:
    """Return the locale of each language, English first."""
    # Regional locales hardly differ from their language's.
    others = sorted(name for name in locale_identifiers() if "_" not in name and name != "en")
    return (Locale("en"), *map(Locale.parse, others))
