"""Test how the content of the catalog determines what a run writes."""

from dataclasses import replace
from itertools import combinations
from typing import Any

import pytest

from datahub_hyperjoin.catalog.catalog import Catalog
from datahub_hyperjoin.catalog.datasets import Dataset
from datahub_hyperjoin.catalog.relationships import Relationship
from datahub_hyperjoin.catalog_facts import CatalogFacts
from datahub_hyperjoin.emit.publish import build_publication, carry_over
from datahub_hyperjoin.findings import Findings
from datahub_hyperjoin.joins import (
    Bridge,
    Cardinality,
    CatalogEvidence,
    CrosswalkJoin,
    Derivation,
    Join,
    Statement,
    Verdict,
)
from datahub_hyperjoin.locations import File
from datahub_hyperjoin.metadata.relationships import from_aspect, join_urn, pairs_in, to_aspect
from datahub_hyperjoin.model.domains import find_domains
from datahub_hyperjoin.tables import ColumnId, Table, TableProfile
from lakes.lake import EVIDENCE, column, table

CARRIER, AIRLINE = column("flights.csv.carrier"), column("airlines.csv.carrier")
ORIGIN, FAA = column("flights.csv.origin"), column("airports.csv.faa")
AIRLINES = Join(left=AIRLINE, right=CARRIER, joinability=0.9, evidence=EVIDENCE)
AIRPORTS = Join(left=FAA, right=ORIGIN, joinability=0.8, evidence=EVIDENCE)
STATEMENT = Statement(sql="SELECT 1", dialect="duckdb", rows=9)
COUNTRIES = [column(f"{name}.csv.country") for name in "abcde"]
NOTHING = Findings(profiles=(), keys=(), suggestions=(), joins=(), model_version="1")


def of_one_domain(*pairs: tuple[ColumnId, ColumnId]) -> tuple[Join, ...]:
    many = replace(EVIDENCE, cardinality=Cardinality.MANY_MANY)
    return tuple(
        Join(left=left, right=right, joinability=0.9, evidence=many) for left, right in pairs
    )


def recorded(join: Join) -> Relationship:
    """Return a relationship as the last run wrote it."""
    aspect = to_aspect(join, "0")
    return Relationship(
        urn=join_urn(join),
        aspect=aspect,
        pairs=pairs_in(aspect),
        ours=True,
        recorded=True,
        join=from_aspect(aspect),
    )


def read(name: str, *, fault: str = "") -> TableProfile:
    found = Table(id=table(name), title=name[:-4], location=File(uri=name, format="csv"), size=1)
    return TableProfile(table=found, fault=fault)


def catalog(*relationships: Relationship, said: CatalogEvidence | None = None) -> Catalog:
    pairs = {one.pairs[0]: said for one in relationships} if said else {}
    return Catalog(
        tables=(),
        facts=CatalogFacts(pairs=pairs),
        relationships={one.urn: one for one in relationships},
    )


ACCEPTED = CatalogEvidence(verdict=Verdict.ACCEPTED)
REJECTED = CatalogEvidence(verdict=Verdict.REJECTED)
UNREAD = replace(NOTHING, profiles=(read("airlines.csv", fault="cannot be read"),))


@pytest.mark.parametrize(
    ("findings", "said", "carried"),
    [
        (NOTHING, None, False),
        (NOTHING, ACCEPTED, True),
        (NOTHING, REJECTED, False),
        (UNREAD, None, True),
        (UNREAD, CatalogEvidence(declared="fk"), True),
        (UNREAD, REJECTED, False),
    ],
)
def test_a_join_is_carried_over_if_it_still_stands(
    findings: Findings,
    said: CatalogEvidence | None,
    carried: bool,  # noqa: FBT001 - a test's expectation
) -> None:
    found = carry_over(findings, catalog(recorded(AIRLINES), said=said))
    assert found == ([replace(AIRLINES, catalog=said or CatalogEvidence())] if carried else [])


@pytest.mark.parametrize(
    "change", [{"recorded": False}, {"removed": True}, {"join": None, "ours": False}]
)
def test_only_what_this_pipeline_shows_is_carried_over(change: dict[str, Any]) -> None:
    changed = replace(recorded(AIRLINES), **change)
    assert carry_over(NOTHING, catalog(changed, said=ACCEPTED)) == []


@pytest.mark.parametrize(("whole", "carried"), [(ACCEPTED, True), (REJECTED, False), (None, False)])
def test_a_join_of_several_columns_is_carried_over_by_its_own_decision(
    *, whole: CatalogEvidence | None, carried: bool
) -> None:
    parts = {AIRLINES.pairs[0]: ACCEPTED if whole is None else REJECTED}
    join = replace(AIRLINES, further=((replace(AIRLINE, path="since"), ORIGIN),))
    known = catalog(recorded(join))
    composites = {join_urn(join): whole} if whole else {}
    facts = CatalogFacts(pairs=parts, composites=composites)
    found = carry_over(NOTHING, replace(known, facts=facts))
    assert [one.further for one in found] == ([join.further] if carried else [])


def test_what_was_found_again_is_not_carried_over() -> None:
    found = replace(NOTHING, joins=(replace(AIRLINES, joinability=0.7),))
    assert carry_over(found, catalog(recorded(AIRLINES), said=ACCEPTED)) == []


def test_everything_is_written_by_the_catalogs_own_paths() -> None:
    path = "[version=2.0].[type=string].carrier"
    own = Dataset(table=AIRLINE.table, title="Airlines", columns=(("carrier", path),))
    found = Findings(
        profiles=(read("flights.csv"), read("airlines.csv")),
        keys=(CARRIER,),
        suggestions=(),
        joins=(AIRLINES,),
        statements={AIRLINES.pairs: STATEMENT},
        model_version="1",
    )
    known = replace(catalog(recorded(AIRPORTS), said=ACCEPTED), datasets={own.table: own})
    written = build_publication(found, known)
    airline = replace(AIRLINE, path=path)
    assert [join.left for join in written.joins] == [airline, FAA]
    assert written.titles[own.table] == "Airlines"
    assert written.titles[FAA.table] == "airports.csv"
    assert written.statements == {written.joins[0].pairs: STATEMENT}
    assert written.tables == {CARRIER.table, AIRLINE.table, FAA.table}


def test_joins_of_a_domain_are_implied_by_those_of_one_member() -> None:
    joins = of_one_domain(*combinations(COUNTRIES[:4], 2))
    found = replace(NOTHING, joins=joins, domains=find_domains(joins))
    publication = build_publication(found, catalog())
    assert list(publication.joins) == list(joins)
    assert len(publication.linking) == 3
    assert len(publication.implied) == 3


def test_joins_that_follow_are_counted_only() -> None:
    joins = of_one_domain(*combinations(COUNTRIES[:3], 2))
    found = replace(NOTHING, joins=joins[:1], derived={Derivation.SAME_KEY: joins[1:]})
    publication = build_publication(found, catalog())
    assert {*publication.joins} == {*joins}
    assert publication.linking == publication.listed == [joins[0]]
    first, second, third = (end.table for end in COUNTRIES[:3])
    assert publication.following[first] == {third: Derivation.SAME_KEY}
    assert publication.following[COUNTRIES[2]] == dict.fromkeys(
        (first, second), Derivation.SAME_KEY
    )
    # A relationship of an earlier run is no longer written, and not carried over either.
    earlier = catalog(recorded(joins[1]))
    assert build_publication(found, earlier).linking == [joins[0]]


def test_a_domain_stays_connected_as_the_catalog_shows_it() -> None:
    # Every two columns join, but not the first and the last.
    ends = COUNTRIES[0], COUNTRIES[-1]
    joins = of_one_domain(*(pair for pair in combinations(COUNTRIES, 2) if pair != ends))
    [domain] = find_domains(joins)
    own = Dataset(table=ends[1].table, title="e", columns=(("country", "[type=string].country"),))
    known = replace(catalog(), datasets={own.table: own})
    found = replace(NOTHING, joins=joins, domains=(replace(domain, representative=ends[0]),))
    last = [join for join in joins if join.right == ends[1]]
    first, second, _ = (
        replace(join, right=replace(ends[1], path=own.columns[0][1])) for join in last
    )
    assert [*build_publication(found, known).linking][-1] == first
    shown = replace(known, relationships=catalog(recorded(second)).relationships)
    assert [*build_publication(found, shown).linking][-1] == second
    hidden = replace(recorded(second), removed=True)
    gone = replace(known, relationships=catalog(hidden).relationships)
    assert [*build_publication(found, gone).linking][-1] == first


def test_joins_in_two_steps_have_the_field_paths_of_the_catalog() -> None:
    codes = column("codes.csv.iata"), column("codes.csv.name")
    crosswalk = CrosswalkJoin(
        bridge=Bridge(AIRLINE, *codes, CARRIER),
        joinability=0.9,
        left_step=EVIDENCE,
        right_step=EVIDENCE,
        evidence=EVIDENCE,
    )
    path = "[version=2.0].[type=string].name"
    own = Dataset(table=table("codes.csv"), title="codes", columns=(("name", path),))
    known = replace(catalog(), datasets={own.table: own})
    (written,) = build_publication(replace(NOTHING, crosswalks=(crosswalk,)), known).crosswalks
    assert written.bridge.right_via.path == path
    assert written.pairs[0] == (AIRLINE, codes[0])
