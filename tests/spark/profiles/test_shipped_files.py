"""Test that remote files are read like local ones."""

import gzip
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from datahub_hyperjoin.locations import DeltaFolder, Dialect, File, Folder
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.databases.engines import Databases
from datahub_hyperjoin.spark.native.remote import list_delta_logs, list_files
from datahub_hyperjoin.spark.profiles.local_batch import profile_table
from datahub_hyperjoin.spark.profiles.profile import profile_lake
from datahub_hyperjoin.spark.routes import Route, route_of
from datahub_hyperjoin.spark.verification.verify import ColumnKinds, verify_joins
from datahub_hyperjoin.tables import ColumnId, DataType, Table, TableId

CONFIG = ProfileConfig()
CITIES = "id,city,code\n1,Köln,DE\n2,Windhoek,NA\n3,Windhoek,NA\n4,,FR\n"
PARTS = {
    "year=2023/part-0.csv": "id,code\n1,NA\n2,DE\n",
    "year=2024/part-0.csv": "id,code\n3,NA\nNA,NA\n",
    "year=2024/part-1.csv": "id,code\n5,FR\n",
}


@dataclass(frozen=True)
class Lake:
    """A folder, with its local path and its URI in a remote file system."""

    near: Path
    far: str


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path) -> Iterator[Lake]:
    """Create a folder that Spark also reads through another file system."""
    host = tmp_path.name.replace("_", "-")  # Hadoop caches each file system that it opens.
    key = f"fs.viewfs.mounttable.{host}.link./data"
    spark.conf.set(key, tmp_path.as_uri())
    files: dict[str, bytes] = {
        "cities.csv": CITIES.encode(),
        "with space [1].csv": CITIES.encode("utf-16"),
        "lines.jsonl.gz": gzip.compress(b'{"id": 1, "home": {"city": "Oslo"}}\n'),
        "empty.csv": b"",
        **{f"orders/{name}": text.encode() for name, text in PARTS.items()},
    }
    for name, content in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    pq.write_table(pa.table({"id": range(5), "tags": [[0.5]] * 5}), tmp_path / "five.parquet")
    yield Lake(tmp_path, f"viewfs://{host}/data")
    spark.conf.unset(key)


def file(root: str, name: str, layout: str) -> Table:
    location = File(uri=f"{root}/{name}", format=layout)
    return Table(id=TableId("file", name), title=name, location=location, size=1)


def folder(root: str, name: str = "orders") -> Table:
    location = Folder(uri=f"{root}/{name}", format="csv", parts=tuple(sorted(PARTS)))
    return Table(id=TableId("file", name), title=name, location=location, size=1)


def tables(root: str) -> list[Table]:
    return [
        file(root, "cities.csv", "csv"),
        file(root, "with space [1].csv", "csv"),
        folder(root),
        file(root, "lines.jsonl.gz", "jsonl"),
        file(root, "five.parquet", "parquet"),
    ]


def test_shipped_files_are_profiled_like_local_ones(spark: SparkSession, lake: Lake) -> None:
    far = profile_lake(spark, tables(lake.far), CONFIG)
    near = [profile_table(table, CONFIG, Databases()) for table in tables(str(lake.near))]
    assert [replace(left, table=right.table) for left, right in zip(far, near, strict=True)] == near
    assert far[1].notes == ("not UTF-8: read as UTF-16",)


def test_the_dialect_is_shipped_with_the_files(spark: SparkSession, lake: Lake) -> None:
    for path in [lake.near / "cities.csv", *(lake.near / "orders" / name for name in PARTS)]:
        path.write_text(path.read_text("utf-8").replace(",", "^"), "utf-8")
    tables_ = [
        replace(table, location=replace(table.location, dialect=Dialect(delimiter="^")))
        for table in (file(lake.far, "cities.csv", "csv"), folder(lake.far))
        if isinstance(table.location, (File, Folder))
    ]
    cities, orders = profile_lake(spark, tables_, CONFIG)
    assert [column.id.path for column in cities.columns] == ["id", "city", "code"]
    assert [column.id.path for column in orders.columns] == ["id", "code", "year"]


def test_shipped_files_are_verified_like_local_ones(spark: SparkSession, lake: Lake) -> None:
    names = {
        "cities.csv": ("id", "code"),
        "orders": ("id", "code", "year"),
        "five.parquet": ("id",),
    }
    columns = [ColumnId(TableId("file", name), path) for name in names for path in names[name]]
    pairs = list(product(columns, columns))
    known = ColumnKinds(texts=frozenset(column for column in columns if column.path == "code"))
    near = verify_joins(spark, tables(str(lake.near)), pairs)
    assert verify_joins(spark, tables(lake.far), pairs, kinds=known) == near
    assert len(near) == len(pairs)


def test_a_removed_file_is_the_fault_of_its_table(spark: SparkSession, lake: Lake) -> None:
    (lake.near / "orders/year=2023/part-0.csv").unlink()
    gone = file(lake.far, "gone.csv", "csv")
    found = profile_lake(spark, [gone, *tables(lake.far)[:3]], CONFIG)
    assert found[0].fault == (
        "cannot be read: Spark cannot copy it, because it was removed, Spark's user has no "
        "permission to read it, or it is larger than 1 GiB. Grant the permission, or store it "
        "as Parquet"
    )
    assert [profile.fault for profile in found[1:]] == ["", "", ""]
    assert found[3].notes == ("skipped files that Spark cannot copy: 1",)
    assert found[3].rows == 3
    assert found[3].columns[1].distinct == 2
    id_, lost = ColumnId(TableId("file", "cities.csv"), "id"), ColumnId(gone.id, "id")
    evidence = verify_joins(spark, [gone, *tables(lake.far)], [(id_, id_), (lost, id_)])
    assert [*evidence] == [(id_, id_)]


def test_tables_without_any_file_are_reported(spark: SparkSession, lake: Lake) -> None:
    (lake.near / "cities.csv").unlink()
    for name in PARTS:
        (lake.near / "orders" / name).unlink()
    found = profile_lake(spark, [tables(lake.far)[0], folder(lake.far)], CONFIG)
    assert [profile.fault.partition(",")[0] for profile in found] == [
        "cannot be read: Spark cannot copy it"
    ] * 2


def test_an_unreadable_file_of_a_folder_is_named(spark: SparkSession, lake: Lake) -> None:
    (lake.near / "orders/year=2023/part-0.csv").write_bytes(bytes(range(256)) * 8)
    (lake.near / "orders/year=2024/part-1.csv").write_bytes(b"")
    [found] = profile_lake(spark, [folder(lake.far)], CONFIG)
    assert (found.fault, found.rows) == ("", 2)
    assert found.notes[0].startswith(
        "skipped file: year=2023/part-0.csv cannot be read: its bytes are not text."
    )


def test_each_file_of_a_folder_has_its_share_of_the_rows(spark: SparkSession, lake: Lake) -> None:
    [found] = profile_lake(spark, [folder(lake.far)], ProfileConfig(max_rows=3))
    assert found.rows == 3
    assert sorted(found.columns[2].sample) == ["2023", "2024"]
    assert sorted(found.notes) == [
        f"{name}: read a sample of 50.00% of 2 rows" for name in sorted(PARTS)[:2]
    ]


def test_the_route_depends_on_format_size_and_place(lake: Lake) -> None:
    large = replace(file(lake.far, "five.parquet", "parquet"), size=1 << 30)
    text = replace(file(lake.far, "cities.csv", "csv"), size=1 << 30)
    delta = replace(large, location=DeltaFolder(uri=f"{lake.far}/delta"))
    here = replace(large, location=DeltaFolder(uri="delta"))
    routes = [route_of(table, CONFIG) for table in (large, text, delta, here)]
    assert routes == [Route.DISTRIBUTED, Route.SHIPPED, Route.DISTRIBUTED, Route.LOCAL_BATCH]


def test_a_large_remote_file_is_read_by_sparks_readers(spark: SparkSession, lake: Lake) -> None:
    near = profile_table(file(str(lake.near), "five.parquet", "parquet"), CONFIG, Databases())
    far = file(lake.far, "five.parquet", "parquet")
    [found] = profile_lake(spark, [far], ProfileConfig(split_bytes=1))
    assert replace(found, table=near.table) == near
    assert [column.type for column in found.columns] == [DataType.INTEGER, DataType.NESTED]


def test_hidden_and_empty_files_are_not_listed(spark: SparkSession, lake: Lake) -> None:
    for hidden in ("_SUCCESS", ".crc", "delta/_delta_log/0.json"):
        path = lake.near / hidden
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}")
    found = list_files(spark, f"{lake.far}/")
    assert [file.path for file in found if "/" not in file.path] == [
        "cities.csv",
        "five.parquet",
        "lines.jsonl.gz",
        "with space [1].csv",
    ]
    assert found[0].uri == f"{lake.far}/cities.csv"
    assert found[0].size == len(CITIES.encode())
    assert [file.path for file in list_delta_logs(spark, lake.far, depth=2)] == [
        "delta/_delta_log/0.json"
    ]
