from dataclasses import replace

import pytest
from datahub.metadata.schema_classes import (
    ERModelRelationshipPropertiesClass,
    RelationshipFieldMappingClass,
)

from datahub_hyperjoin.catalog.catalog import assemble_facts, related_columns
from datahub_hyperjoin.catalog.datasets import Dataset
from datahub_hyperjoin.catalog.filed_decisions import Decision
from datahub_hyperjoin.catalog.relationships import Relationship
from datahub_hyperjoin.catalog_facts import CatalogFacts, ColumnStatistics, ForeignKey
from datahub_hyperjoin.joins import CatalogEvidence, JoinedColumns, Verdict
from datahub_hyperjoin.metadata.relationships import columns_urn
from datahub_hyperjoin.metadata.urns import dataset_urn
from datahub_hyperjoin.tables import ColumnId, TableId, pair_of

AIRPORTS, FLIGHTS = (TableId("postgres", f"shop.public.{name}") for name in ("airports", "flights"))
CODE, NAME = (ColumnId(AIRPORTS, path) for path in ("code", "name"))
ORIGIN, CARRIER = (ColumnId(FLIGHTS, path) for path in ("origin", "carrier"))
PAIR, OTHER, THIRD = pair_of(CODE, ORIGIN), pair_of(NAME, CARRIER), pair_of(CODE, CARRIER)
ADA = "urn:li:corpuser:ada"

DATASETS = [
    Dataset(
        table=AIRPORTS,
        title="airports",
        columns=(("code", "[version=2.0].[type=string].code"), ("name", "name")),
        primary_key=("code",),
    ),
    Dataset(
        table=FLIGHTS,
        title="flights",
        columns=(("origin", "origin"), ("carrier", "carrier")),
        foreign_keys=(ForeignKey(name="fk_origin", pairs=((ORIGIN, CODE),)),),
    ),
    Dataset(table=TableId("postgres", "unknown"), title="unknown", columns=()),
]
THEIRS = Relationship(
    urn="urn:li:erModelRelationship:2",
    aspect=ERModelRelationshipPropertiesClass(
        name="flies from",
        source=dataset_urn(FLIGHTS),
        destination=dataset_urn(AIRPORTS),
        relationshipFieldMappings=[RelationshipFieldMappingClass("origin", "code")],
    ),
    pairs=(PAIR,),
    ours=False,
    recorded=False,
    join=None,
)


def test_an_empty_catalog_has_no_facts() -> None:
    assert assemble_facts(datasets=[]) == CatalogFacts()


def test_all_evidence_of_a_pair_is_combined() -> None:
    facts = assemble_facts(
        datasets=DATASETS,
        related=related_columns([THEIRS]),
        decisions={
            (PAIR,): Decision(Verdict.ACCEPTED, ADA),
            (THIRD,): Decision(Verdict.REJECTED),
        },
        queries={PAIR: 3},
    )
    assert facts.pairs == {
        PAIR: CatalogEvidence(
            declared="fk_origin",
            related=THEIRS.urn,
            queries=3,
            verdict=Verdict.ACCEPTED,
            by=ADA,
        ),
        THIRD: CatalogEvidence(verdict=Verdict.REJECTED),
    }
    assert facts.connected == {PAIR}
    assert facts.rejected == {THIRD}


def test_a_relationship_of_several_columns_says_nothing_of_any_single_pair() -> None:
    both = replace(THEIRS, pairs=(PAIR, OTHER))
    accepted = {both.pairs: Decision(Verdict.ACCEPTED, ADA)}
    facts = assemble_facts(datasets=(), related=related_columns([both]), decisions=accepted)
    assert facts.pairs == {}
    said = CatalogEvidence(related=both.urn, verdict=Verdict.ACCEPTED, by=ADA)
    assert facts.composites == {columns_urn(both.pairs): said}


def test_a_deleted_join_of_several_columns_is_rejected_unless_people_decided_since() -> None:
    columns: JoinedColumns = (PAIR, OTHER)
    urn = columns_urn(columns)
    facts = assemble_facts(datasets=(), deleted=[urn])
    assert facts.composites == {urn: CatalogEvidence(verdict=Verdict.REJECTED)}
    accepted = {columns: Decision(Verdict.ACCEPTED)}
    facts = assemble_facts(datasets=(), decisions=accepted, deleted=[urn])
    assert facts.composites == {urn: CatalogEvidence(verdict=Verdict.ACCEPTED)}
    assert facts.pairs == {}


def test_columns_have_plain_paths() -> None:
    statistics = {CODE: ColumnStatistics(uniqueness=1.0, completeness=0.5)}
    facts = assemble_facts(datasets=iter(DATASETS), statistics=statistics)
    assert facts.columns == {
        AIRPORTS: frozenset(["code", "name"]),
        FLIGHTS: frozenset(["origin", "carrier"]),
    }
    assert facts.keys.unique == {CODE}
    assert facts.keys.foreign == (ForeignKey(name="fk_origin", pairs=((ORIGIN, CODE),)),)
    assert facts.statistics == statistics


@pytest.mark.parametrize(
    "silent", [replace(THEIRS, ours=True), replace(THEIRS, removed=True), replace(THEIRS, pairs=())]
)
def test_our_and_hidden_relationships_are_no_evidence(silent: Relationship) -> None:
    assert related_columns([silent]) == {}


def test_the_smallest_of_several_relationships_is_named() -> None:
    others = [replace(THEIRS, urn=f"urn:li:erModelRelationship:{n}", pairs=(PAIR,)) for n in (3, 1)]
    both = replace(THEIRS, pairs=(PAIR, OTHER))
    assert related_columns([*others, both]) == {(PAIR,): others[1].urn, both.pairs: both.urn}
