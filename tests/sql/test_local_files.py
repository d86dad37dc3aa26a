"""Test the addresses by which SQL names files."""

from pathlib import Path

import pytest

from datahub_hyperjoin.locations import File, Folder
from datahub_hyperjoin.sql.duckdb_engine import FileAddresses
from datahub_hyperjoin.tables import Table, TableId


def address(platform: str, name: str, *, base: str = "", instance: str = "") -> str:
    location = File(uri="/data/lake/shop/Orders.csv", format="csv")
    table = Table(
        id=TableId(platform, name), title=name, location=location, size=1, instance=instance
    )
    return FileAddresses(folder=Path("/data/lake"), base=base).of(table, location)


@pytest.mark.parametrize(
    ("platform", "name", "expected"),
    [
        ("file", "data/lake/shop/Orders.csv", "/data/lake/shop/Orders.csv"),
        ("file", "shop/Orders.csv", "/data/lake/shop/Orders.csv"),
        ("hive", "shop.orders", "/data/lake/shop/Orders.csv"),
        ("s3", "bucket/shop/orders.csv", "s3://bucket/shop/orders.csv"),
        ("gcs", "bucket/shop/Orders.csv", "gs://bucket/shop/Orders.csv"),
        ("abs", "container/Orders.csv", "az://container/Orders.csv"),
        # The dataset stands for a folder, and the file may have any name there.
        ("s3", "bucket/shop/orders", "/data/lake/shop/Orders.csv"),
    ],
)
def test_the_platform_tells_where_readers_find_a_file(
    platform: str, name: str, expected: str
) -> None:
    assert address(platform, name) == expected


def test_an_instance_is_no_part_of_an_address() -> None:
    assert address("s3", "west.bucket/orders.csv", instance="west") == "s3://bucket/orders.csv"


@pytest.mark.parametrize("base", ["s3://exports/2024", "s3://exports/2024/"])
def test_the_recipe_knows_better(base: str) -> None:
    expected = "s3://exports/2024/shop/Orders.csv"
    assert address("s3", "bucket/shop/orders.csv", base=base) == expected
    assert address("file", "shop/Orders.csv", base=base) == expected


def test_a_folder_of_files_has_the_address_of_its_dataset() -> None:
    location = Folder(uri="/data/lake/sales", format="parquet", parts=("a.parquet",))
    table = Table(id=TableId("s3", "lake/sales"), title="sales", location=location, size=1)
    assert FileAddresses(folder=Path("/data/lake")).of(table, location) == "s3://lake/sales"
