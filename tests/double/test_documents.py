"""Test that the test double returns the same lists of documents and queries as DataHub."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from datahub.metadata.schema_classes import (
    AuditStampClass,
    DocumentContentsClass,
    DocumentInfoClass,
    DocumentSettingsClass,
    DocumentStatusClass,
    QueryPropertiesClass,
    QueryStatementClass,
    QuerySubjectClass,
    QuerySubjectsClass,
    RelatedAssetClass,
)

from gms import Gms

ORDERS = "urn:li:dataset:(urn:li:dataPlatform:file,orders,PROD)"
OPEN, HIDDEN, DRAFT = (f"urn:li:document:{name}" for name in ("open", "hidden", "draft"))


def stamp(time: int) -> AuditStampClass:
    return AuditStampClass(time=time, actor="urn:li:corpuser:ada")


@pytest.fixture
def gms() -> Iterator[Gms]:
    with Gms() as server:
        for at, urn in enumerate((OPEN, HIDDEN, DRAFT)):
            info = DocumentInfoClass(
                title=urn,
                status=DocumentStatusClass("UNPUBLISHED" if urn == DRAFT else "PUBLISHED"),
                contents=DocumentContentsClass("Join on id."),
                created=stamp(1),
                lastModified=stamp(at),
                relatedAssets=[RelatedAssetClass(ORDERS)],
            )
            server.put(urn, info)
        server.put(HIDDEN, DocumentSettingsClass(showInGlobalContext=False))
        yield server


def test_search_finds_only_published_documents_that_are_not_hidden(gms: Gms) -> None:
    query = """{ searchAcrossEntities(input: { types: [DOCUMENT], query: "*" }) {
        searchResults { entity { urn ... on Document { info { title contents { text }
        lastModified { time actor { urn } } } platform { urn } subType } } } } }"""
    [hit] = gms.graphql(query)["searchAcrossEntities"]["searchResults"]
    assert hit["entity"] == {
        "urn": OPEN,
        "info": {
            "title": OPEN,
            "contents": {"text": "Join on id."},
            "lastModified": {"time": 0, "actor": {"urn": "urn:li:corpuser:ada"}},
        },
        "platform": {"urn": "urn:li:dataPlatform:datahub"},
        "subType": None,
    }


def test_a_dataset_lists_its_published_documents_the_newest_first(gms: Gms) -> None:
    query = """query q($urn: String!, $page: RelatedDocumentsInput!) { dataset(urn: $urn) {
        relatedDocuments(input: $page) { total count documents {
            urn settings { showInGlobalContext } } } } }"""
    found = gms.graphql(query, urn=ORDERS, page={"count": 1})["dataset"]["relatedDocuments"]
    shown = [{"urn": HIDDEN, "settings": {"showInGlobalContext": False}}]
    assert found == {"total": 2, "count": 1, "documents": shown}


def test_queries_are_listed_by_dataset_and_source(gms: Gms) -> None:
    urns = [f"urn:li:query:{at}" for at in range(3)]
    for at, urn in enumerate(urns):
        source = "MANUAL" if at else "SYSTEM"
        statement = QueryStatementClass("SELECT 1", "SQL")
        gms.put(urn, QueryPropertiesClass(statement, source, stamp(at), stamp(at)))
        gms.put(urn, QuerySubjectsClass([QuerySubjectClass(ORDERS)]))
    query = """query q($input: ListQueriesInput!) {
        listQueries(input: $input) { total queries { urn platform { urn } } } }"""
    about = [{"and": [{"field": "entities", "values": [ORDERS]}]}]
    for asked in ({"orFilters": about}, {"datasetUrn": ORDERS}):
        found = gms.graphql(query, input={**asked, "source": "MANUAL"})["listQueries"]
        assert found["total"] == 2
        assert found["queries"] == [{"urn": urn, "platform": None} for urn in urns[:0:-1]]


def test_a_whole_schema_may_have_more_than_the_double_knows(tmp_path: Path) -> None:
    tmp_path.joinpath("some.graphql").write_text(
        """type Query { entity(urn: String!): Entity }
        interface Entity { urn: String! type: String! }
        type Tag implements Entity { urn: String! type: String! name: String! mood: String }"""
    )
    with Gms(schema=tmp_path) as server:
        query = '{ entity(urn: "urn:li:tag:a") { urn ... on Tag { name mood } } }'
        found = server.graphql(query)["entity"]
        assert found == {"urn": "urn:li:tag:a", "name": "a", "mood": None}
        refused = server.graphql('{ entity(urn: "x") { age } }', refused=True)
        assert "Cannot query field 'age'" in refused["errors"][0]["message"]
