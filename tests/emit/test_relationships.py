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
from hypothesis import given
from hypothesis import strategies as st

from datahub_hyperjoin.emit.relationships import emit_relationship
from datahub_hyperjoin.joins import (
    Cardinality,
    CatalogEvidence,
    Evidence,
    Join,
    KnownNamesakes,
    Role,
    RowCounts,
)
from datahub_hyperjoin.metadata.relationships import columns_urn, from_aspect
from datahub_hyperjoin.metadata.urns import column_urn, dataset_urn
from datahub_hyperjoin.tables import ColumnId, TableId

MakeJoin = Callable[[ColumnId, ColumnId, float], Join]
Describe = Callable[[MetadataWorkUnit], dict[str, Any]]

FLIGHTS, AIRLINES = TableId("file", "nyc/flights.csv"), TableId("file", "nyc/airlines.csv")
CODES = TableId("file", "codes/carriers, all.csv")
CARRIER, AIRLINE = ColumnId(FLIGHTS, "carrier"), ColumnId(AIRLINES, "carrier")


def written(join: Join) -> tuple[str, ERModelRelationshipPropertiesClass]:
    """Return the URN and the aspect of the relationship that is written for a join."""
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
        "role": "same domain",
        "shared_values": "16",
        "source_containment": "0.8000",
        "destination_containment": "1.0000",
        "source_fan_out": "1.0000",
        "destination_fan_out": "21048.5000",
        "joined_rows": "336776",
        "evidence": "values compared on the data",
        "model_version": "0.1.0-abc",
    }


def test_a_relationship_says_why_its_join_has_no_sql(make_join: MakeJoin) -> None:
    join = make_join(AIRLINE, CARRIER, 0.93)
    unit = next(emit_relationship(join, "1", no_sql="no single database has both tables"))
    aspect = unit.get_aspect_of_type(ERModelRelationshipPropertiesClass)
    assert aspect
    assert aspect.customProperties["no_sql"] == "no single database has both tables"
    assert from_aspect(aspect) == join


def test_a_relationship_says_what_values_were_compared_as(
    make_join: MakeJoin, evidence: Evidence
) -> None:
    seen = replace(evidence, compared_as="countries")
    join = replace(make_join(AIRLINE, CARRIER, 0.93), evidence=seen)
    _, aspect = written(join)
    assert aspect.customProperties["compared_as"] == "countries"
    assert aspect.customProperties["evidence"] == "countries compared on the data"
    assert from_aspect(aspect) == join


def test_a_relationship_says_how_many_rows_have_a_partner(
    make_join: MakeJoin, evidence: Evidence
) -> None:
    many, few = RowCounts(total=9, filled=8, matched=7), RowCounts(total=3, filled=3, matched=None)
    seen = replace(evidence, left_counts=many, right_counts=few)
    join = replace(make_join(AIRLINE, CARRIER, 0.93), evidence=seen)
    _, aspect = written(join)
    told = {name: n for name, n in aspect.customProperties.items() if "_rows" in name}
    # The left table of the join is the destination of the relationship.
    assert told == {
        "joined_rows": "336776",
        "destination_rows": "9",
        "destination_rows_with_value": "8",
        "destination_rows_with_partner": "7",
        "source_rows": "3",
        "source_rows_with_value": "3",
    }
    assert from_aspect(aspect) == join


def test_a_relationship_says_what_the_columns_of_the_same_name_refer_to(
    make_join: MakeJoin,
) -> None:
    told = KnownNamesakes(known=4, agreeing=3)
    join = make_join(AIRLINE, CARRIER, 0.93)
    directed = replace(join, role=Role.REFERENCE, referenced=AIRLINE, namesakes=told)
    _, aspect = written(directed)
    assert aspect.customProperties["evidence"] == (
        "values compared on the data; 3 of 4 columns named carrier with a known key refer to "
        "nyc/airlines.csv.carrier"
    )


def test_a_relationship_names_the_columns_of_its_crosswalk(make_join: MakeJoin) -> None:
    via = ColumnId(CODES, "name"), ColumnId(CODES, "iata")
    _, aspect = written(replace(make_join(AIRLINE, CARRIER, 0.93), via=via))
    assert aspect.source == dataset_urn(FLIGHTS)
    assert aspect.customProperties["source_crosswalk_column"] == column_urn(via[1])
    assert aspect.customProperties["destination_crosswalk_column"] == column_urn(via[0])


def test_a_crosswalk_that_is_no_column_is_not_read(make_join: MakeJoin) -> None:
    via = ColumnId(CODES, "name"), ColumnId(CODES, "iata")
    _, aspect = written(replace(make_join(AIRLINE, CARRIER, 0.93), via=via))
    aspect.customProperties["source_crosswalk_column"] = "carriers.iata"
    assert from_aspect(aspect) is None


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


def test_the_urn_of_a_composite_key_depends_on_its_columns_only() -> None:
    year, typed = (ColumnId(AIRLINES, path) for path in ("year", "[version=2.0].[type=int].year"))
    code, typed_code = (
        ColumnId(AIRLINES, path) for path in ("code", "[version=2.0].[type=string].code")
    )
    flown = [ColumnId(FLIGHTS, path) for path in ("carrier", "flown")]
    pairs = [*zip((code, year), flown, strict=True)]
    assert columns_urn(pairs) == columns_urn(pairs[::-1])
    assert columns_urn(pairs) == columns_urn([(right, left) for left, right in pairs])
    # The types sort before the names.
    assert columns_urn(pairs) == columns_urn([*zip((typed_code, typed), flown, strict=True)])


def test_the_urn_of_a_tables_reference_to_itself_does_not_depend_on_the_sides() -> None:
    boss, staff, tenant = (ColumnId(FLIGHTS, path) for path in ("boss", "id", "tenant"))
    pairs = [(tenant, tenant), (boss, staff)]
    assert columns_urn(pairs) == columns_urn([(right, left) for left, right in pairs])
    assert columns_urn(pairs) != columns_urn(pairs[1:])


def test_joins_between_the_same_tables_do_not_collide(make_join: MakeJoin) -> None:
    one = make_join(AIRLINE, CARRIER, 0.9)
    other = make_join(AIRLINE, ColumnId(FLIGHTS, "operator"), 0.9)
    assert written(one)[0] != written(other)[0]


def ops(unit: dict[str, Any]) -> dict[str, str]:
    """Map each tag in a patch to the operation on it."""
    return {
        change["path"].removeprefix("/tags//urn:li:tag:join:"): change["op"]
        for change in unit["value"]["patch"]
    }


@pytest.mark.parametrize(
    ("joinability", "band"),
    [(1.0, "high"), (0.8, "high"), (0.7999, "medium"), (0.65, "medium"), (0.6499, "low")],
)
def test_the_band_is_a_tag_in_place_of_the_others(
    joinability: float, band: str, make_join: MakeJoin, describe: Describe
) -> None:
    _, tags = map(describe, emit_relationship(make_join(AIRLINE, CARRIER, joinability), ""))
    found = {name: op for name, op in ops(tags).items() if name.startswith("suggested-")}
    bands = tuple(f"suggested-{each}" for each in ("high", "medium", "low", "unverified"))
    assert found == dict.fromkeys(bands, "remove") | {f"suggested-{band}": "add"}


@pytest.mark.parametrize("role", list(Role))
def test_the_role_is_a_tag_in_place_of_the_others(
    role: Role, make_join: MakeJoin, describe: Describe
) -> None:
    join = make_join(AIRLINE, CARRIER, 0.9)
    join = replace(join, role=role, referenced=AIRLINE if role.is_directed else None)
    _, tags = map(describe, emit_relationship(join, ""))
    found = {name: op for name, op in ops(tags).items() if not name.startswith("suggested-")}
    roles = ("reference", "one-to-one", "sibling", "same-domain")
    assert found == dict.fromkeys(roles, "remove") | {role.value.replace(" ", "-"): "add"}


def test_the_tag_of_the_role_holds_what_paths_need(make_join: MakeJoin, describe: Describe) -> None:
    join = replace(
        make_join(AIRLINE, CARRIER, 0.9),
        role=Role.REFERENCE,
        referenced=AIRLINE,
        catalog=CatalogEvidence(declared="fk_carrier"),
    )
    _, tags = map(describe, emit_relationship(join, ""))
    (context,) = (
        change["value"]["context"]
        for change in tags["value"]["patch"]
        if change["path"].endswith("join:reference")
    )
    assert context == (
        '{"source_fan_out":1.0,"destination_fan_out":21048.5,"source_containment":0.8,'
        '"destination_containment":1.0,"declared":true}'
    )


@pytest.mark.parametrize("role", [Role.REFERENCE, Role.ONE_TO_ONE])
@pytest.mark.parametrize("referenced", [CARRIER, AIRLINE])
def test_a_directed_join_leads_from_the_referring_to_the_referenced_column(
    role: Role, referenced: ColumnId, make_join: MakeJoin
) -> None:
    undirected = make_join(AIRLINE, CARRIER, 0.93)
    join = replace(undirected, role=role, referenced=referenced)
    urn, aspect = written(join)
    referring = join.referring
    assert referring is not None
    assert aspect.name == f"{referring} = {referenced}"
    assert aspect.source == dataset_urn(referring.table)
    assert aspect.destination == dataset_urn(referenced.table)
    to_airlines = referenced == AIRLINE
    assert aspect.cardinality == ("N_ONE" if to_airlines else "ONE_N")
    assert aspect.customProperties["source_containment"] == ("0.8000" if to_airlines else "1.0000")
    assert aspect.customProperties["destination_fan_out"] == (
        "21048.5000" if to_airlines else "1.0000"
    )
    assert aspect.customProperties["role"] == role.value
    assert urn == written(undirected)[0]


def test_a_composite_key_is_one_relationship_with_several_mappings(make_join: MakeJoin) -> None:
    single = make_join(AIRLINE, CARRIER, 0.93)
    year = (ColumnId(AIRLINES, "year"), ColumnId(FLIGHTS, "season"))
    join = replace(single, role=Role.REFERENCE, referenced=AIRLINE, further=(year,))
    urn, aspect = written(join)
    mappings = [
        (each.sourceField, each.destinationField) for each in aspect.relationshipFieldMappings
    ]
    assert mappings == [("carrier", "carrier"), ("season", "year")]
    assert aspect.name == (
        "nyc/flights.csv.carrier = nyc/airlines.csv.carrier"
        " and nyc/flights.csv.season = nyc/airlines.csv.year"
    )
    assert urn != written(single)[0]
    other_order = replace(join, left=year[0], right=year[1], further=((AIRLINE, CARRIER),))
    assert urn == written(replace(other_order, referenced=year[0]))[0]


TABLES = st.sampled_from([FLIGHTS, AIRLINES, TableId("s3", "a b"), TableId("s3", "a")])
COLUMNS = st.builds(ColumnId, TABLES, st.sampled_from(["id", "code", "nested.code"]))


@st.composite
def joins(draw: st.DrawFn) -> Join:
    left, right = sorted(draw(st.lists(COLUMNS, min_size=2, max_size=2, unique=True)))
    further = [
        st.builds(ColumnId, st.just(end.table), st.sampled_from("xyz")) for end in (left, right)
    ]
    role = draw(st.sampled_from(Role))
    share = st.integers(0, 10_000).map(lambda count: count / 10_000)
    return Join(
        left=left,
        right=right,
        joinability=draw(share),
        evidence=Evidence(
            shared=draw(st.integers(0)),
            left_containment=draw(share),
            right_containment=draw(share),
            cardinality=draw(st.sampled_from(Cardinality)),
            left_fan_out=draw(share),
            right_fan_out=draw(share),
            rows=draw(st.integers(0)),
        ),
        role=role,
        referenced=draw(st.sampled_from([left, right])) if role.is_directed else None,
        further=tuple(draw(st.lists(st.tuples(*further), max_size=2))),
        via=draw(st.none() | st.just((ColumnId(CODES, "iata (old)"), ColumnId(CODES, "name")))),
    )


@given(joins())
def test_a_relationship_is_read_back_as_the_join_that_it_was_written_for(join: Join) -> None:
    assert from_aspect(written(join)[1]) == join


def test_a_role_of_a_later_version_is_not_read(make_join: MakeJoin) -> None:
    _, aspect = written(make_join(AIRLINE, CARRIER, 0.9))
    aspect.customProperties["role"] = "cousin"
    assert from_aspect(aspect) is None


def test_a_relationship_of_an_earlier_version_has_no_role(make_join: MakeJoin) -> None:
    join = make_join(AIRLINE, CARRIER, 0.9)
    _, aspect = written(join)
    del aspect.customProperties["role"]
    assert from_aspect(aspect) == join
