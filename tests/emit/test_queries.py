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
from datahub_hyperjoin.emit.sql import join_statement
from datahub_hyperjoin.joins import Cardinality, Join
from datahub_hyperjoin.relationship_aspect import join_urn
from datahub_hyperjoin.tables import ColumnId, DataType, TableId
from datahub_hyperjoin.urns import column_urn, dataset_urn, query_urn

MakeJoin = Callable[[ColumnId, ColumnId, float], Join]
Describe = Callable[[MetadataWorkUnit], dict[str, Any]]

GOLDEN = Path(__file__).parent / "golden" / "queries.json"
FLIGHTS, AIRLINES = TableId("file", "nyc/flights.csv"), TableId("file", "nyc/airlines.csv")
CARRIER = ColumnId(FLIGHTS, "[version=2.0].[type=string].carrier")
AIRLINE, IATA = ColumnId(AIRLINES, "carrier"), ColumnId(AIRLINES, "iata")
NAMES = {FLIGHTS: "flights", AIRLINES: "airlines"}


def emit(join: Join) -> list[MetadataWorkUnit]:
    types = {AIRLINE: DataType.TEXT, IATA: DataType.TEXT}
    found = emit_query(
        join,
        statement=join_statement(join, types=types) or "",
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


def test_the_evidence_is_told_as_the_statement_names_the_tables(make_join: MakeJoin) -> None:
    join = make_join(AIRLINE, CARRIER, 0.93)
    refers = (
        "80.0% of the distinct values in a also occur in b, and 100.0% of those in b also occur in "
        "a. On average, each row of a matches 1.0 rows of b"
    )
    assert refers in str(properties(join).description)
    # The left table comes first in a statement about many and many.
    many = replace(join, evidence=replace(join.evidence, cardinality=Cardinality.MANY_MANY))
    assert "100.0% of the distinct values in a also occur in b, and 80.0% of those in b" in str(
        properties(many).description
    )
    assert 'FROM "nyc/airlines.csv" AS a' in properties(many).statement.value


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
