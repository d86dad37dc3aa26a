from collections.abc import Callable
from typing import Any

import pytest
from datahub.ingestion.api.workunit import MetadataWorkUnit

from datahub_hyperjoin.emit import revive
from datahub_hyperjoin.emit.patches import set_properties
from datahub_hyperjoin.emit.relationships import emit_relationship
from datahub_hyperjoin.tables import ColumnId, Join, TableId

MakeJoin = Callable[[ColumnId, ColumnId, float], Join]
Describe = Callable[[MetadataWorkUnit], dict[str, Any]]

CARRIER = ColumnId(TableId("file", "flights.csv"), "carrier")
AIRLINE = ColumnId(TableId("file", "airlines.csv"), "carrier")


@pytest.fixture
def units(make_join: MakeJoin) -> list[MetadataWorkUnit]:
    return list(emit_relationship(make_join(CARRIER, AIRLINE, 0.9), "0.1.0-abc"))


def test_what_the_last_run_did_not_write_is_shown_again(
    units: list[MetadataWorkUnit], describe: Describe
) -> None:
    whole, status, tags = revive(units, known=set())
    assert [whole, tags] == units
    assert describe(status)["urn"] == units[0].get_urn()
    assert (describe(status)["aspect"], describe(status)["value"]) == ("status", {"removed": False})
    assert status.is_primary_source


def test_what_people_hid_stays_hidden(units: list[MetadataWorkUnit]) -> None:
    assert list(revive(units, known={units[0].get_urn()})) == units


def test_columns_and_datasets_get_no_status() -> None:
    column = "urn:li:schemaField:(urn:li:dataset:(urn:li:dataPlatform:file,a.csv,PROD),code)"
    unit = set_properties(column, {"urn:li:structuredProperty:score": [0.9]})
    assert list(revive([unit], known=set())) == [unit]
