"""Test that the shipped operations are valid in the server's GraphQL schema."""

import re
from importlib import resources
from pathlib import Path

import pytest
from graphql import GraphQLSchema, build_schema, parse, validate

from datahub_hyperjoin.graphql.operations import operation
from datahub_hyperjoin.joins import BANDS
from datahub_hyperjoin.metadata.urns import ACCEPTED, REJECTED, band_urn

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


def test_operations_are_shipped() -> None:
    assert {"accept_join", "all_joins", "joins_of_datasets", "own_join", "reject_join"} <= set(
        FILES
    )


@pytest.mark.parametrize("name", FILES)
def test_an_operation_is_valid_in_the_servers_schema(name: str, schema: GraphQLSchema) -> None:
    assert validate(schema, parse(operation(name))) == []


@pytest.mark.parametrize("name", FILES)
def test_an_operation_begins_with_its_description(name: str) -> None:
    assert operation(name).startswith("# ")


@pytest.mark.parametrize(("name", "first", "then"), [
    ("accept_join", ACCEPTED, REJECTED),
    ("reject_join", REJECTED, ACCEPTED),
])  # fmt: skip
def test_a_decision_sets_one_tag_anew_and_removes_the_other(
    name: str, first: str, then: str
) -> None:
    steps = re.findall(r'(\w+)\(input: { tagUrn: "(.*?)"', operation(name))
    assert steps == [("removeTag", first), ("addTag", first), ("removeTag", then)]


def test_the_example_of_a_band_is_one_that_runs_write() -> None:
    assert f'"{band_urn(next(iter(BANDS)))}"' in operation("joins_in_band")
