"""Test that Avro files are read according to their schemas."""

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import fastavro
import pytest

from datahub_hyperjoin.locations import File
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.databases.engines import Databases
from datahub_hyperjoin.spark.errors import EmptyTableError, UnreadableTableError
from datahub_hyperjoin.spark.profiles.local_batch import profile_table
from datahub_hyperjoin.spark.read import read_table
from datahub_hyperjoin.tables import DataType, Table, TableId

ADDRESS = {
    "type": "record",
    "name": "Address",
    "fields": [{"name": "city", "type": ["null", "string"]}],
}
SCHEMA = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "day", "type": {"type": "int", "logicalType": "date"}},
        {
            "name": "price",
            "type": {"type": "bytes", "logicalType": "decimal", "precision": 6, "scale": 2},
        },
        {"name": "key", "type": {"type": "string", "logicalType": "uuid"}},
        {"name": "home", "type": ["null", ADDRESS]},
        {"name": "work", "type": "Address"},
        {"name": "either", "type": ["int", "string"]},
        {"name": "tags", "type": {"type": "array", "items": "double"}},
        {"name": "photo", "type": "bytes"},
        {"name": "state", "type": {"type": "enum", "name": "State", "symbols": ["OPEN", "PAID"]}},
    ],
}
KEY = UUID("12345678-1234-5678-1234-567812345678")


def order(number: int, **fields: object) -> dict[str, Any]:
    defaults = {
        "id": number,
        "day": dt.date(2024, 1, number),
        "price": Decimal("12.50"),
        "key": KEY,
        "home": {"city": "Oslo"},
        "work": {"city": None},
        "either": number if number % 2 else "two",
        "tags": [0.5],
        "photo": b"\xff",
        "state": "OPEN",
    }
    return defaults | fields


def write(path: Path, records: list[dict[str, Any]], codec: str = "deflate") -> Table:
    with path.open("wb") as file:
        fastavro.writer(file, fastavro.parse_schema(SCHEMA), records, codec=codec)
    location = File(uri=str(path), format="avro")
    return Table(id=TableId("file", "orders.avro"), title="orders", location=location, size=1)


@pytest.mark.parametrize("codec", ["null", "deflate", "bzip2", "xz"])
def test_every_kind_of_field_is_a_column(tmp_path: Path, codec: str) -> None:
    table = write(tmp_path / "orders.avro", [order(1), order(2, home=None)], codec)
    profile = profile_table(table, ProfileConfig(), Databases())
    types = {column.id.path: column.type for column in profile.columns}
    samples = {column.id.path: sorted(column.sample) for column in profile.columns}
    assert types == {
        "id": DataType.INTEGER,
        "day": DataType.DATE,
        "price": DataType.DECIMAL,
        "key": DataType.TEXT,
        "home.city": DataType.TEXT,
        "work.city": DataType.TEXT,
        "either": DataType.TEXT,
        "tags": DataType.NESTED,
        "photo": DataType.TEXT,
        "state": DataType.TEXT,
    }
    assert samples["home.city"] == ["Oslo"]
    assert samples["key"] == [str(KEY)]
    assert samples["either"] == ["1", "two"]
    assert {c.id.path: c.nulls for c in profile.columns}["home.city"] == 1


def test_only_requested_columns_are_read(tmp_path: Path) -> None:
    table = write(tmp_path / "orders.avro", [order(1), order(2)])
    stream = read_table(table, Databases(), max_rows=9, paths={"home.city", "id"})
    assert [batch.to_pylist() for batch in stream.batches] == [
        [{"id": 1, "home.city": "Oslo"}, {"id": 2, "home.city": "Oslo"}]
    ]
    stream = read_table(table, Databases(), max_rows=9, paths={"photo"})
    assert [batch.to_pylist() for batch in stream.batches] == [[{"photo": "ff"}] * 2]


def test_a_file_that_is_not_avro_is_rejected(tmp_path: Path) -> None:
    table = write(tmp_path / "orders.avro", [order(1)])
    path = tmp_path / "orders.avro"
    path.write_bytes(b"id,city\n1,Oslo\n")
    with pytest.raises(UnreadableTableError, match=r"does not begin like an Avro file\. Fix"):
        read_table(table, Databases(), max_rows=9)


def test_a_truncated_file_is_rejected(tmp_path: Path) -> None:
    table = write(tmp_path / "orders.avro", [order(number) for number in range(1, 10)], "null")
    path = tmp_path / "orders.avro"
    path.write_bytes(path.read_bytes()[:-40])
    stream = read_table(table, Databases(), max_rows=99)
    with pytest.raises(UnreadableTableError, match=r"cannot be read: .*Fix the file"):
        list(stream.batches)


def test_a_file_without_records_is_empty(tmp_path: Path) -> None:
    stream = read_table(write(tmp_path / "orders.avro", []), Databases(), max_rows=9)
    with pytest.raises(EmptyTableError, match="has a header but no rows"):
        list(stream.batches)
