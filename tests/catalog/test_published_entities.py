"""Test that published SQL queries are read from DataHub."""

import json
from collections.abc import Callable

from datahub.ingestion.graph.client import DataHubGraph
from datahub.metadata.schema_classes import (
    AuditStampClass,
    QueryPropertiesClass,
    QueryStatementClass,
    QuerySubjectsClass,
)

from datahub_hyperjoin.emit.existing import read_published_entities
from datahub_hyperjoin.metadata.urns import AUTHOR
from gms import Gms

QUERY, DOCUMENT = "urn:li:query:a", "urn:li:document:a"
NOW = AuditStampClass(time=1, actor=AUTHOR)


def test_a_query_with_malformed_subjects_still_exists(
    gms: Gms,
    graph: DataHubGraph,
    warn: Callable[[str, str, str], None],
    warnings: list[tuple[str, str, str]],
) -> None:
    properties = QueryPropertiesClass(QueryStatementClass("SELECT 1", "SQL"), "MANUAL", NOW, NOW)
    entity = {
        "urn": QUERY,
        "queryProperties": {"value": properties.to_obj()},
        "querySubjects": {"value": {"subjects": [{"entity": ["no text"]}]}},
    }
    gms.reply("query/batchGet", json.dumps([entity]))
    found = read_published_entities(
        graph, [QUERY], written=[QUERY], unseen=(), hiders=(), warn=warn
    )
    assert (set(found.present), set(found.closed)) == ({QUERY}, set())
    assert found.query_subjects == {QUERY: frozenset()}
    (warning,) = warnings
    assert warning[0] == "Entities skipped"
    assert warning[2] == f"{QUERY}: it cannot be parsed: TypeError: unhashable type: 'list'"


def test_a_query_of_which_only_the_subjects_arrived_is_reported_as_lost(
    gms: Gms,
    graph: DataHubGraph,
    warn: Callable[[str, str, str], None],
    warnings: list[tuple[str, str, str]],
) -> None:
    gms.put(QUERY, QuerySubjectsClass(subjects=[]))
    found = read_published_entities(
        graph, [QUERY], written=[QUERY], unseen=[QUERY], hiders=(), warn=warn
    )
    assert found.closed == frozenset()
    assert [title for title, _, _ in warnings] == ["Writes lost"]


def test_documents_of_a_server_that_lost_the_type_are_not_taken_for_deleted(
    warn: Callable[[str, str, str], None], warnings: list[tuple[str, str, str]]
) -> None:
    with Gms(without=["document"]) as older:
        found = read_published_entities(
            older.graph(), [], written=[DOCUMENT], unseen=(), hiders=(), warn=warn
        )
    assert (found.present, found.closed) == (frozenset(), frozenset())
    assert warnings == []
