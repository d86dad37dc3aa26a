"""What is not in a server's GraphQL schema is an error, as on the real one."""

import pytest

from gms import Gms

_OF_TYPES = """query q($t: [EntityType!]) {
  searchAcrossEntities(input: { types: $t, query: "*" }) { total } }"""


def test_says_what_is_not_in_its_schema() -> None:
    with Gms() as gms:
        _check_what_is_not_in_its_schema(gms)


def _check_what_is_not_in_its_schema(gms: Gms) -> None:
    answer = gms.graphql('{ dataset(urn: "a") { color } }', refused=True)
    assert "Cannot query field 'color' on type 'Dataset'" in answer["errors"][0]["message"]
    unknown = """{ searchAcrossEntities(input: { types: [DATASET], query: "*",
        orFilters: [{ and: [{ field: "colour", values: ["x"] }] }] }) { total } }"""
    answer = gms.graphql(unknown, refused=True)
    assert "does not index the field colour" in answer["errors"][0]["message"]


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
