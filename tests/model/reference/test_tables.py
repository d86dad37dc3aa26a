"""Whether the kinds hold what everyone knows of them."""

import pytest

from datahub_hyperjoin.model.reference.code_lists import kinds
from datahub_hyperjoin.model.reference.kinds import Kind


def thing(kind: Kind, name: str) -> int:
    return next(called.thing for called in kind.called if called.name == name)


def form(kind: Kind, name: str) -> int:
    return next(called.form for called in kind.called if called.name == name)


@pytest.fixture(scope="module")
def known() -> dict[str, Kind]:
    return {kind.name: kind for kind in kinds()}


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
def test_a_thing_has_all_its_names(known: dict[str, Kind], kind: str, names: list[str]) -> None:
    assert len({thing(known[kind], name) for name in names}) == 1


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
    known: dict[str, Kind], kind: str, names: list[str]
) -> None:
    assert len({form(known[kind], name) for name in names}) == len(names)


def test_things_and_forms_are_numbered_without_gaps(known: dict[str, Kind]) -> None:
    for kind in known.values():
        assert {called.thing for called in kind.called} == set(range(kind.things)), kind.name
        assert {called.form for called in kind.called} <= set(range(kind.forms)), kind.name
        assert all(called.name.strip() for called in kind.called), kind.name


def test_kinds_are_as_large_as_their_standards_say(known: dict[str, Kind]) -> None:
    assert known["countries"].things == 249
    assert known["chemical elements"].things >= 118
    assert (known["months"].things, known["days"].things) == (12, 7)
    assert known["airports"].things > 7000


def test_short_codes_of_subdivisions_are_of_two_letters_at_least(known: dict[str, Kind]) -> None:
    names = {called.name for kind in known.values() for called in kind.called if called.form == 1}
    assert "AR-B" in {called.name for called in known["subdivisions of AR"].called}
    assert "B" not in {called.name for called in known["subdivisions of AR"].called}
    assert "CA" in names
