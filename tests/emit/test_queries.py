import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from datahub.emitter.mcp import MetadataChangeProposalWrapper
from datahub.ingestion.api.workunit import MetadataWorkUnit
from datahub.metadata.schema_classes import QueryPropertiesClass, QuerySubjectsClass
from datahub.metadata.urns import Urn

from datahub_hyperjoin.emit.queries import emit_query
from datahub_hyperjoin.joins import (
    Bridge,
    Cardinality,
    CatalogEvidence,
    CrosswalkJoin,
    Evidence,
    Join,
    RowCounts,
    Statement,
    Verdict,
)
from datahub_hyperjoin.metadata.relationships import join_urn
from datahub_hyperjoin.metadata.urns import column_urn, dataset_urn, query_urn
from datahub_hyperjoin.tables import ColumnId, TableId

MakeJoin = Callable[[ColumnId, ColumnId, float], Join]
Describe = Callable[[MetadataWorkUnit], dict[str, Any]]

GOLDEN = Path(__file__).parent / "golden" / "queries.json"
FLIGHTS, AIRLINES = TableId("file", "nyc/flights.csv"), TableId("file", "nyc/airlines.csv")
CARRIER = ColumnId(FLIGHTS, "[version=2.0].[type=string].carrier")
AIRLINE, IATA = ColumnId(AIRLINES, "carrier"), ColumnId(AIRLINES, "iata")
NAMES = {FLIGHTS: "flights", AIRLINES: "airlines"}


STATEMENT = Statement(sql="SELECT 1", dialect="duckdb", rows=336_776)


def emit(join: Join, statement: Statement = STATEMENT) -> list[MetadataWorkUnit]:
    found = emit_query(
        join,
        statement=statement,
        model_version="0.1.0-abc",
        names=NAMES,
        now=1_700_000_000_000,
    )
    return list(found)


def properties(join: Join) -> QueryPropertiesClass:
    aspect = emit(join)[0].get_aspect_of_type(QueryPropertiesClass)
    assert aspect
    return aspect


def test_queries_are_written_as_agreed(make_join: MakeJoin, describe: Describe) -> None:
    joins = [make_join(AIRLINE, CARRIER, 0.93), make_join(IATA, CARRIER, 0.7)]
    found = [describe(unit) for join in joins for unit in emit(join)]
    if os.environ.get("HYPERJOIN_UPDATE_GOLDEN"):
        GOLDEN.write_text(json.dumps(found, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    assert found == json.loads(GOLDEN.read_text(encoding="utf-8"))


def test_a_query_in_two_steps_names_three_tables_and_four_columns(evidence: Evidence) -> None:
    codes = TableId("file", "codes.csv")
    bridge = Bridge(AIRLINE, ColumnId(codes, "name"), ColumnId(codes, "iata"), CARRIER)
    join = CrosswalkJoin(
        bridge=bridge,
        joinability=0.7,
        left_step=evidence,
        right_step=evidence,
        evidence=evidence,
    )
    units = list(
        emit_query(
            join,
            statement=STATEMENT,
            model_version="0.1.0-abc",
            names={**NAMES, codes: "codes"},
            now=1_700_000_000_000,
        )
    )
    about = units[0].get_aspect_of_type(QueryPropertiesClass)
    subjects = units[1].get_aspect_of_type(QuerySubjectsClass)
    assert about
    assert subjects
    # One airline has many flights, so the flights come first.
    assert about.name == (
        "flights joined with airlines through codes on carrier = iata and name = carrier"
    )
    assert about.statement.value == "SELECT 1"
    told = "80% of the distinct values in flights reach airlines through it"
    assert f"codes holds the values of both columns: {told}" in str(about.description)
    assert "100% of those in airlines reach flights." in str(about.description)
    assert [subject.entity for subject in subjects.subjects] == [
        *map(dataset_urn, (FLIGHTS, codes, AIRLINES)),
        *map(column_urn, (CARRIER, bridge.right_via, bridge.left_via, AIRLINE)),
    ]
    assert {unit.get_urn() for unit in units} == {query_urn(join_urn(join.as_join))}


def test_every_aspect_is_valid_and_of_the_joins_query(make_join: MakeJoin) -> None:
    join = make_join(AIRLINE, CARRIER, 0.93)
    units = emit(join)
    assert len({unit.id for unit in units}) == len(units) == 3
    for unit in units:
        assert isinstance(unit.metadata, MetadataChangeProposalWrapper)
        assert unit.metadata.validate()
        assert unit.get_urn() == query_urn(join_urn(join))
        assert Urn.from_string(unit.get_urn()).entity_type == unit.metadata.entityType == "query"


def test_nothing_of_it_is_the_frameworks_to_delete(make_join: MakeJoin) -> None:
    assert not any(unit.is_primary_source for unit in emit(make_join(AIRLINE, CARRIER, 0.93)))


@pytest.mark.parametrize(
    ("column", "title"),
    [
        (AIRLINE, "flights joined with airlines on carrier"),
        (IATA, "flights joined with airlines on carrier = iata"),
    ],
)
def test_the_title_says_what_refers_to_what(
    column: ColumnId, title: str, make_join: MakeJoin
) -> None:
    assert properties(make_join(column, CARRIER, 0.93)).name == title


def test_the_rows_are_told_first_and_then_the_values(make_join: MakeJoin) -> None:
    join = make_join(AIRLINE, CARRIER, 0.93)
    refers = (
        "Each flight with a value matches one airline. Each airline matches about 21,000 flights. "
        "Both sides share 16 distinct values: 80% of those in flights, and 100% of those in "
        "airlines. "
    )
    assert str(properties(join).description).startswith(refers)
    counts = RowCounts(total=400_000, filled=336_776, matched=336_776)
    counted = replace(join, evidence=replace(join.measured, right_counts=counts))
    told = "336,776 of 400,000 flights (84%) match one airline; an inner join drops 63,224 "
    assert f"{told}without a value." in str(properties(counted).description)
    # The left table comes first in a statement about many and many.
    many = replace(join, evidence=replace(join.measured, cardinality=Cardinality.MANY_MANY))
    assert "16 distinct values: 100% of those in airlines, and 80% of those in flights." in str(
        properties(many).description
    )


def test_a_query_says_what_its_statement_did(make_join: MakeJoin) -> None:
    join = make_join(AIRLINE, CARRIER, 0.93)
    plain = properties(join)
    assert plain.statement.value == "SELECT 1"
    run = "The statement gave 336,776 rows when tested; it shows 100"
    where = "Run it in DuckDB where these files can be opened."
    decided = "Suggested with joinability 0.93; nobody decided."
    assert str(plain.description).endswith(f"{run}. {where} {decided}")
    accepted = replace(join, catalog=CatalogEvidence(verdict=Verdict.ACCEPTED))
    assert str(properties(accepted).description).endswith(" Accepted by people.")
    normalised = replace(STATEMENT, compared="numbers without leading zeros")
    aspect = emit(join, normalised)[0].get_aspect_of_type(QueryPropertiesClass)
    assert aspect
    assert str(aspect.description).endswith(
        f"{run} and compares values as numbers without leading zeros. {where} {decided}"
    )
    in_database = emit(join, replace(STATEMENT, dialect="postgres", rows=1))[0]
    aspect = in_database.get_aspect_of_type(QueryPropertiesClass)
    assert aspect
    assert str(aspect.description).endswith(f"The statement gave 1 row when tested. {decided}")


def test_a_key_of_several_columns_is_named_and_listed_whole(make_join: MakeJoin) -> None:
    join = replace(
        make_join(AIRLINE, CARRIER, 0.93),
        further=((ColumnId(AIRLINES, "since"), ColumnId(FLIGHTS, "year")),),
    )
    query, subjects, _ = emit(join)
    aspect = query.get_aspect_of_type(QueryPropertiesClass)
    assert aspect
    assert aspect.name == "flights joined with airlines on carrier and year = since"
    listed = subjects.get_aspect_of_type(QuerySubjectsClass)
    assert listed
    assert [subject.entity for subject in listed.subjects] == [
        dataset_urn(FLIGHTS),
        dataset_urn(AIRLINES),
        column_urn(CARRIER),
        column_urn(AIRLINE),
        column_urn(ColumnId(FLIGHTS, "year")),
        column_urn(ColumnId(AIRLINES, "since")),
    ]


def test_both_tables_and_both_columns_list_it(make_join: MakeJoin) -> None:
    aspect = emit(make_join(AIRLINE, CARRIER, 0.93))[1].get_aspect_of_type(QuerySubjectsClass)
    assert aspect
    assert [subject.entity for subject in aspect.subjects] == [
        dataset_urn(FLIGHTS),
        dataset_urn(AIRLINES),
        column_urn(CARRIER),
        column_urn(AIRLINE),
    ]


def test_a_table_that_joins_with_itself_lists_it_once(make_join: MakeJoin) -> None:
    aspect = emit(make_join(AIRLINE, IATA, 0.93))[1].get_aspect_of_type(QuerySubjectsClass)
    assert aspect
    entities = [subject.entity for subject in aspect.subjects]
    assert len(entities) == len({*entities}) == 3
