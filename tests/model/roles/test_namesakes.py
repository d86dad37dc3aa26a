"""Test how a known reference affects other columns of the same name."""

import math
from collections.abc import Mapping
from dataclasses import replace

import pytest

from datahub_hyperjoin.joins import CatalogEvidence, KnownNamesakes, Verdict
from datahub_hyperjoin.model.roles.pair_scores import DEFAULT_WEIGHTS
from datahub_hyperjoin.model.roles.references import Relations
from lakes.handmade import Tables, draw, facts_of, lake_of, numbers
from lakes.referring import name, references_of

UNTAUGHT = replace(DEFAULT_WEIGHTS, namesake=0.0)
DECLARED = CatalogEvidence(declared="fk")
ACCEPTED, REJECTED = (CatalogEvidence(verdict=verdict) for verdict in Verdict)
Facts = Mapping[tuple[str, str], CatalogEvidence]


def lake_with(column: str = "maker", bills: str = "bills", trips: str = "trips") -> Tables:
    """Return tables whose `column` may refer to either of two keys that hold the same numbers."""
    keys: Tables = {table: {"id": numbers(1, 61)} for table in ("people", "robots")}
    rows = {
        table: {
            "code": numbers(1000 * place, 1000 * place + 200),
            column: draw(numbers(1, 61), 200, place),
        }
        for place, table in enumerate(("orders", bills, trips), start=7)
    }
    return {**keys, **rows}


def gain(tables: Tables, known: Facts, pair: tuple[str, str]) -> float:
    """Return the factor by which the known references raise the odds of `pair`.

    The odds compare `pair` with the reference from the same column to the other key.
    """
    lake = lake_of(tables)
    rival = pair[0], "people.id" if pair[1] == "robots.id" else "robots.id"

    def odds(*, taught: bool) -> float:
        weights = DEFAULT_WEIGHTS if taught else UNTAUGHT
        found = name(lake, references_of(lake, facts_of(known), weights=weights))
        return found[pair] / found[rival]

    return odds(taught=True) / odds(taught=False)


def test_a_namesake_probably_refers_to_the_known_key() -> None:
    known, pair = {("orders.maker", "robots.id"): DECLARED}, ("bills.maker", "robots.id")
    assert gain(lake_with(), known, pair) == pytest.approx(math.exp(3.0))


@pytest.mark.parametrize(
    "said", [CatalogEvidence(related="r"), CatalogEvidence(verdict=Verdict.ACCEPTED)]
)
def test_people_teach_like_declarations(said: CatalogEvidence) -> None:
    known = {("orders.maker", "robots.id"): said}
    assert gain(lake_with(), known, ("bills.maker", "robots.id")) > 20


def reference(
    tables: Tables, known: Facts, pair: tuple[str, str], *, decided: bool = True
) -> float:
    """Return the probability of a reference, with decisions or as if there were none."""
    lake = lake_of(tables)
    found = references_of(lake, facts_of(known))
    return name(lake, found if decided else found.without_decisions())[pair]


def test_a_rejected_reference_lowers_those_between_columns_of_its_names() -> None:
    asked, tables = ("bills.maker", "robots.id"), {**lake_with(), "robots": {"id": numbers(1, 61)}}
    tables.pop("people")
    before = reference(tables, {}, asked)
    one, two = (
        {(f"{t}.maker", "robots.id"): REJECTED for t in some}
        for some in (["orders"], ["orders", "trips"])
    )
    assert before > 0.5 > reference(tables, one, asked) > reference(tables, two, asked)
    # An accepted one speaks for the others.
    mixed = {**one, ("trips.maker", "robots.id"): ACCEPTED}
    assert reference(tables, mixed, asked) > before


def test_a_rejected_pair_that_is_no_probable_reference_lowers_none() -> None:
    asked, known = ("bills.maker", "robots.id"), {("orders.code", "robots.id"): REJECTED}
    tables = lake_with()
    assert reference(tables, known, asked) == reference(tables, {}, asked)


@pytest.mark.parametrize("said", ["accepted", "rejected"])
def test_what_nobody_decided_about_keeps_its_probability(said: str) -> None:
    tables: Tables = {
        **lake_with(),
        "ports": {"port": numbers(501, 561)},
        "calls": {"code": numbers(8000, 8200), "port": draw(numbers(501, 561), 200)},
    }
    known = {("orders.maker", "robots.id"): CatalogEvidence(verdict=Verdict(said))}
    lake = lake_of(tables)
    plain, found = (references_of(lake, facts_of(facts)) for facts in ({}, known))
    assert plain.without_decisions() is plain
    assert name(lake, found.without_decisions()) == name(lake, plain)
    for ends, likely in name(lake, plain).items():
        if "calls" in ends[0]:
            assert name(lake, found)[ends] == likely


def test_namesakes_that_disagree_cancel_out() -> None:
    known = {("orders.maker", "robots.id"): DECLARED, ("trips.maker", "people.id"): DECLARED}
    assert gain(lake_with(), known, ("bills.maker", "robots.id")) == pytest.approx(1)


@pytest.mark.parametrize("bills", ["bills2", "elsewhere/bills"])
def test_each_copy_of_a_database_refers_to_its_own_keys(bills: str) -> None:
    known = {("orders.maker", "robots.id"): DECLARED}
    tables = lake_with(bills=bills)
    assert gain(tables, known, (f"{bills}.maker", "robots.id")) == pytest.approx(1)
    assert gain(tables, known, ("trips.maker", "robots.id")) > 20


def test_names_that_all_tables_share_have_no_namesakes() -> None:
    known = {("orders.fk", "robots.id"): DECLARED}
    assert gain(lake_with("fk"), known, ("bills.fk", "robots.id")) == pytest.approx(1)


def test_without_known_references_nothing_changes() -> None:
    lake = lake_of(lake_with())
    plain, untaught = (references_of(lake, weights=w) for w in (DEFAULT_WEIGHTS, UNTAUGHT))
    assert plain.probability.tolist() == untaught.probability.tolist()


def test_a_self_reference_teaches_nothing() -> None:
    tables = lake_with()
    own = {**tables["robots"], "maker": draw(numbers(1, 31), 60)}
    known = {("robots.maker", "robots.id"): DECLARED}
    assert gain({**tables, "robots": own}, known, ("bills.maker", "robots.id")) == pytest.approx(1)


def test_a_method_that_reads_no_names_has_no_namesakes() -> None:
    lake, known = lake_of(lake_with()), {("orders.maker", "robots.id"): DECLARED}
    weights = DEFAULT_WEIGHTS.without_names()
    without = replace(weights, namesake=0.0)
    found = [references_of(lake, facts_of(known), weights=w) for w in (weights, without)]
    assert found[0].probability.tolist() == found[1].probability.tolist()


def namesakes(tables: Tables, known: Facts, column: str) -> tuple[str, KnownNamesakes | None]:
    """Return the key that a column refers to, and what is known of columns with the same name."""
    lake = lake_of(tables)
    relations = Relations.from_references(references_of(lake, facts_of(known)), len(lake))
    number = [str(each) for each in lake.ids].index(column)
    return str(lake.ids[relations.key[number]]), relations.namesakes_of(number)


def test_namesakes_are_counted_with_the_key_that_they_refer_to() -> None:
    known = {
        ("orders.maker", "robots.id"): DECLARED,
        ("trips.maker", "people.id"): DECLARED,
        ("bills.maker", "robots.id"): DECLARED,
    }
    other = {"others": {"code": numbers(7, 207), "maker": draw(numbers(1, 61), 200, 3)}}
    key, counted = namesakes({**lake_with(), **other}, known, "others.maker")
    assert (key, counted) == ("robots.id", KnownNamesakes(known=3, agreeing=2))


def test_columns_without_known_namesakes_have_none() -> None:
    known = {("orders.maker", "robots.id"): DECLARED}
    tables = lake_with(bills="elsewhere/bills")
    assert namesakes(tables, known, "trips.maker")[1] == KnownNamesakes(known=1, agreeing=1)
    assert namesakes(tables, known, "elsewhere/bills.maker")[1] is None
    assert namesakes(tables, {}, "trips.maker")[1] is None


def test_what_a_language_model_chose_counts_without_decisions_too() -> None:
    lake = lake_of(lake_with())
    known = facts_of({("orders.maker", "robots.id"): ACCEPTED})
    ids = [str(column) for column in lake.ids]
    choices = {ids.index("bills.maker"): ids.index("people.id")}
    found, plain = (references_of(lake, facts) for facts in (known, facts_of({})))
    undecided = found.with_choices(choices, len(lake)).without_decisions()
    expected = plain.with_choices(choices, len(lake))
    assert name(lake, undecided) == pytest.approx(name(lake, expected))
