"""Test that published SQL queries are read from DataHub."""

import json
from collections.abc import Callable

from datahub.ingestion.graph.client import DataHubGraph
from datahub.metadata.schema_classes import (
    AuditStampClass,
    QueryPropertiesClass,
    QueryStatementClass,
)

from datahub_hyperjoin.catalog.published_entities import read_published_entities
from datahub_hyperjoin.urns import AUTHOR
from gms import Gms

QUERY = "urn:li:query:a"
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
    found = read_published_entities(graph, [QUERY], written=[QUERY], unseen=(), hiders=(), warn=warn)
    assert (set(found.existing), set(found.closed)) == ({QUERY}, set())
    assert found.subjects == {QUERY: frozenset()}
    (warning,) = warnings
    assert warning[0] == "Entities skipped"
    assert warning[2] == f"{QUERY}: it cannot be parsed: TypeError: unhashable type: 'list'"
