"""Test that the entity kinds contain well-known codes and names."""

import pytest

from datahub_hyperjoin.model.reference.code_lists import load_kinds
from datahub_hyperjoin.model.reference.entities import EntityKind


def entity(kind: EntityKind, name: str) -> int:
    return next(entry.entity for entry in kind.names if entry.name == name)


def form(kind: EntityKind, name: str) -> int:
    return next(entry.form for entry in kind.names if entry.name == name)


@pytest.fixture(scope="module")
def known() -> dict[str, EntityKind]:
    return {kind.name: kind for kind in load_kinds()}


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        ("countries", ["DE", "DEU", "276", "Germany", "Federal Republic of Germany", "Allemagne"]),
        ("countries", ["KR", "KOR", "Korea, Republic of", "South Korea", "Südkorea"]),
        ("countries", ["CI", "CIV", "Côte d'Ivoire", "Cote d'Ivoire", "Costa d'Avorio"]),
        ("countries", ["RU", "RUS", "Russian Federation", "Россия"]),
        ("subdivisions of US", ["US-CA", "CA", "California"]),
        ("subdivisions of DE", ["DE-BY", "BY", "Bayern"]),
        ("currencies", ["EUR", "Euro", "евро"]),
        ("languages", ["de", "deu", "ger", "German", "Deutsch"]),
        ("chemical elements", ["W", "tungsten"]),
        ("airports", ["JFK", "KJFK", "John F Kennedy International Airport"]),
        ("months", ["January", "Jan", "janvier", "enero"]),
        ("days", ["Monday", "Mon", "lundi"]),
    ],
)
def test_all_names_of_an_entity_are_listed(
    known: dict[str, EntityKind], kind: str, names: list[str]
) -> None:
    assert len({entity(known[kind], name) for name in names}) == 1


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        ("countries", ["DE", "DEU", "276", "Germany", "Allemagne"]),
        ("subdivisions of US", ["US-CA", "CA", "California"]),
        ("chemical elements", ["W", "tungsten"]),
        ("airports", ["JFK", "KJFK"]),
    ],
)
def test_each_code_is_a_form_of_its_own(
    known: dict[str, EntityKind], kind: str, names: list[str]
) -> None:
    assert len({form(known[kind], name) for name in names}) == len(names)


def test_entities_and_forms_are_numbered_without_gaps(known: dict[str, EntityKind]) -> None:
    for kind in known.values():
        assert {entry.entity for entry in kind.names} == set(range(kind.entities)), kind.name
        assert {entry.form for entry in kind.names} <= set(range(kind.forms)), kind.name
        assert all(entry.name.strip() for entry in kind.names), kind.name


def test_kinds_are_as_large_as_their_standards_say(known: dict[str, EntityKind]) -> None:
    assert known["countries"].entities == 249
    assert known["chemical elements"].entities >= 118
    assert (known["months"].entities, known["days"].entities) == (12, 7)
    assert known["airports"].entities > 7000


@pytest.mark.parametrize("kind", ["days", "months"])
def test_single_letters_name_no_day_or_month(known: dict[str, EntityKind], kind: str) -> None:
    letters = {entry.name for entry in known[kind].names if len(entry.name.strip(".")) == 1}
    assert not {letter for letter in letters if letter.isascii()}


def test_short_codes_of_subdivisions_are_of_two_letters_at_least(
    known: dict[str, EntityKind],
) -> None:
    names = {entry.name for kind in known.values() for entry in kind.names if entry.form == 1}
    assert "AR-B" in {entry.name for entry in known["subdivisions of AR"].names}
    assert "B" not in {entry.name for entry in known["subdivisions of AR"].names}
    assert "CA" in names
