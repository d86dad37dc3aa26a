"""Test which facts about the catalog's joins the page shows."""

import pytest

from datahub_hyperjoin.graphql.read import DatasetSummary
from datahub_hyperjoin.joins import UNVERIFIED, Cardinality, Join, Role, Statement, Verdict
from datahub_hyperjoin.metadata.urns import dataset_urn
from datahub_hyperjoin.page.contents import Contents
from datahub_hyperjoin.service.pages import list_catalog_contents
from lakes.chains import changed, made
from lakes.shop import column, table

REFERENCE = made(
    urn="urn:1",
    name="a",
    pairs=((column("orders.customer"), column("customers.id")),),
    cardinality=Cardinality.MANY_ONE,
    joinability=0.93,
    band="high",
    role=Role.REFERENCE,
    referenced=column("customers.id"),
    left_fan_out=1.0,
    right_fan_out=2.0,
    left_containment=1.0,
    right_containment=0.5,
)
WRITTEN = made(urn="urn:2", name="b", pairs=REFERENCE.pairs, cardinality=Cardinality.MANY_ONE)


def contents(*joins: Join, sql: str = "") -> Contents:
    statements = {join.urn: Statement(sql=sql, dialect="postgres") for join in joins} if sql else {}
    return list_catalog_contents(joins, summaries={}, statements=statements)


def test_a_join_that_a_person_created_has_no_evidence_but_a_direction() -> None:
    (join,) = contents(WRITTEN).joins
    assert join.score == 1.0
    assert join.left_containment == join.right_containment == -1
    assert join.left_fan_out == join.right_fan_out == join.shared == -1
    assert join.notes == "created by a person"
    assert (join.role, join.direction) == (Role.REFERENCE.place, 1)


@pytest.mark.parametrize(("join", "direction"), [
    (REFERENCE, 1),
    (REFERENCE.reversed, -1),
    (changed(REFERENCE, role=Role.SIBLING, referenced=None), 0),
    (WRITTEN, 1),
    (WRITTEN.reversed, -1),
    (changed(WRITTEN, cardinality=Cardinality.ONE_ONE), 0),
])  # fmt: skip
def test_a_direction_leads_to_the_key(join: Join, direction: int) -> None:
    assert contents(join).joins[0].direction == direction


def test_a_joinability_is_not_rounded_down_by_rounding_twice() -> None:
    # 0.995 would be shown as 0.99, but `hyperjoin joins` shows 1.00.
    assert contents(changed(REFERENCE, joinability=0.9954)).joins[0].score == 0.9954


def test_notes_say_what_numbers_do_not() -> None:
    unverified = changed(REFERENCE, band=UNVERIFIED, declared=True, description="same code")
    assert contents(unverified).joins[0].notes == (
        "declared in the catalog; not verified on data; same code"
    )


def test_sql_comes_from_the_catalog() -> None:
    (statement,) = contents(REFERENCE, sql="SELECT 1").statements
    assert statement == (
        "SELECT 1",
        "DataHub shows it among the Highlighted Queries of both datasets",
    )
    assert contents(REFERENCE).statements == (("", ""),)


def test_sql_of_the_catalog_is_offered_in_other_dialects() -> None:
    found = contents(REFERENCE, sql='SELECT a.* FROM "orders" AS a LIMIT 100').translations
    ran, shape, *names = found.joins[0]
    assert found.dialects[ran][0] == "postgres"
    mysql = [name for name, *_ in found.dialects].index("mysql")
    assert found.shapes[shape][mysql] == "SELECT\n  a.*\nFROM {0} AS a\nLIMIT 100"
    assert found.names[found.dialects[mysql][2]][names[0]] == "`orders`"
    # An earlier version of the package wrote the statement.
    old = {REFERENCE.urn: Statement(sql="SELECT 1")}
    assert not list_catalog_contents([REFERENCE], summaries={}, statements=old).translations.joins


def test_a_join_in_two_steps_names_its_crosswalk_and_has_the_sql_of_both_steps() -> None:
    via = (column("regions.code"), column("regions.name"))
    found = list_catalog_contents(
        [changed(REFERENCE, via=via, compared_as="countries")],
        summaries={dataset_urn(table("regions")): DatasetSummary(title="Regions")},
        statements={"urn:1": Statement(sql="SELECT 2", dialect="mysql")},
    )
    assert found.statements == (("", ""),)
    assert found.compared == {0: "compared as countries"}  # as the page of a run says it
    title, *paths, sql, _ = found.crosswalks[0]
    assert (title, paths, sql) == ("Regions", ["code", "name"], "SELECT 2")


def test_a_form_and_further_columns_are_listed() -> None:
    further = (column("orders.year"), column("customers.since"))
    join = changed(REFERENCE, compared_as="countries", pairs=(*REFERENCE.pairs, further))
    assert contents(join).compared == {0: "compared as countries"}
    assert contents(join).further == {0: (("year", "since"),)}


@pytest.mark.parametrize(("verdicts", "removed", "listed"), [
    ((), False, True),
    ((), True, False),
    ((Verdict.REJECTED,), True, True),
    ((Verdict.ACCEPTED,), False, True),
])  # fmt: skip
def test_what_a_run_withdrew_is_not_listed(
    verdicts: tuple[Verdict, ...], *, removed: bool, listed: bool
) -> None:
    assert changed(REFERENCE, verdicts=verdicts, removed=removed).is_listed is listed
