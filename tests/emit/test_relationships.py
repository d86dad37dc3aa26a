import hashlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from datahub.ingestion.api.workunit import MetadataWorkUnit
from datahub.metadata.schema_classes import (
    ERModelRelationshipCardinalityClass,
    ERModelRelationshipPropertiesClass,
)
from datahub.metadata.urns import ErModelRelationshipUrn

from datahub_hyperjoin.emit.relationships import emit_relationship
from datahub_hyperjoin.joins import Cardinality, Evidence, Join
from datahub_hyperjoin.relationship_aspect import from_aspect
from datahub_hyperjoin.tables import ColumnId, TableId
from datahub_hyperjoin.urns import dataset_urn

MakeJoin = Callable[[ColumnId, ColumnId, float], Join]
Describe = Callable[[MetadataWorkUnit], dict[str, Any]]

FLIGHTS, AIRLINES = TableId("file", "nyc/flights.csv"), TableId("file", "nyc/airlines.csv")
CARRIER, AIRLINE = ColumnId(FLIGHTS, "carrier"), ColumnId(AIRLINES, "carrier")


def written(join: Join) -> tuple[str, ERModelRelationshipPropertiesClass]:
    """The relationship's URN and aspect."""
    unit = next(emit_relationship(join, "0.1.0-abc"))
    aspect = unit.get_aspect_of_type(ERModelRelationshipPropertiesClass)
    assert aspect
    return unit.get_urn(), aspect


@pytest.mark.parametrize(
    ("cardinality", "reversed_"),
    [
        (Cardinality.ONE_ONE, ERModelRelationshipCardinalityClass.ONE_ONE),
        (Cardinality.ONE_MANY, ERModelRelationshipCardinalityClass.N_ONE),
        (Cardinality.MANY_ONE, ERModelRelationshipCardinalityClass.ONE_N),
        (Cardinality.MANY_MANY, ERModelRelationshipCardinalityClass.N_N),
    ],
)
def test_cardinality_is_read_from_source_to_destination(
    cardinality: Cardinality, reversed_: str, make_join: MakeJoin, evidence: Evidence
) -> None:
    join = replace(
        make_join(AIRLINE, CARRIER, 0.9), evidence=replace(evidence, cardinality=cardinality)
    )
    _, aspect = written(join)
    assert aspect.source == dataset_urn(FLIGHTS)
    assert aspect.destination == dataset_urn(AIRLINES)
    assert aspect.cardinality == reversed_


def test_what_is_left_may_be_the_source(make_join: MakeJoin) -> None:
    # A comma ends a name in an urn: a blank, coming before it, turns the order round.
    first, second = TableId("file", "orders"), TableId("file", "orders archive")
    assert first < second
    assert dataset_urn(first) > dataset_urn(second)
    _, aspect = written(make_join(ColumnId(first, "customer"), ColumnId(second, "id"), 0.9))
    assert aspect.source == dataset_urn(first)
    assert aspect.cardinality == "ONE_N"
    assert aspect.customProperties["source_containment"] == "1.0000"


def test_columns_stand_on_the_side_of_their_tables(make_join: MakeJoin) -> None:
    _, aspect = written(make_join(ColumnId(FLIGHTS, "op"), ColumnId(AIRLINES, "iata"), 0.9))
    (mapping,) = aspect.relationshipFieldMappings
    assert (mapping.sourceField, mapping.destinationField) == ("op", "iata")


def test_evidence_read_twice_from_the_other_side_is_itself(evidence: Evidence) -> None:
    assert evidence.reversed.reversed == evidence
    assert evidence.reversed != evidence


def test_a_relationship_says_what_the_data_says(make_join: MakeJoin) -> None:
    _, aspect = written(make_join(AIRLINE, CARRIER, 0.93))
    assert aspect.name == "nyc/flights.csv.carrier = nyc/airlines.csv.carrier"
    assert aspect.customProperties == {
        "joinability": "0.9300",
        "band": "high",
        "shared_values": "16",
        "source_containment": "0.8000",
        "destination_containment": "1.0000",
        "source_fan_out": "1.0000",
        "destination_fan_out": "21048.5000",
        "evidence": "values compared on the data",
        "model_version": "0.1.0-abc",
    }


def test_a_relationship_says_what_values_were_compared_as(
    make_join: MakeJoin, evidence: Evidence
) -> None:
    seen = replace(evidence, compared_as="countries")
    join = replace(make_join(AIRLINE, CARRIER, 0.93), evidence=seen)
    _, aspect = written(join)
    assert aspect.customProperties["compared_as"] == "countries"
    assert aspect.customProperties["evidence"] == "countries compared on the data"
    assert from_aspect(aspect) == join


def test_no_time_stands_in_it(make_join: MakeJoin) -> None:
    _, aspect = written(make_join(AIRLINE, CARRIER, 0.93))
    assert (aspect.created, aspect.lastModified) == (None, None)


def test_the_urn_is_the_one_the_server_gives_to_people(make_join: MakeJoin) -> None:
    urn, aspect = written(make_join(AIRLINE, CARRIER, 0.93))
    # As CreateERModelRelationshipResolver of DataHub's server writes it.
    key = (
        f'{{"Destination":"{aspect.destination}",'
        f'"ERModelRelationName":"{aspect.name}","Source":"{aspect.source}"}}'
    )
    guid = hashlib.md5(key.encode(), usedforsecurity=False).hexdigest()
    assert urn == ErModelRelationshipUrn(guid).urn()


def test_joins_between_the_same_tables_do_not_collide(make_join: MakeJoin) -> None:
    one = make_join(AIRLINE, CARRIER, 0.9)
    other = make_join(AIRLINE, ColumnId(FLIGHTS, "operator"), 0.9)
    assert written(one)[0] != written(other)[0]


@pytest.mark.parametrize(
    ("joinability", "band"),
    [(1.0, "high"), (0.8, "high"), (0.7999, "medium"), (0.65, "medium"), (0.6499, "low")],
)
def test_the_band_is_a_tag_in_place_of_the_others(
    joinability: float, band: str, make_join: MakeJoin, describe: Describe
) -> None:
    _, tags = map(describe, emit_relationship(make_join(AIRLINE, CARRIER, joinability), ""))
    found = {
        change["path"].removeprefix("/tags//urn:li:tag:join:suggested-"): change["op"]
        for change in tags["value"]["patch"]
    }
    assert found == dict.fromkeys(["high", "medium", "low"], "remove") | {band: "add"}
