"""The questions as they ship: whoever copies one into DataHub's GraphQL page can run it."""

from importlib import resources
from pathlib import Path

import pytest
from graphql import GraphQLSchema, build_schema, parse, validate

from datahub_hyperjoin.graphql.operations import operation
from datahub_hyperjoin.relationship_aspect import BANDS
from datahub_hyperjoin.urns import ACCEPTED, REJECTED, band_urn

GMS = Path(__file__).parent.parent / "gms"
FILES = sorted(
    file.name.removesuffix(".graphql")
    for file in resources.files("datahub_hyperjoin.graphql").iterdir()
    if file.name.endswith(".graphql") and not file.name.startswith("_")
)


@pytest.fixture(scope="module")
def schema() -> GraphQLSchema:
    files = ("schema.graphql", "inputs.graphql")
    return build_schema("\n".join((GMS / file).read_text(encoding="utf-8") for file in files))


def test_there_are_questions() -> None:
    assert {"accept_join", "all_joins", "joins_of_dataset", "own_join", "reject_join"} <= set(FILES)


@pytest.mark.parametrize("name", FILES)
def test_a_question_stands_in_the_servers_schema(name: str, schema: GraphQLSchema) -> None:
    assert validate(schema, parse(operation(name))) == []


@pytest.mark.parametrize("name", FILES)
def test_a_question_says_what_it_is_for(name: str) -> None:
    assert operation(name).startswith("# ")


@pytest.mark.parametrize(("name", "first", "then"), [
    ("accept_join", ACCEPTED, REJECTED),
    ("reject_join", REJECTED, ACCEPTED),
])  # fmt: skip
def test_a_decision_sets_one_tag_and_takes_the_other(name: str, first: str, then: str) -> None:
    words = operation(name).split('"')
    assert [word for word in words if word.startswith("urn:")] == [first, then]


def test_the_bands_are_named_as_they_are_written() -> None:
    assert f'"{band_urn(next(iter(BANDS)))}"' in operation("joins_in_band")
