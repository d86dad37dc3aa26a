"""Write small lakes with known joins, and describe them in a catalog."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
from datahub.metadata.schema_classes import (
    ForeignKeyConstraintClass,
    NumberTypeClass,
    OtherSchemaClass,
    SchemaFieldClass,
    SchemaFieldDataTypeClass,
    SchemaMetadataClass,
    StringTypeClass,
)

from datahub_hyperjoin.joins import Cardinality, Evidence
from datahub_hyperjoin.metadata.urns import column_urn, dataset_urn
from datahub_hyperjoin.tables import ColumnId, TableId
from gms import Gms

Columns = Mapping[str, Iterable[object]]

EVIDENCE = Evidence(
    shared=16,
    left_containment=1.0,
    right_containment=0.8,
    cardinality=Cardinality.ONE_MANY,
    left_fan_out=9.0,
    right_fan_out=1.0,
)
"""Evidence of a key on the left, to which the right column refers."""


def table(name: str) -> TableId:
    return TableId("file", name)


def column(path: str) -> ColumnId:
    """Return the column named by `table.csv.column`."""
    name, _, field = path.rpartition(".")
    return ColumnId(table(name), field)


def codes(letters: str, count: int = 40) -> list[str]:
    """Return codes that start with the given letters."""
    return [f"{letters}{at:03}" for at in range(count)]


def write_table(folder: Path, name: str, columns: Columns) -> None:
    folder.joinpath(name).parent.mkdir(parents=True, exist_ok=True)
    rows = zip(*columns.values(), strict=True)
    lines = [",".join(columns), *(",".join(map(str, row)) for row in rows)]
    folder.joinpath(name).write_text("\n".join(lines) + "\n")


def write_flights(folder: Path) -> None:
    """Write flights, and the three tables that they refer to.

    A further table shares the key of airlines.
    """
    random = np.random.default_rng(0)
    carriers, airports, planes = codes("CA"), codes("K", 60), codes("N-", 80)
    write_table(folder, "airlines.csv", {"carrier": carriers, "title": codes("Air ")})
    write_table(folder, "airports.csv", {"faa": airports, "town": codes("Town ", 60)})
    write_table(folder, "planes.csv", {"tailnum": planes, "maker": codes("Maker ", 80)})
    write_table(
        folder,
        "flights.csv",
        {
            "carrier": random.choice(carriers, 300),
            "origin": random.choice(airports, 300),
            "tailnum": random.choice(planes, 300),
            "minutes": random.integers(20, 600, 300) / 7,
        },
    )
    write_table(folder, "delays.csv", {"carrier": carriers, "share": random.random(40)})


def describe(
    gms: Gms,
    name: str,
    paths: Iterable[str],
    *,
    foreign: Mapping[str, str] | None = None,
    platform: str = "file",
    env: str = "PROD",
) -> None:
    """Put a table into the catalog, as its own connector would.

    `foreign` maps columns of the table to the columns that they refer to.
    """
    urn = dataset_urn(TableId(platform, name, env))
    fields = [
        SchemaFieldClass(
            fieldPath=path,
            type=SchemaFieldDataTypeClass(
                type=(NumberTypeClass if path in {"minutes", "share"} else StringTypeClass)()
            ),
            nativeDataType="",
        )
        for path in paths
    ]
    keys = [
        ForeignKeyConstraintClass(
            name=f"fk_{own}",
            foreignFields=[column_urn(column(target))],
            sourceFields=[column_urn(ColumnId(table(name), own))],
            foreignDataset=dataset_urn(column(target).table),
        )
        for own, target in (foreign or {}).items()
    ]
    schema = SchemaMetadataClass(
        schemaName=name,
        platform=f"urn:li:dataPlatform:{platform}",
        version=0,
        hash="",
        platformSchema=OtherSchemaClass(rawSchema=""),
        fields=fields,
        foreignKeys=keys or None,
    )
    gms.put(urn, schema, pipeline="connector")


def describe_folder(gms: Gms, folder: Path) -> None:
    """Put every table of a folder into the catalog."""
    for file in sorted(folder.rglob("*.csv")):
        header = file.read_text().split("\n", 1)[0]
        describe(gms, file.relative_to(folder).as_posix(), header.split(","))
