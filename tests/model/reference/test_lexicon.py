"""Test that columns of standard codes and names are recognised, and no others."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest

from datahub_hyperjoin.model.reference.entities import EntityKind, EntityName, Lexicon, load_lexicon
from datahub_hyperjoin.normal_form import hash_values, normal_forms
from datahub_hyperjoin.tables import ValueHash

ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
PLANETS = ("Mercury", "Venus", "Earth", "Mars", "Jupiter", "Saturn", "Uranus", "Neptune")
GODS = ("Mercury", "Venus", "Mars", "Jupiter", "Saturn", "Minerva", "Diana")


def named(name: str, *forms: Sequence[str]) -> EntityKind:
    names = [
        EntityName(at, number, one)
        for number, form in enumerate(forms)
        for at, one in enumerate(form)
    ]
    return EntityKind(name, tuple(names), max(map(len, forms)), len(forms))


CODES = tuple(name[:2].upper() for name in PLANETS)
LEXICON = Lexicon.from_kinds((named("planets", CODES, PLANETS), named("gods", GODS)))


def sketch(values: Sequence[str]) -> np.ndarray:
    return np.sort(hash_values(normal_forms(pa.array(values, pa.string()))))


def test_codes_and_names_of_one_thing_are_the_same_thing() -> None:
    codes, names = LEXICON.recognise(sketch(CODES[:5])), LEXICON.recognise(sketch(PLANETS[2:7]))
    assert codes is not None
    assert names is not None
    assert codes.entities.tolist() == [0, 1, 2, 3, 4]
    assert names.entities.tolist() == [2, 3, 4, 5, 6]
    assert (codes.form, names.form) == (0, 1)
    assert (codes.size, names.size) == (5, 5)


def test_case_and_blanks_make_no_difference() -> None:
    found = LEXICON.recognise(sketch(["  MARS", "venus ", "EARTH"]))
    assert found is not None
    assert found.entities.tolist() == [1, 2, 3]


def test_two_names_of_one_thing_count_once() -> None:
    found = LEXICON.recognise(sketch(["EA", "Earth", "Jupiter", "Neptune"]))
    assert found is not None
    assert (found.entities.tolist(), found.size) == ([2, 4, 7], 3)


def test_the_kind_that_explains_most_is_taken() -> None:
    found = LEXICON.recognise(sketch(["Minerva", "Venus", "Mars", "Jupiter"]))
    assert found is not None
    assert found.form == 2
    assert (found.entities >= len(PLANETS)).all()


def test_kinds_that_explain_as_much_all_count() -> None:
    found = LEXICON.recognise(sketch(["Venus", "Mars", "Jupiter"]))
    assert found is not None
    assert len(found.entities) == 6


def test_some_values_may_be_unknown() -> None:
    found = LEXICON.recognise(sketch([*PLANETS[:7], "Pluto", "Total", "n/a"]))
    assert found is not None
    assert (len(found.entities), found.size) == (7, 10)


@pytest.mark.parametrize(
    "values",
    [
        [],
        ["Earth", "Neptune"],  # too few
        [*PLANETS[:6], "Pluto", "Total", "n/a"],  # too many others
        ["Pluto", "Ceres", "Eris"],
        [f"value {number}" for number in range(500)],
    ],
)
def test_other_columns_are_not_recognised(values: list[str]) -> None:
    assert LEXICON.recognise(sketch(values)) is None


def test_codes_of_half_of_all_words_need_more_of_them() -> None:
    half = [f"{first}{second}" for first in "ABCDEFGHIJKLM" for second in ALPHABET]
    dense = Lexicon.from_kinds((named("things", half),))
    assert dense.chance.tolist() == [0.5]
    assert LEXICON.chance.tolist() == [pytest.approx(len(CODES) / 26**2, abs=1e-6), 0, 0]
    found = dense.recognise(sketch([*half[:9], "ZZ"]))
    assert found is not None
    assert len(found.entities) == 9
    assert dense.recognise(sketch([*half[:8], "YY", "ZZ"])) is None


def test_few_short_codes_are_chance() -> None:
    assert load_lexicon().recognise(sketch(["Y", "N", "NA"])) is None
    found = load_lexicon().recognise(sketch(["Y", "N", "NA", "Fe", "Cl"]))
    assert found is not None
    assert load_lexicon().kinds[load_lexicon().kind_of[found.form]] == "chemical elements"


def test_the_chance_of_codes_is_their_share_of_all_that_could_be_written() -> None:
    mixed, digits, others = ("A", "B", "AB"), ("01", "02", "03"), ("A1", "A2")
    found = Lexicon.from_kinds((named("things", mixed, digits, others),)).chance
    assert found.tolist() == [pytest.approx(3 / (26 + 26**2), abs=1e-6), 3 / 100, 0]


def test_a_name_of_two_things_is_the_first_ones() -> None:
    lexicon_ = Lexicon.from_kinds(
        (named("towns", ("Springfield", "Shelbyville", "Springfield", "Ogdenville")),)
    )
    found = lexicon_.recognise(sketch(["Springfield", "Shelbyville", "Ogdenville"]))
    assert found is not None
    assert found.entities.tolist() == [0, 1, 3]


def test_the_real_names_tell_states_from_countries() -> None:
    countries = load_lexicon().recognise(sketch(["AL", "CA", "DE", "FR", "JP", "ZA"]))
    states = load_lexicon().recognise(sketch(["AL", "CA", "DE", "NY", "TX", "WY"]))
    germans = load_lexicon().recognise(
        sketch(["Albanien", "Kanada", "Deutschland", "Frankreich", "Japan"])
    )
    assert countries is not None
    assert states is not None
    assert germans is not None
    assert not np.intersect1d(countries.entities, states.entities).size
    assert len(np.intersect1d(countries.entities, germans.entities)) == 5


def test_codes_and_names_are_synonyms_within_their_kind() -> None:
    def meaning(kind: str, *values: str) -> list[int]:
        hashes = hash_values(normal_forms(pa.array(values)))
        found = LEXICON.synonyms(kind).translate(hashes)
        return [one if one != own else 0 for one, own in zip(found.tolist(), hashes, strict=True)]

    code, name, other, god = meaning("planets", "VE", "venus", "Mars", "Diana")
    assert code == name != other
    assert 0 not in (name, other)
    assert god == 0
    assert meaning("gods", "VE", "Diana")[0] == 0
    assert meaning("gods", "Venus") != [name]


def test_entities_are_recognised_under_each_hash() -> None:
    lands = normal_forms(pa.array(["AL", "CA", "DE", "FR", "JP", "ZA"]))
    by_md5 = load_lexicon(ValueHash.MD5)
    found = by_md5.recognise(np.sort(hash_values(lands, ValueHash.MD5)))
    expected = load_lexicon().recognise(np.sort(hash_values(lands)))
    assert found
    assert expected
    assert found.entities.tolist() == expected.entities.tolist()
    assert (found.form, found.size) == (expected.form, expected.size)
    assert by_md5.recognise(np.sort(hash_values(lands))) is None
