import json
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol
from unittest.mock import create_autospec

import pytest
from datahub.configuration.common import OperationalError
from datahub.emitter.mcp import MetadataChangeProposalWrapper
from datahub.ingestion.api.common import PipelineContext, RecordEnvelope
from datahub.ingestion.api.sink import NoopWriteCallback
from datahub.ingestion.api.workunit import MetadataWorkUnit
from datahub.ingestion.graph.client import DataHubGraph
from datahub.ingestion.graph.config import DatahubClientConfig
from datahub.ingestion.sink.file import FileSink
from datahub.metadata.schema_classes import ASPECT_NAME_MAP
from datahub.metadata.urns import Urn

from datahub_hyperjoin.catalog.written_state import WrittenState
from datahub_hyperjoin.emit import EmitConfig
from datahub_hyperjoin.emit.config import LineageForm
from datahub_hyperjoin.emit.errors import RefusedError
from datahub_hyperjoin.emit.existing import ExistingState
from datahub_hyperjoin.emit.layer import Writing
from datahub_hyperjoin.emit.layers import write_layers
from datahub_hyperjoin.emit.publication import Publication
from datahub_hyperjoin.joins import Bridge, CrosswalkJoin, Derivation, Join, Role, Statement
from datahub_hyperjoin.metadata.relationships import join_urn
from datahub_hyperjoin.metadata.urns import column_urn, dataset_urn
from datahub_hyperjoin.tables import ColumnId, TableId

MakeJoin = Callable[[ColumnId, ColumnId, float], Join]
Describe = Callable[[MetadataWorkUnit], dict[str, Any]]

GOLDEN = Path(__file__).parent / "golden"
FLIGHTS, AIRLINES = TableId("file", "nyc/flights.csv"), TableId("file", "nyc/airlines.csv")
AIRPORTS, WORLD = TableId("file", "nyc/airports.csv"), TableId("s3", "world/airports.csv")
TITLES = {FLIGHTS: "flights", AIRLINES: "airlines", AIRPORTS: "airports", WORLD: "airports"}
CARRIER, AIRLINE = ColumnId(FLIGHTS, "carrier"), ColumnId(AIRLINES, "carrier")
ORIGIN, DEST = ColumnId(FLIGHTS, "origin"), ColumnId(FLIGHTS, "dest")
FAA, IATA = ColumnId(AIRPORTS, "faa"), ColumnId(WORLD, "codes.iata")
FOUND = [
    (AIRLINE, CARRIER, 0.93),
    (FAA, DEST, 0.78),
    (FAA, IATA, 0.81),
    (FAA, ORIGIN, 0.52),
    (ORIGIN, DEST, 0.4),
]
BOTH, NEITHER = EmitConfig(), EmitConfig(relationships=False, properties=False)
RELATIONSHIPS, PROPERTIES = EmitConfig(properties=False), EmitConfig(relationships=False)


class Emit(Protocol):
    """A function that returns all metadata that a run writes."""

    def __call__(
        self,
        config: EmitConfig = BOTH,
        *,
        graph: DataHubGraph | None = None,
    ) -> list[MetadataWorkUnit]: ...


@pytest.fixture
def joins(make_join: MakeJoin) -> list[Join]:
    found = [make_join(query, candidate, score) for query, candidate, score in FOUND]
    found[0] = replace(found[0], role=Role.REFERENCE, referenced=AIRLINE)
    found[3] = replace(found[3], role=Role.SIBLING)
    return sorted(found, key=lambda join: -join.joinability)


@pytest.fixture
def emit(joins: list[Join], make_join: MakeJoin) -> Emit:
    follows = make_join(DEST, IATA, 0.7)

    def run(
        config: EmitConfig = BOTH,
        *,
        graph: DataHubGraph | None = None,
    ) -> list[MetadataWorkUnit]:
        publication = Publication(
            joins=[*joins, follows],
            implied=frozenset({follows.pairs}),
            derived={follows.pairs: Derivation.SAME_KEY},
            titles=TITLES,
            model_version="0.1.0-abc",
        )
        found = write_layers(
            Writing(
                publication=publication,
                config=config,
                existing=ExistingState(),
                written=WrittenState(),
                graph=graph,
                count=lambda *_: None,
            )
        )
        return list(found)

    return run


@pytest.mark.parametrize(
    ("layer", "config"), [("relationships", RELATIONSHIPS), ("properties", PROPERTIES)]
)
def test_each_layer_is_written_as_agreed(
    layer: str, config: EmitConfig, emit: Emit, describe: Describe
) -> None:
    found = list(map(describe, emit(config)))
    file = GOLDEN / f"{layer}.json"
    if os.environ.get("HYPERJOIN_UPDATE_GOLDEN"):
        file.write_text(json.dumps(found, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    assert found == json.loads(file.read_text(encoding="utf-8"))


def test_both_layers_together_are_the_two_alone(emit: Emit, describe: Describe) -> None:
    alone = [*emit(RELATIONSHIPS), *emit(PROPERTIES)]
    assert list(map(describe, emit())) == list(map(describe, alone))
    assert emit(NEITHER) == []


def test_every_urn_is_one_that_datahub_knows(emit: Emit, describe: Describe) -> None:
    for one in map(describe, emit()):
        assert Urn.from_string(one["urn"]).urn() == one["urn"]
        assert Urn.from_string(one["urn"]).entity_type == one["entity"]


def test_every_whole_aspect_is_valid(emit: Emit) -> None:
    whole = [
        unit.metadata for unit in emit() if isinstance(unit.metadata, MetadataChangeProposalWrapper)
    ]
    assert len(whole) == 10 + len(FOUND) + 2 * 8
    assert all(proposal.validate() for proposal in whole)


def test_every_changed_element_is_valid(emit: Emit, describe: Describe) -> None:
    patches = [one for one in map(describe, emit()) if one["change"] == "PATCH"]
    for one in patches:
        (field,) = one["value"]["arrayPrimaryKeys"]
        added = [each["value"] for each in one["value"]["patch"] if each["op"] == "add"]
        assert ASPECT_NAME_MAP[one["aspect"]].from_obj({field: added}).validate()
    assert len(patches) == len(FOUND) + 6 + len(TITLES)


def test_datahub_reads_the_file(tmp_path: Path, emit: Emit) -> None:
    file = tmp_path / "findings.json"
    sink = FileSink.create({"filename": str(file)}, PipelineContext(run_id="lake"))
    with closing(sink):
        for unit in emit():
            sink.write_record_async(RecordEnvelope(unit.metadata, {}), NoopWriteCallback())
    command = [sys.executable, "-m", "datahub", "check", "metadata-file", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_without_a_server_each_definition_comes_before_its_values(
    emit: Emit, describe: Describe
) -> None:
    defined: set[str] = set()
    for one in map(describe, emit()):
        if one["change"] == "CREATE":
            defined.add(one["urn"])
        if one["change"] == "PATCH":
            assert {change["path"].split("/")[-1] for change in one["value"]["patch"]} <= defined
    assert len(defined) == 10 + 8


def test_a_server_gets_the_definitions_before_any_value(joins: list[Join]) -> None:
    server = create_autospec(DataHubGraph, instance=True)
    findings = write_layers(
        Writing(
            publication=Publication(joins=joins, titles=TITLES, model_version=""),
            config=PROPERTIES,
            existing=ExistingState(),
            written=WrittenState(),
            graph=server,
            count=lambda *_: None,
        )
    )
    assert {server.emit_mcp.call_count for _ in findings} == {16}


def test_a_server_and_a_file_get_the_same_definitions(emit: Emit, describe: Describe) -> None:
    server = create_autospec(DataHubGraph, instance=True)
    values = emit(graph=server)
    definitions = [unit for unit in emit() if describe(unit)["change"] == "CREATE"]
    committed = [call.args for call in server.emit_mcp.call_args_list]
    assert committed == [(unit.metadata,) for unit in definitions]
    assert len(values) + len(definitions) == len(emit())


@pytest.mark.parametrize(
    ("info", "reason"),
    [
        ({"message": "Unauthorized."}, "Unauthorized. Grant the owner of the sink's token"),
        ({}, "Unable to emit. Grant the owner of the sink's token"),
    ],
)
def test_a_server_that_refuses_is_quoted(info: dict[str, str], reason: str, emit: Emit) -> None:
    server = create_autospec(DataHubGraph, instance=True)
    server.config = DatahubClientConfig(server="http://gms:8080")
    server.emit_mcp.side_effect = OperationalError("Unable to emit", info)
    with pytest.raises(RefusedError, match=f"refuses to define urn:li:tag:join.*-high: {reason}"):
        emit(graph=server)


def test_a_definition_that_exists_is_left_alone(emit: Emit, describe: Describe) -> None:
    created = [one for one in map(describe, emit()) if one["change"] == "CREATE"]
    assert len(created) == 10 + 2 * 8
    assert all(one["headers"] == {"If-None-Match": "*"} for one in created)


def test_only_relationships_are_written_whole(emit: Emit, describe: Describe) -> None:
    written = {one["aspect"] for one in map(describe, emit()) if one["change"] == "UPSERT"}
    assert written == {"erModelRelationshipProperties"}


def test_only_relationships_are_ours_to_delete(emit: Emit, describe: Describe) -> None:
    ours = [describe(unit) for unit in emit() if unit.is_primary_source]
    assert [one["aspect"] for one in ours] == ["erModelRelationshipProperties"] * len(FOUND)


def test_nothing_sets_a_status(emit: Emit, describe: Describe) -> None:
    assert "status" not in {one["aspect"] for one in map(describe, emit())}


def test_a_second_run_writes_the_same(emit: Emit, describe: Describe) -> None:
    again = emit()
    assert json.dumps(list(map(describe, again))) == json.dumps(list(map(describe, emit())))


def test_workunits_have_names_of_their_own(emit: Emit) -> None:
    units = emit()
    assert len({unit.id for unit in units}) == len(units)


def test_a_table_that_joins_with_itself_lists_it_once(emit: Emit, describe: Describe) -> None:
    (one,) = (one for one in map(describe, emit(PROPERTIES)) if one["urn"] == dataset_urn(FLIGHTS))
    (change,) = one["value"]["patch"]
    assert len(change["value"]["values"]) == 4 + 1  # and the number of other tables


def test_both_ends_of_a_join_are_written(emit: Emit, describe: Describe) -> None:
    written = {one["urn"] for one in map(describe, emit(PROPERTIES))}
    assert set(map(column_urn, [CARRIER, AIRLINE, ORIGIN, DEST, FAA, IATA])) < written
    assert set(map(dataset_urn, TITLES)) < written


def test_two_namespaces_share_no_property(emit: Emit, describe: Describe) -> None:
    one, other = (
        {
            found["urn"]
            for found in map(describe, emit(replace(PROPERTIES, namespace=namespace)))
            if found["entity"] == "structuredProperty"
        }
        for namespace in ("io.one", "io.other")
    )
    assert len(one) == len(other) == 8
    assert not one & other


EVERY_LAYER = EmitConfig(queries=True, lineage=LineageForm.DASHED)


def write_all(publication: Publication, describe: Describe) -> list[dict[str, Any]]:
    units = write_layers(
        Writing(
            publication=publication,
            config=EVERY_LAYER,
            existing=ExistingState(),
            written=WrittenState(),
            graph=None,
            count=lambda *_: None,
        )
    )
    return [describe(unit) for unit in units]


def test_joins_that_others_imply_are_listed_by_their_columns_only(
    make_join: MakeJoin, describe: Describe
) -> None:
    joins = [make_join(FAA, IATA, 0.9), make_join(FAA, ORIGIN, 0.8), make_join(IATA, ORIGIN, 0.7)]
    statements = {join.pairs: Statement(sql=f"SELECT {at}") for at, join in enumerate(joins)}
    units = write_all(
        Publication(
            joins=joins,
            implied=frozenset({joins[2].pairs}),
            statements=statements,
            titles=TITLES,
            model_version="1",
        ),
        describe,
    )
    relationships = [
        unit["urn"] for unit in units if unit["aspect"] == "erModelRelationshipProperties"
    ]
    assert set(relationships) == {join_urn(join) for join in joins[:2]}
    queries = [unit["value"] for unit in units if unit["aspect"] == "queryProperties"]
    assert [query["statement"]["value"] for query in queries] == ["SELECT 0", "SELECT 1"]
    (origin,) = (unit for unit in units if unit["urn"] == column_urn(ORIGIN))
    assert column_urn(IATA) in json.dumps(origin["value"])


def test_a_join_in_two_steps_is_a_query_and_a_suggestion_of_both_columns(
    make_join: MakeJoin, describe: Describe
) -> None:
    evidence = make_join(FAA, DEST, 0.9).measured
    bridge = Bridge(AIRLINE, FAA, ColumnId(AIRPORTS, "name"), CARRIER)
    crosswalk = CrosswalkJoin(
        bridge=bridge,
        joinability=0.7,
        left_step=evidence,
        right_step=evidence,
        evidence=evidence,
    )
    units = write_all(
        Publication(
            joins=[],
            crosswalks=[crosswalk],
            statements={crosswalk.pairs: Statement(sql="SELECT 1")},
            titles=TITLES,
            model_version="1",
        ),
        describe,
    )
    assert not any(unit["aspect"] == "erModelRelationshipProperties" for unit in units)
    assert [unit["aspect"] for unit in units if unit["entity"] == "query"] == [
        "queryProperties",
        "querySubjects",
        "dataPlatformInstance",
    ]
    (carrier,) = (unit for unit in units if unit["urn"] == column_urn(CARRIER))
    assert "through airports in nyc, in two steps)" in json.dumps(carrier["value"])
