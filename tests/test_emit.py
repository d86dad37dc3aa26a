import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import create_autospec
from urllib.parse import unquote

import pytest
from datahub.emitter.mcp import MetadataChangeProposalWrapper
from datahub.ingestion.api.workunit import MetadataWorkUnit
from datahub.ingestion.graph.client import DataHubGraph
from datahub.metadata.schema_classes import (
    ASPECT_NAME_MAP,
    ERModelRelationshipCardinalityClass,
    ERModelRelationshipPropertiesClass,
    MetadataChangeProposalClass,
)
from datahub.metadata.urns import ErModelRelationshipUrn, SchemaFieldUrn, Urn

from datahub_hyperjoin.emit import EmitConfig, column_urn, dataset_urn, emit_findings
from datahub_hyperjoin.emit.relationships import mirror
from datahub_hyperjoin.tables import Cardinality, ColumnId, Evidence, Join, Suggestion, TableId

GOLDEN = Path(__file__).parent / "golden"
FLIGHTS, AIRLINES = TableId("file", "nyc/flights.csv"), TableId("file", "nyc/airlines.csv")
AIRPORTS, WORLD = TableId("file", "nyc/airports.csv"), TableId("s3", "world/airports.csv")
TITLES = {FLIGHTS: "flights", AIRLINES: "airlines", AIRPORTS: "airports", WORLD: "airports"}
CARRIER, AIRLINE = ColumnId(FLIGHTS, "carrier"), ColumnId(AIRLINES, "carrier")
ORIGIN, DEST = ColumnId(FLIGHTS, "origin"), ColumnId(FLIGHTS, "dest")
FAA, IATA = ColumnId(AIRPORTS, "faa"), ColumnId(WORLD, "codes.iata")
EVIDENCE = Evidence(
    shared=16,
    left_containment=1.0,
    right_containment=0.8,
    cardinality=Cardinality.ONE_MANY,
    left_fan_out=21048.5,
    right_fan_out=1.0,
)
NAMESPACE = "urn:li:structuredProperty:io.datahub.hyperjoin"


def join(one: ColumnId, other: ColumnId, joinability: float) -> Join:
    left, right = sorted((one, other))
    return Join(left=left, right=right, joinability=joinability, evidence=EVIDENCE)


def suggestion(query: ColumnId, candidate: ColumnId, rank: int, joinability: float) -> Suggestion:
    return Suggestion(query=query, candidate=candidate, rank=rank, joinability=joinability)


BOTH = EmitConfig()
RELATIONSHIPS, PROPERTIES = EmitConfig(properties=False), EmitConfig(relationships=False)
SUGGESTIONS = (
    suggestion(AIRLINE, CARRIER, 1, 0.93),
    suggestion(FAA, DEST, 1, 0.78),
    suggestion(FAA, IATA, 2, 0.81),
    suggestion(FAA, ORIGIN, 3, 0.52),
)
JOINS = (
    join(AIRLINE, CARRIER, 0.93),
    join(FAA, IATA, 0.81),
    join(FAA, DEST, 0.78),
    join(FAA, ORIGIN, 0.52),
)


def emitted(
    joins: Sequence[Join] = JOINS,
    suggestions: Sequence[Suggestion] = SUGGESTIONS,
    *,
    config: EmitConfig = BOTH,
    titles: Mapping[TableId, str] = TITLES,
    graph: DataHubGraph | None = None,
) -> list[MetadataWorkUnit]:
    found = emit_findings(
        suggestions=suggestions,
        joins=joins,
        titles=titles,
        model_version="0.1.0-abc",
        config=config,
        graph=graph,
    )
    return list(found)


def raw(unit: MetadataWorkUnit) -> MetadataChangeProposalClass:
    proposal = unit.metadata
    if isinstance(proposal, MetadataChangeProposalWrapper):
        return proposal.make_mcp()
    assert isinstance(proposal, MetadataChangeProposalClass)
    return proposal


def described(unit: MetadataWorkUnit) -> dict[str, Any]:
    proposal = raw(unit)
    assert proposal.aspect
    return {
        "urn": proposal.entityUrn,
        "change": proposal.changeType,
        "aspect": proposal.aspectName,
        "value": json.loads(proposal.aspect.value),
        "headers": proposal.headers,
    }


def relationship(
    found: Join, titles: Mapping[TableId, str] = TITLES
) -> ERModelRelationshipPropertiesClass:
    units = emitted([found], [], titles=titles)
    aspects = [unit.get_aspect_of_type(ERModelRelationshipPropertiesClass) for unit in units]
    (aspect,) = filter(None, aspects)
    return aspect


def changes(units: Sequence[MetadataWorkUnit], aspect: str) -> Iterator[tuple[str, Any]]:
    for one in map(described, units):
        if one["aspect"] == aspect:
            for change in one["value"]["patch"]:
                yield one["urn"], change


def properties(name: str, units: Sequence[MetadataWorkUnit] | None = None) -> dict[str, list[Any]]:
    """What each entity gets of one structured property."""
    units = emitted(config=PROPERTIES) if units is None else units
    return {
        urn: [next(iter(value.values())) for value in change["value"]["values"]]
        for urn, change in changes(units, "structuredProperties")
        if change["path"] == f"/properties/{NAMESPACE}.{name}"
    }


@pytest.mark.parametrize(
    ("layer", "config"), [("relationships", RELATIONSHIPS), ("properties", PROPERTIES)]
)
def test_each_layer_is_written_as_agreed(layer: str, config: EmitConfig) -> None:
    found = [described(unit) for unit in emitted(config=config)]
    file = GOLDEN / f"{layer}.json"
    if os.environ.get("HYPERJOIN_UPDATE_GOLDEN"):
        file.write_text(json.dumps(found, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    assert found == json.loads(file.read_text(encoding="utf-8"))


def test_both_layers_together_are_the_two_alone() -> None:
    together = [described(unit) for unit in emitted()]
    alone = [*emitted(config=RELATIONSHIPS), *emitted(config=PROPERTIES)]
    assert together == [described(unit) for unit in alone]
    assert emitted(config=replace(RELATIONSHIPS, relationships=False)) == []


def test_every_urn_is_one_that_datahub_knows() -> None:
    for unit in emitted():
        urn = unit.get_urn()
        assert Urn.from_string(urn).urn() == urn
        assert Urn.from_string(urn).entity_type == raw(unit).entityType


def test_every_whole_aspect_is_valid() -> None:
    whole = [u.metadata for u in emitted() if isinstance(u.metadata, MetadataChangeProposalWrapper)]
    assert len(whole) == 3 + 4 + 8
    assert all(proposal.validate() for proposal in whole)


def test_every_changed_element_is_valid() -> None:
    for one in map(described, emitted()):
        if one["change"] == "PATCH":
            (field,) = one["value"]["arrayPrimaryKeys"]
            added = [each["value"] for each in one["value"]["patch"] if each["op"] == "add"]
            aspect = ASPECT_NAME_MAP[one["aspect"]].from_obj({field: added}, tuples=False)
            assert aspect.validate()


def test_datahub_reads_the_file(tmp_path: Path) -> None:
    file = tmp_path / "findings.json"
    file.write_text(json.dumps([raw(unit).to_obj() for unit in emitted()]))
    command = [sys.executable, "-m", "datahub", "check", "metadata-file", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_without_a_server_each_definition_comes_before_its_values() -> None:
    defined: set[str] = set()
    for one in map(described, emitted()):
        if one["change"] == "CREATE":
            defined.add(one["urn"])
        if one["change"] == "PATCH":
            assert {change["path"].split("/")[-1] for change in one["value"]["patch"]} <= defined
    assert len(defined) == 3 + 4


def test_a_server_gets_the_definitions_at_once_and_before_any_value() -> None:
    server = create_autospec(DataHubGraph, instance=True)
    seen = [
        server.emit_mcp.call_count
        for unit in emit_findings(
            suggestions=SUGGESTIONS,
            joins=JOINS,
            titles=TITLES,
            model_version="",
            config=PROPERTIES,
            graph=server,
        )
    ]
    assert set(seen) == {8}


def test_a_server_and_a_file_get_the_same_definitions() -> None:
    server = create_autospec(DataHubGraph, instance=True)
    values = emitted(graph=server)
    definitions = [unit.metadata for unit in emitted() if described(unit)["change"] == "CREATE"]
    assert [call.args for call in server.emit_mcp.call_args_list] == [(one,) for one in definitions]
    assert not any(described(unit)["change"] == "CREATE" for unit in values)


def test_a_definition_that_exists_is_left_alone() -> None:
    created = [one for one in map(described, emitted()) if one["change"] != "PATCH"]
    for one in created:
        if one["aspect"] != "erModelRelationshipProperties":
            assert (one["change"], one["headers"]) == ("CREATE", {"If-None-Match": "*"})


def test_only_relationships_are_written_whole() -> None:
    written = {one["aspect"] for one in map(described, emitted()) if one["change"] == "UPSERT"}
    assert written == {"erModelRelationshipProperties"}


def test_only_relationships_are_ours_to_delete() -> None:
    ours = [unit for unit in emitted() if unit.is_primary_source]
    assert len(ours) == len(JOINS)
    assert {raw(unit).aspectName for unit in ours} == {"erModelRelationshipProperties"}


def test_nothing_sets_a_status() -> None:
    assert not any(one["aspect"] == "status" for one in map(described, emitted()))


def test_a_second_run_writes_the_same() -> None:
    again = [described(unit) for unit in emitted(suggestions=SUGGESTIONS[::-1])]
    assert json.dumps(again) == json.dumps([described(unit) for unit in emitted()])


def test_workunits_have_names_of_their_own() -> None:
    units = emitted()
    assert len({unit.id for unit in units}) == len(units)


@pytest.mark.parametrize(
    ("cardinality", "mirrored"),
    [
        (Cardinality.ONE_ONE, ERModelRelationshipCardinalityClass.ONE_ONE),
        (Cardinality.ONE_MANY, ERModelRelationshipCardinalityClass.N_ONE),
        (Cardinality.MANY_ONE, ERModelRelationshipCardinalityClass.ONE_N),
        (Cardinality.MANY_MANY, ERModelRelationshipCardinalityClass.N_N),
    ],
)
def test_cardinality_is_read_from_source_to_destination(
    cardinality: Cardinality, mirrored: str
) -> None:
    found = replace(
        join(AIRLINE, CARRIER, 0.9), evidence=replace(EVIDENCE, cardinality=cardinality)
    )
    written = relationship(found)
    assert written.source == dataset_urn(FLIGHTS)
    assert written.destination == dataset_urn(AIRLINES)
    assert written.cardinality == mirrored


def test_what_is_left_may_be_the_source() -> None:
    # A comma ends a name in an urn: a blank, coming before it, turns the order round.
    first, second = TableId("file", "orders"), TableId("file", "orders archive")
    assert first < second
    assert dataset_urn(first) > dataset_urn(second)
    found = join(ColumnId(first, "customer"), ColumnId(second, "id"), 0.9)
    written = relationship(found, {first: "orders", second: "archive"})
    assert written.source == dataset_urn(first)
    assert written.cardinality == "ONE_N"
    assert written.customProperties["source_containment"] == "1.0000"


def test_evidence_read_twice_from_the_other_side_is_itself() -> None:
    assert mirror(mirror(EVIDENCE)) == EVIDENCE
    assert mirror(EVIDENCE) != EVIDENCE


def test_a_relationship_says_what_the_data_says() -> None:
    written = relationship(join(AIRLINE, CARRIER, 0.93))
    assert written.name == "nyc/flights.csv.carrier = nyc/airlines.csv.carrier"
    assert written.customProperties == {
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


def test_the_urn_is_the_one_the_server_gives_to_people() -> None:
    # The md5 of what CreateERModelRelationshipResolver of DataHub writes for this name.
    written = relationship(join(AIRLINE, CARRIER, 0.93))
    key = (
        f'{{"Destination":"{written.destination}",'
        f'"ERModelRelationName":"{written.name}","Source":"{written.source}"}}'
    )
    guid = hashlib.md5(key.encode(), usedforsecurity=False).hexdigest()
    urns = {
        unit.get_urn() for unit in emitted([join(AIRLINE, CARRIER, 0.93)]) if unit.is_primary_source
    }
    assert urns == {ErModelRelationshipUrn(guid).urn()}


def test_joins_between_the_same_tables_do_not_collide() -> None:
    pairs = [join(FAA, DEST, 0.9), join(FAA, ORIGIN, 0.9)]
    assert len({unit.get_urn() for unit in emitted(pairs) if unit.is_primary_source}) == 2


@pytest.mark.parametrize(
    ("joinability", "band"),
    [(1.0, "high"), (0.8, "high"), (0.7999, "medium"), (0.65, "medium"), (0.6499, "low")],
)
def test_the_band_is_a_tag_in_place_of_the_others(joinability: float, band: str) -> None:
    tagged = dict.fromkeys(["high", "medium", "low"], "remove") | {band: "add"}
    found = {
        change["path"].removeprefix("/tags//urn:li:tag:join:suggested-"): change["op"]
        for _, change in changes(emitted([join(AIRLINE, CARRIER, joinability)]), "globalTags")
    }
    assert found == tagged


def test_no_path_of_a_patch_ends_in_nothing() -> None:
    # Servers before 1.7 refuse such a path on an entity that has no such aspect yet.
    patches = [one for one in map(described, emitted()) if one["change"] == "PATCH"]
    assert not [c["path"] for one in patches for c in one["value"]["patch"] if c["path"][-1] == "/"]


def test_a_column_lists_its_own_suggestions_first_and_by_rank() -> None:
    assert properties("joinableWith")[column_urn(FAA)] == list(
        map(column_urn, [DEST, IATA, ORIGIN])
    )


def test_the_other_end_lists_the_pair_too() -> None:
    assert properties("joinSuggestions")[column_urn(ORIGIN)] == ["nyc/airports.csv.faa (0.52)"]


def test_what_others_ask_of_a_column_comes_after_what_it_asks() -> None:
    suggestions = [*SUGGESTIONS, suggestion(DEST, IATA, 1, 0.5)]
    units = emitted([*JOINS, join(DEST, IATA, 0.5)], suggestions)
    assert properties("joinSuggestions", units)[column_urn(DEST)] == [
        "world/airports.csv.codes.iata (0.50)",
        "nyc/airports.csv.faa (0.78)",
    ]


def test_the_best_score_is_the_best_wherever_it_stands() -> None:
    assert properties("bestJoinScore")[column_urn(FAA)] == [0.81]


def test_every_column_named_is_a_column_urn() -> None:
    named = [urn for urns in properties("joinableWith").values() for urn in urns]
    assert {SchemaFieldUrn.from_string(urn).field_path for urn in named} == {
        column.path for column in (CARRIER, ORIGIN, DEST, FAA, IATA)
    }


def test_a_dataset_links_to_what_it_joins_with() -> None:
    (line,) = properties("suggestedJoins")[dataset_urn(AIRLINES)]
    assert line.startswith("carrier joins with [flights.carrier](/dataset/urn%3Ali%3Adataset")
    assert line.endswith("/Columns) · 0.93")
    assert unquote(line.split("(")[1].split("/Columns")[0]) == f"/dataset/{dataset_urn(FLIGHTS)}"


def test_a_table_that_joins_with_itself_lists_it_once() -> None:
    units = emitted([join(ORIGIN, DEST, 0.9)], [])
    assert len(properties("suggestedJoins", units)[dataset_urn(FLIGHTS)]) == 1


def test_a_dataset_lists_its_ten_best_joins() -> None:
    many = [join(ColumnId(FLIGHTS, f"code{n}"), FAA, 0.9) for n in range(12)]
    units = emitted(many, [])
    assert len(properties("suggestedJoins", units)[dataset_urn(FLIGHTS)]) == 10
    assert len(properties("joinableWith", units)[column_urn(FAA)]) == 12


def test_names_do_not_turn_into_markdown() -> None:
    fare = ColumnId(FLIGHTS, "fare](https://example.org) `usd`")
    units = emitted([join(fare, FAA, 0.9)], [])
    (line,) = properties("suggestedJoins", units)[dataset_urn(AIRPORTS)]
    assert r"[flights.fare\](https://example.org) \`usd\`](/dataset/" in line


def test_a_value_is_cut_to_what_the_index_takes() -> None:
    units = emitted([join(ColumnId(FLIGHTS, "é" * 20000), FAA, 0.9)], [])
    (value,) = properties("joinSuggestions", units)[column_urn(FAA)]
    assert len(value.encode()) in {32765, 32766}


def test_names_with_reserved_characters_come_back() -> None:
    column = ColumnId(TableId("file", "fares (2013), paid.csv"), "total, usd")
    urn = SchemaFieldUrn.from_string(column_urn(column))
    assert Urn.from_string(urn.parent).urn() == dataset_urn(column.table)
    assert unquote(urn.field_path) == "total, usd"


def test_two_namespaces_share_no_property() -> None:
    one, other = (
        {
            u.get_urn()
            for u in emitted(config=replace(PROPERTIES, namespace=space))
            if "structuredProperty" in u.get_urn()
        }
        for space in ("io.one", "io.other")
    )
    assert len(one) == len(other) == 4
    assert not one & other
