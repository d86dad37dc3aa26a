"""Test that the test double rejects unknown GraphQL fields, as the real server does."""

import pytest
from datahub.metadata.schema_classes import TagPropertiesClass

from gms import Gms

_OF_TYPES = """query q($t: [EntityType!]) {
  searchAcrossEntities(input: { types: $t, query: "*" }) { total } }"""


def test_says_what_is_not_there() -> None:
    unknown = """{ searchAcrossEntities(input: { types: [TAG], query: "*",
        orFilters: [{ and: [{ field: "colour", values: ["x"] }] }] }) { total } }"""
    with Gms() as gms:
        answer = gms.graphql('{ dataset(urn: "a") { color } }', refused=True)
        assert "Cannot query field 'color' on type 'Dataset'" in answer["errors"][0]["message"]
        gms.put("urn:li:tag:a", TagPropertiesClass(name="a"))
        answer = gms.graphql(unknown, refused=True)
        assert "does not index the field colour" in answer["errors"][0]["message"]
        answer = gms.graphql("{ me {", refused=True)
        assert "Syntax Error" in answer["errors"][0]["message"]


@pytest.mark.parametrize(
    ("missing", "query", "message"),
    [
        (
            "erModelRelationship",
            _OF_TYPES,
            "'ER_MODEL_RELATIONSHIP' does not exist in 'EntityType' enum",
        ),
        (
            "erModelRelationship",
            '{ entity(urn: "x") { ... on ERModelRelationship { id } } }',
            "Unknown type 'ERModelRelationship'",
        ),
        (
            "structuredProperty",
            '{ dataset(urn: "x") { structuredProperties { __typename } } }',
            "Cannot query field 'structuredProperties' on type 'Dataset'",
        ),
        (
            "query",
            'mutation { deleteQuery(urn: "urn:li:query:q") }',
            "Cannot query field 'deleteQuery' on type 'Mutation'",
        ),
    ],
)
def test_a_server_may_lack_types(missing: str, query: str, message: str) -> None:
    with Gms(without=[missing]) as gms:
        answer = gms.graphql(query, refused=True, t=["ER_MODEL_RELATIONSHIP"])
        assert message in answer["errors"][0]["message"]
        assert gms.graphql("{ me { corpUser { username } } }")
