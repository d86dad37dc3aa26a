"""Test which tables and columns a run covers, and which field paths it writes."""

from collections.abc import Callable
from pathlib import Path

from datahub.metadata.schema_classes import (
    ERModelRelationshipPropertiesClass,
    StructuredPropertiesClass,
)

from datahub_hyperjoin.metadata.urns import column_urn
from datahub_hyperjoin.tables import ColumnId
from gms import Gms
from lakes.lake import codes, column, describe, table, write_table

Ingest = Callable[..., str]
V2 = "[version=2.0].[type=struct].[type=string].tailnum"


def joined(gms: Gms) -> set[str]:
    """Return the field paths of all columns that relationships connect."""
    found = (
        gms.get(urn, ERModelRelationshipPropertiesClass) for urn in gms.urns("erModelRelationship")
    )
    return {
        path
        for one in found
        if one
        for mapping in one.relationshipFieldMappings
        for path in (mapping.sourceField, mapping.destinationField)
    }


def test_columns_are_written_by_the_catalogs_own_paths(gms: Gms, ingest: Ingest) -> None:
    describe(gms, "planes.csv", [V2, "maker"])
    ingest("--no-default-report")
    assert V2 in joined(gms)
    urn = column_urn(ColumnId(table("planes.csv"), V2))
    assert gms.get(urn, StructuredPropertiesClass)
    assert not gms.get(column_urn(column("planes.csv.tailnum")), StructuredPropertiesClass)
    before = len(gms.writes)
    ingest("--no-default-report")
    assert {write.entity for write in gms.writes[before:]} <= {"dataJob"}


def test_tables_and_columns_that_the_catalog_does_not_know_are_left_out(
    gms: Gms, ingest: Ingest, lake: Path
) -> None:
    write_table(lake, "private.csv", {"carrier": codes("CA"), "salary": codes("S")})
    describe(gms, "airports.csv", ["town"])
    output = ingest()
    assert "Tables not in the catalog" in output
    assert "private.csv" in output
    assert "Column not in the catalog" in output
    assert "airports.csv" in output[output.index("Column not in the catalog") :]
    assert not [write for write in gms.writes if "private.csv" in write.urn]
    assert "faa" not in joined(gms)


def test_all_tables_are_taken_where_the_recipe_says_so(
    gms: Gms, ingest: Ingest, lake: Path
) -> None:
    write_table(lake, "private.csv", {"carrier": codes("CA"), "salary": codes("S")})
    ingest(catalog={"folder": str(lake), "known_only": False})
    assert [write for write in gms.writes if "private.csv" in write.urn]


def test_a_catalog_that_knows_none_of_the_tables_ends_the_run(ingest: Ingest, lake: Path) -> None:
    output = ingest(fails=True, catalog={"folder": str(lake), "platform": "s3"})
    assert "DataHub knows none of the tables on platform 's3' in env 'PROD'" in output
    assert "`catalog.known_only: false`" in output
