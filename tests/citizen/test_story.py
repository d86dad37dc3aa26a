"""Test what people see in a catalog over several runs."""

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner
from datahub.metadata.schema_classes import (
    ERModelRelationshipPropertiesClass,
    GlobalTagsClass,
    StatusClass,
    StructuredPropertiesClass,
    TagAssociationClass,
)

from datahub_hyperjoin.cli import main
from datahub_hyperjoin.graphql import all_joins
from datahub_hyperjoin.metadata.urns import JOINABLE_WITH, column_urn, property_urn
from datahub_hyperjoin.tables import pair_of
from gms import Gms
from lakes.lake import codes, column, describe, write_table

pytestmark = pytest.mark.usefixtures("spark")  # as a person's own runs

Ingest = Callable[..., str]

CARRIER = pair_of(column("flights.csv.carrier"), column("airlines.csv.carrier"))
DELAYS = pair_of(column("delays.csv.carrier"), column("airlines.csv.carrier"))
BOTH = pair_of(column("delays.csv.carrier"), column("flights.csv.carrier"))
ORIGIN = pair_of(column("flights.csv.origin"), column("airports.csv.faa"))
PLANE = pair_of(column("flights.csv.tailnum"), column("planes.csv.tailnum"))
WEATHER = pair_of(column("weather.csv.station"), column("airports.csv.faa"))
HIDE = "mutation($urns: [String!]!) { batchUpdateSoftDeleted(input: {urns: $urns, deleted: true}) }"
ASSIGN = """
mutation($asset: String!, $property: String!, $value: String!) {
  upsertStructuredProperties(input: {
    assetUrn: $asset
    structuredPropertyInputParams: [
      { structuredPropertyUrn: $property, values: [{ stringValue: $value }] }
    ]
  }) { properties { structuredProperty { urn } } }
}
"""
SUGGESTED = "io.datahub.hyperjoin"


def shown(gms: Gms) -> dict[object, str]:
    """Map each pair of columns that a person sees as a join to the URN of the join."""
    return {pair_of(join.left, join.right): join.urn for join in all_joins(gms.graph())}


def beside(gms: Gms, path: str) -> set[str]:
    """Return the columns that the catalog shows as joinable with a column."""
    found = gms.get(column_urn(column(path)), StructuredPropertiesClass)
    wanted = property_urn(SUGGESTED, JOINABLE_WITH)
    return {
        str(value)
        for one in (found.properties if found else [])
        for value in one.values
        if one.propertyUrn == wanted
    }


def decide(gms: Gms, *words: str) -> None:
    done = CliRunner().invoke(main, list(words), env={"DATAHUB_GMS_URL": gms.url})
    assert done.exit_code == 0, done.output


def lose(lake: Path, name: str, key: str) -> None:
    """Replace the values of a key with values that no other table contains."""
    write_table(lake, name, {key: codes(f"{name}-"), "note": codes("note ")})


@pytest.fixture
def quiet(ingest: Ingest) -> Ingest:
    """Return a function that runs a recipe without sending DataHub's own report of the run."""
    return lambda *options, **config: ingest("--no-default-report", *options, **config)


def test_a_first_run_shows_every_join(gms: Gms, quiet: Ingest) -> None:
    quiet()
    assert set(shown(gms)) == {CARRIER, DELAYS, BOTH, ORIGIN, PLANE}
    assert beside(gms, "planes.csv.tailnum") == {column_urn(column("flights.csv.tailnum"))}


def test_joins_are_accepted_rejected_lost_and_found(gms: Gms, quiet: Ingest, lake: Path) -> None:
    quiet()
    first = shown(gms)
    decide(gms, "accept", first[DELAYS], "--why", "same code")
    decide(gms, "reject", first[BOTH])
    lose(lake, "delays.csv", "carrier")
    lose(lake, "planes.csv", "tailnum")
    write_table(lake, "weather.csv", {"station": codes("K", 60), "sky": codes("sky ", 60)})
    describe(gms, "weather.csv", ["station", "sky"])
    before = len(gms.writes)

    quiet()
    second = shown(gms)
    assert {CARRIER, DELAYS, ORIGIN, WEATHER} <= set(second)
    assert not {BOTH, PLANE} & set(second)
    assert beside(gms, "planes.csv.tailnum") == set()
    assert column_urn(column("weather.csv.station")) in beside(gms, "airports.csv.faa")
    assert column_urn(column("delays.csv.carrier")) not in beside(gms, "flights.csv.carrier")

    hidden = {write.urn for write in gms.writes[before:] if write.aspect == "status"}
    assert {urn for urn in hidden if ":dataJob:" not in urn} == {first[PLANE]}


def test_a_run_without_news_writes_its_checkpoints_and_nothing_else(
    gms: Gms, quiet: Ingest
) -> None:
    layers = {"queries": True, "lineage": True}
    quiet(emit=layers)
    before = len(gms.writes)
    quiet(emit=layers)
    again = {(write.entity, write.aspect) for write in gms.writes[before:]}
    assert again <= {("dataJob", "datahubIngestionCheckpoint"), ("dataJob", "status")}


def test_a_join_that_comes_back_is_shown_again(gms: Gms, quiet: Ingest, lake: Path) -> None:
    planes = lake.joinpath("planes.csv").read_text()
    quiet()
    lose(lake, "planes.csv", "tailnum")
    quiet()
    assert PLANE not in shown(gms)
    lake.joinpath("planes.csv").write_text(planes)
    quiet()
    assert PLANE in shown(gms)
    assert beside(gms, "planes.csv.tailnum") == {column_urn(column("flights.csv.tailnum"))}


def test_what_people_hide_stays_hidden_even_if_it_was_gone_for_a_while(
    gms: Gms, quiet: Ingest, lake: Path
) -> None:
    planes = lake.joinpath("planes.csv").read_text()
    quiet()
    urn = shown(gms)[PLANE]
    gms.graphql(HIDE, urns=[urn])
    lose(lake, "planes.csv", "tailnum")
    quiet()
    lake.joinpath("planes.csv").write_text(planes)
    quiet()
    status = gms.get(urn, StatusClass)
    assert status is not None
    assert status.removed
    assert PLANE not in shown(gms)
    assert beside(gms, "planes.csv.tailnum") == set()
    gms.delete(urn)  # as DataHub's own garbage collection does in time
    quiet()
    assert PLANE not in shown(gms)


def test_what_people_delete_stays_deleted(gms: Gms, quiet: Ingest) -> None:
    quiet()
    urn = shown(gms)[PLANE]
    gms.delete(urn)
    quiet()
    quiet()
    assert gms.get(urn, ERModelRelationshipPropertiesClass) is None
    assert gms.get(urn, StatusClass) is None
    assert beside(gms, "planes.csv.tailnum") == set()


def test_people_decide_on_columns_too(gms: Gms, quiet: Ingest) -> None:
    quiet()
    carrier, tailnum = column("flights.csv.carrier"), column("planes.csv.tailnum")
    gms.graphql(
        ASSIGN,
        asset=column_urn(column("airlines.csv.carrier")),
        property=property_urn(SUGGESTED, "rejectedJoins"),
        value=column_urn(carrier),
    )
    gms.graphql(
        ASSIGN,
        asset=column_urn(tailnum),
        property=property_urn(SUGGESTED, "confirmedJoins"),
        value=column_urn(column("airports.csv.town")),
    )
    quiet()
    assert CARRIER not in shown(gms)
    assert pair_of(tailnum, column("airports.csv.town")) in shown(gms)


def test_what_other_people_and_sources_wrote_stays(gms: Gms, quiet: Ingest) -> None:
    quiet()
    urn, faa = shown(gms)[ORIGIN], column_urn(column("airports.csv.faa"))
    tags = gms.get(urn, GlobalTagsClass)
    assert tags is not None
    tags.tags.append(TagAssociationClass(tag="urn:li:tag:reviewed"))
    gms.put(urn, tags)
    quiet()
    kept = gms.get(urn, GlobalTagsClass)
    assert kept is not None
    assert "urn:li:tag:reviewed" in {tag.tag for tag in kept.tags}
    assert len(kept.tags) == len(["reviewed", "the band", "the role"])
    assert beside(gms, "flights.csv.origin") == {faa}


def test_a_relationship_that_a_person_edits_is_left_alone(
    gms: Gms, quiet: Ingest, lake: Path
) -> None:
    quiet()
    urn = shown(gms)[PLANE]
    edited = gms.get(urn, ERModelRelationshipPropertiesClass)
    assert edited is not None
    edited.customProperties, edited.cardinality = {}, "ONE_ONE"
    gms.put(urn, edited)
    quiet()
    lose(lake, "planes.csv", "tailnum")
    quiet()
    found = gms.get(urn, ERModelRelationshipPropertiesClass)
    assert found is not None
    assert (found.cardinality, found.customProperties) == ("ONE_ONE", {})
    assert PLANE in shown(gms)


def test_a_dry_run_writes_nothing(gms: Gms, quiet: Ingest) -> None:
    quiet("--dry-run")
    assert gms.writes == []


def test_declared_keys_are_shown_as_evidence(gms: Gms, quiet: Ingest) -> None:
    describe(
        gms,
        "flights.csv",
        ["carrier", "origin", "tailnum", "minutes"],
        foreign={"carrier": "airlines.csv.carrier"},
    )
    quiet()
    found = gms.get(shown(gms)[CARRIER], ERModelRelationshipPropertiesClass)
    assert found is not None
    assert "declared as the foreign key fk_carrier" in found.customProperties["evidence"]
