import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from datahub.ingestion.api.workunit import MetadataWorkUnit

from datahub_hyperjoin.emit.documents import emit_guide, emit_overview
from datahub_hyperjoin.tables import TableId
from datahub_hyperjoin.urns import JOIN_OVERVIEW, document_urn

Describe = Callable[[MetadataWorkUnit], dict[str, Any]]

GOLDEN = Path(__file__).parent / "golden" / "documents.json"
FLIGHTS = TableId("file", "nyc/flights.csv")
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
