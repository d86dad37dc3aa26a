import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from datahub.ingestion.api.workunit import MetadataWorkUnit
from datahub.metadata.schema_classes import DocumentInfoClass

from datahub_hyperjoin.catalog.written_state import WrittenState
from datahub_hyperjoin.emit import EmitConfig
from datahub_hyperjoin.emit.documents import emit_guide, emit_overview
from datahub_hyperjoin.emit.existing import ExistingState
from datahub_hyperjoin.emit.layer import Writing
from datahub_hyperjoin.emit.layers import write_layers
from datahub_hyperjoin.emit.publication import Publication
from datahub_hyperjoin.joins import Derivation, Join, Statement
from datahub_hyperjoin.metadata.urns import JOIN_OVERVIEW, document_urn
from datahub_hyperjoin.tables import ColumnId, TableId

MakeJoin = Callable[[ColumnId, ColumnId, float], Join]
Describe = Callable[[MetadataWorkUnit], dict[str, Any]]

GOLDEN = Path(__file__).parent / "golden" / "documents.json"
FLIGHTS, AIRLINES = TableId("file", "nyc/flights.csv"), TableId("file", "nyc/airlines.csv")
CARRIER, AIRLINE = ColumnId(FLIGHTS, "carrier"), ColumnId(AIRLINES, "carrier")
IATA = ColumnId(TableId("file", "world.csv"), "iata")
VERSION, NOW = "0.1.0-abc", 1_700_000_000_000


def emit() -> list[MetadataWorkUnit]:
    text = "# How to join nyc/flights.csv"
    guide = emit_guide(FLIGHTS, label="flights", text=text, model_version=VERSION, now=NOW)
    return [*guide, emit_overview(model_version=VERSION, now=NOW)]


def test_documents_are_written_as_agreed(describe: Describe) -> None:
    found = [describe(unit) for unit in emit()]
    if os.environ.get("HYPERJOIN_UPDATE_GOLDEN"):
        GOLDEN.write_text(json.dumps(found, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    assert found == json.loads(GOLDEN.read_text(encoding="utf-8"))


def test_every_aspect_is_valid_and_of_one_entity_per_table() -> None:
    units = emit()
    assert len({unit.id for unit in units}) == len(units) == 3
    assert all(unit.metadata.validate() for unit in units)
    assert {unit.get_urn() for unit in units} == {document_urn(FLIGHTS), JOIN_OVERVIEW}
    assert document_urn(FLIGHTS) != document_urn(TableId("file", "nyc/planes.csv"))


def test_nothing_of_it_is_the_frameworks_to_delete() -> None:
    assert not any(unit.is_primary_source for unit in emit())


def texts(publication: Publication) -> dict[str, str]:
    """Return the texts of all documents that a run writes, by their titles."""
    units = write_layers(
        Writing(
            publication=publication,
            config=EmitConfig(relationships=False, properties=False, documents=True),
            existing=ExistingState(),
            written=WrittenState(),
            graph=None,
            count=lambda name, number: None,  # noqa: ARG005 - nothing is counted
        )
    )
    found = (unit.get_aspect_of_type(DocumentInfoClass) for unit in units)
    return {info.title or "": info.contents.text for info in found if info}


def test_the_joins_that_a_domain_implies_are_listed_too(make_join: MakeJoin) -> None:
    joins = [make_join(AIRLINE, CARRIER, 0.9), make_join(AIRLINE, IATA, 0.8)]
    publication = Publication(
        joins=joins,
        implied=frozenset({joins[1].pairs}),
        titles={FLIGHTS: "flights", AIRLINES: "airlines", IATA.table: "world"},
        statements={joins[0].pairs: Statement(sql="SELECT 1")},
        model_version=VERSION,
    )
    found = texts(publication)
    assert found.keys() == {
        "How to join flights",
        "How to join airlines",
        "How to join world",
        "How to join datasets",
    }
    assert all(name in found["How to join airlines"] for name in ("flights.csv", "world.csv"))
    assert "airlines.csv.carrier" in found["How to join world"]

    found = texts(replace(publication, derived={joins[1].pairs: Derivation.SAME_KEY}))
    assert "How to join world" not in found
    assert "world.csv" not in found["How to join airlines"]


def test_a_run_without_joins_writes_no_document() -> None:
    assert texts(Publication(joins=(), titles={}, model_version=VERSION)) == {}
