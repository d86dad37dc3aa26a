"""Test which rule is named as the reason why a verified pair is not a join."""

from collections.abc import Sequence

import pytest

from datahub_hyperjoin.joins import CatalogEvidence, Suggestion, Verdict
from datahub_hyperjoin.stages.role_decisions import find_objection
from lakes.deciding import (
    CODES,
    CONFIG,
    DOMAIN,
    NO_FACTS,
    SCORE,
    TOWNS,
    Ends,
    index_of,
    measure,
    pair,
)
from lakes.handmade import Tables, facts_of

LABELS: Tables = {"towns": {"town": CODES[:30], "label": [f"Town {n}" for n in range(30)]}}


def objection(
    tables: Tables,
    ends: Ends,
    *,
    ranked: bool = True,
    verdict: Verdict | None = None,
) -> str:
    facts = facts_of({ends: CatalogEvidence(verdict=verdict)}) if verdict else NO_FACTS
    index = index_of(tables, facts)
    left, right = pair(*ends)
    suggested = [Suggestion(query=left, candidate=right, rank=1, joinability=SCORE)] * ranked
    return find_objection(index, suggested, measure(tables), facts, CONFIG.ranking, (left, right))


def numbered(cells: Sequence[str]) -> list[str]:
    return [str(100 + CODES.index(cell)) for cell in cells]


def test_a_join_has_no_objection() -> None:
    assert objection(TOWNS, DOMAIN) == ""


def test_a_pair_without_reference_and_rank_is_none() -> None:
    assert objection(TOWNS, DOMAIN, ranked=False) == (
        "neither column surely refers to the other, and the ranking does not suggest it"
    )


def test_numbers_without_gaps_are_in_every_counter() -> None:
    tables = {
        "shops": {"town": numbered(TOWNS["shops"]["town"])},
        "trips": {"to": numbered(TOWNS["trips"]["to"])},
    }
    assert objection(tables, DOMAIN) == (
        "its numbers fill their range without gaps, so that they are in every such column, and "
        "neither column surely refers to the other"
    )


@pytest.mark.parametrize(
    ("names", "is_counter"),
    [
        (("list_id", "list_id"), False),
        (("list_id", "listID"), False),
        (("list_id", "song_id"), True),
        (("id", "id"), True),
        (("list", "list"), True),
        (("yearID", "yearID"), True),
    ],
)
def test_identifiers_of_one_name_may_be_numbers_without_gaps(
    names: tuple[str, str], *, is_counter: bool
) -> None:
    # Two tables of lists repeat the numbers of the lists, of which there is no table.
    numbers = [str(100 + n % 40) for n in range(120)]
    tables = {
        name: {column: numbers} for name, column in zip(("songs", "films"), names, strict=True)
    }
    found = objection(tables, (f"films.{names[1]}", f"songs.{names[0]}"))
    assert found.startswith("its numbers fill their range without gaps") is is_counter


@pytest.mark.parametrize(("rows", "is_counter"), [(2000, False), (2040, True)])
def test_numbers_of_one_name_in_very_many_rows_tell_nothing(rows: int, *, is_counter: bool) -> None:
    # Each table of a lake may have the numbers of the 40 tenants.
    numbers = [str(100 + n % 40) for n in range(rows)]
    tables: Tables = {"films": {"tenant_id": numbers}, "songs": {"tenant_id": numbers}}
    found = objection(tables, ("films.tenant_id", "songs.tenant_id"))
    assert found.startswith("its numbers fill their range without gaps") is is_counter


def test_a_column_that_refers_to_a_key_joins_others_through_it() -> None:
    assert objection({**TOWNS, **LABELS}, DOMAIN) == (
        "shops.town refers to towns.town, and joins other columns of its folder through that key"
    )


def test_a_rejected_pair_says_so() -> None:
    assert objection(TOWNS, DOMAIN, verdict=Verdict.REJECTED) == "people rejected it"


@pytest.mark.parametrize("ends", [DOMAIN, DOMAIN[::-1]])
def test_both_orders_of_a_pair_have_one_objection(ends: Ends) -> None:
    assert "shops.town refers to towns.town" in objection({**TOWNS, **LABELS}, ends)


SURVEYS: Tables = {
    "people": {
        "name": CODES[:40],
        "smokes": ["yes", "no"] * 20,
        "size": ["s", "m", "l", "xl"] * 10,
    },
    "guests": {
        "code": CODES[5:45],
        "pays": ["no", "yes"] * 20,
        "shirt": ["xl", "s", "l", "m"] * 10,
    },
}


def test_two_values_in_many_rows_are_a_flag() -> None:
    assert objection(SURVEYS, ("guests.pays", "people.smokes")) == (
        "its values match in 50% of all pairs of rows, and are only 2"
    )


@pytest.mark.parametrize("table", ["people", "guests"])
def test_values_in_many_rows_of_several_columns_tell_little(table: str) -> None:
    sizes = ("guests.shirt", "people.size")
    assert objection(SURVEYS, sizes) == ""
    third = {table: {**SURVEYS[table], "trousers": ["m", "s", "xl", "l", "xs"] * 8}}
    assert objection({**SURVEYS, **third}, sizes) == (
        f"its values match in 25% of all pairs of rows, and {table}.trousers holds them as well"
    )


@pytest.mark.parametrize("missing", [None, *range(20)])
def test_a_column_without_one_of_many_values_does_not_hold_them(missing: int | None) -> None:
    sizes = [*["s"] * 20, *(f"size {number}" for number in range(20))]
    trousers = ["m" if size == f"size {missing}" else size for size in sizes]
    surveys = {
        "people": {**SURVEYS["people"], "size": sizes, "trousers": trousers},
        "guests": {**SURVEYS["guests"], "shirt": sizes},
    }
    found = objection(surveys, ("guests.shirt", "people.size"))
    assert found.endswith("people.trousers holds them as well") == (missing is None)


def test_rare_values_of_several_columns_share_a_domain() -> None:
    shops = {**TOWNS["shops"], "from": TOWNS["shops"]["town"]}
    assert objection({**TOWNS, "shops": shops}, DOMAIN) == ""
