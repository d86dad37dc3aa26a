"""Test that Iceberg tables are read according to their newest metadata."""

import shutil
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table as IcebergTable
from pyspark.sql import SparkSession

from datahub_hyperjoin.locations import IcebergFolder
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.databases.engines import Databases
from datahub_hyperjoin.spark.errors import (
    EmptyTableError,
    MissingReaderError,
    NoMetadataError,
    UnreadableTableError,
)
from datahub_hyperjoin.spark.profiles.local_batch import profile_table
from datahub_hyperjoin.spark.profiles.profile import profile_lake
from datahub_hyperjoin.spark.read import read_table
from datahub_hyperjoin.tables import DataType, Table, TableId

PEOPLE = pa.table(
    {
        "id": pa.array([1, 2, 3]),
        "land": ["NO", "CH", "CH"],
        "home": [{"city": "Oslo", "at": {"lat": 59.5}}, {"city": "Bern"}, None],
        "tags": [[0.5], [], None],
    }
)


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[SqlCatalog]:
    sql_catalog = SqlCatalog(
        "test", uri=f"sqlite:///{tmp_path}/c.db", warehouse=f"file://{tmp_path}/lake"
    )
    sql_catalog.create_namespace("shop")
    yield sql_catalog
    sql_catalog.engine.dispose()


@pytest.fixture
def people(catalog: SqlCatalog) -> IcebergTable:
    table = catalog.create_table("shop.people", schema=PEOPLE.schema)
    with table.update_spec() as spec:
        spec.add_identity("land")
    table.append(PEOPLE)
    return table


def folder_of(table: IcebergTable) -> Path:
    return Path(table.location().removeprefix("file://"))


def at(folder: Path) -> Table:
    location = IcebergFolder(uri=str(folder))
    return Table(id=TableId("file", folder.name), title=folder.name, location=location, size=1)


def rows_of(folder: Path, *paths: str, most: int = 99) -> list[dict[str, object]]:
    stream = read_table(at(folder), Databases(), max_rows=most, paths=paths or None)
    return sorted((row for batch in stream.batches for row in batch.to_pylist()), key=str)


def test_the_current_snapshot_is_read(people: IcebergTable) -> None:
    people.append(PEOPLE.slice(0, 1).set_column(0, "id", [[4]]))
    people.delete("id = 2")
    people.overwrite(PEOPLE.slice(2, 1).set_column(0, "id", [[5]]), "id = 3")
    files = [*(folder_of(people) / "data").rglob("*.parquet")]
    assert len(files) > len(people.inspect.files())
    assert rows_of(folder_of(people), "id", "land") == [
        {"id": 1, "land": "NO"},
        {"id": 4, "land": "NO"},
        {"id": 5, "land": "CH"},
    ]


def test_one_worker_reads_a_table_of_any_size(spark: SparkSession, people: IcebergTable) -> None:
    large = replace(at(folder_of(people)), size=1 << 40)
    [profile] = profile_lake(spark, [large], ProfileConfig())
    assert profile == profile_table(large, ProfileConfig(), Databases())
    assert (profile.fault, profile.rows, len(profile.columns)) == ("", 3, 5)


def test_columns_have_their_current_names(people: IcebergTable) -> None:
    with people.update_schema() as schema:
        schema.rename_column("land", "country")
        schema.rename_column(("home", "city"), "town")
        schema.add_column("note", people.schema().find_type("land"))
    stream = read_table(at(folder_of(people)), Databases(), max_rows=99)
    rows = [row for batch in stream.batches for row in batch.to_pylist()]
    paths = ["id", "country", "home.town", "home.at.lat", "note"]
    assert sorted(tuple(row.values()) for row in rows) == [
        (1, "NO", "Oslo", 59.5, None),
        (2, "CH", "Bern", None, None),
        (3, "CH", None, None, None),
    ]
    assert [*rows[0]] == paths
    columns = {column.path: column.opaque for column in stream.columns}
    assert columns == {**dict.fromkeys(paths), "tags": DataType.NESTED}
    assert stream.notes == ["columns not compared, because they hold lists, maps or bytes: 'tags'"]


def test_at_most_max_rows_are_read(people: IcebergTable) -> None:
    for _ in range(3):
        people.append(PEOPLE)
    stream = read_table(at(folder_of(people)), Databases(), max_rows=4)
    assert sum(map(len, stream.batches)) == 4
    assert stream.notes[-1] == "read a sample of 33.33% of 12 rows"
    assert len(rows_of(folder_of(people))) == 12


def test_one_file_at_a_time_is_read(people: IcebergTable) -> None:
    people.append(PEOPLE)
    stream = read_table(at(folder_of(people)), Databases(), max_rows=99)
    assert len(next(stream.batches)) < 6
    shutil.rmtree(folder_of(people) / "data")
    with pytest.raises(UnreadableTableError, match="No such file or directory"):
        next(stream.batches)


def test_rows_are_counted_without_comparable_columns(catalog: SqlCatalog) -> None:
    table = catalog.create_table("shop.lists", schema=pa.schema({"tags": pa.list_(pa.float64())}))
    table.append(pa.table({"tags": [[0.5], None]}))
    stream = read_table(at(folder_of(table)), Databases(), max_rows=9)
    assert [(len(batch), batch.num_columns) for batch in stream.batches] == [(2, 0)]


def test_a_table_without_rows_is_empty(catalog: SqlCatalog, people: IcebergTable) -> None:
    new = catalog.create_table("shop.empty", schema=PEOPLE.schema)
    people.delete("id > 0")
    for table in (new, people):
        with pytest.raises(EmptyTableError, match="has a header but no rows"):
            rows_of(folder_of(table))


def test_the_newest_metadata_has_the_highest_version(people: IcebergTable) -> None:
    """The file `version-hint.text`, which Hadoop tables have, may name an older version."""
    folder = folder_of(people)
    people.append(PEOPLE.set_column(0, "id", [[11, 12, 13]]))
    old, *_, new = sorted((folder / "metadata").glob("*.metadata.json"))
    for version, file in (("v9", old), ("v10", new)):
        file.rename(folder / "metadata" / f"{version}.metadata.json")
    (folder / "metadata" / "version-hint.text").write_text("9")
    assert len(rows_of(folder)) == 6


@pytest.mark.parametrize("ending", ["", ".metadata.json"])
def test_a_hint_that_names_a_file_is_followed(people: IcebergTable, ending: str) -> None:
    folder = folder_of(people)
    now = Path(people.metadata_location).name
    people.append(PEOPLE)
    hint = now.removesuffix(".metadata.json") + ending
    (folder / "metadata" / "version-hint.text").write_text(hint + "\n")
    assert len(rows_of(folder)) == 3


def test_data_files_may_be_outside_the_folder(people: IcebergTable, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(folder_of(people) / "metadata", copy / "metadata")
    assert len(rows_of(copy)) == 3
    shutil.rmtree(folder_of(people) / "data")
    with pytest.raises(UnreadableTableError, match=r"cannot be read: .*No such file"):
        rows_of(copy)


@pytest.mark.parametrize("content", ["", "{", "{}", "[1]"])
def test_invalid_metadata_is_named(people: IcebergTable, content: str) -> None:
    folder = folder_of(people)
    broken = folder / "metadata" / "99999-x.metadata.json"
    broken.write_text(content)
    with pytest.raises(
        UnreadableTableError,
        match=r"99999-x\.metadata\.json is not the metadata of an Iceberg table\. Fix",
    ):
        rows_of(folder)


def test_a_table_without_metadata_is_rejected(people: IcebergTable) -> None:
    metadata = folder_of(people) / "metadata"
    for file in metadata.glob("*.metadata.json"):
        file.unlink()
    with pytest.raises(NoMetadataError, match="its metadata folder has no file with a version"):
        rows_of(metadata.parent)
    shutil.rmtree(metadata)
    with pytest.raises(UnreadableTableError, match="No such file or directory"):
        rows_of(metadata.parent)


def test_an_error_of_pyiceberg_is_an_error_of_the_table(people: IcebergTable) -> None:
    for manifest in (folder_of(people) / "metadata").glob("snap-*.avro"):
        manifest.write_bytes(b"no Avro")
    with pytest.raises(UnreadableTableError, match=r"cannot be read: .*\. Fix the file"):
        rows_of(folder_of(people))


def test_without_pyiceberg_the_error_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyiceberg.exceptions", None)
    with pytest.raises(MissingReaderError, match=r"`pip install 'datahub-hyperjoin\[iceberg\]'`$"):
        rows_of(tmp_path)
