"""Test that Spark reads remote Iceberg tables like local ones, without Iceberg's jars."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table as IcebergTable
from pyspark.sql import SparkSession

from datahub_hyperjoin.catalog.config import ConnectionConfig
from datahub_hyperjoin.catalog.spark_tables import scan_remote_folder
from datahub_hyperjoin.locations import IcebergFolder, RemoteFolder
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.databases.engines import Databases
from datahub_hyperjoin.spark.profiles.local_batch import profile_table
from datahub_hyperjoin.spark.profiles.profile import profile_lake
from datahub_hyperjoin.spark.verification.verify import ColumnKinds, verify_joins
from datahub_hyperjoin.tables import ColumnId, Table

CONFIG = ProfileConfig()
PEOPLE = pa.table(
    {
        "id": pa.array([1, 2, 3, 4]),
        "land": ["N/O", "CH", "CH", None],
        "home": [{"city": "Oslo"}, {"city": "Bern"}, None, {"city": "Rome"}],
        "tags": [["a"], [], None, []],
    }
)
LANDS = pa.table({"code": ["CH", "N/O", "IT"]})


@dataclass(frozen=True)
class Lake:
    """A folder of Iceberg tables, with its local path and its remote URI."""

    near: Path
    far: str
    catalog: SqlCatalog

    def local(self, table: Table) -> Table:
        """Return a table under its local name, to be read without Spark."""
        assert isinstance(table.location, IcebergFolder)
        uri = table.location.uri.replace(self.far, str(self.near))
        return replace(table, location=IcebergFolder(uri=uri))


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path) -> Iterator[Lake]:
    """Create tables whose metadata and folder listing have different URIs for the same files."""
    catalog = SqlCatalog(
        "test", uri=f"sqlite:///{tmp_path}/c.db", warehouse=f"file://{tmp_path}/lake"
    )
    catalog.create_namespace("shop")
    people = catalog.create_table("shop.people", schema=PEOPLE.schema)
    with people.update_spec() as spec:
        spec.add_identity("land")
    people.append(PEOPLE)
    people.append(PEOPLE.slice(1, 2).set_column(0, "id", [[5, 6]]))
    people.delete("id = 2")
    with people.update_schema() as schema:
        schema.rename_column("land", "country")
    catalog.create_table("shop.lands", schema=LANDS.schema).append(LANDS)
    host = tmp_path.name.replace("_", "-")  # Hadoop caches each file system that it opens.
    key = f"fs.viewfs.mounttable.{host}.link./data"
    spark.conf.set(key, (tmp_path / "lake").as_uri())
    yield Lake(tmp_path / "lake", f"viewfs://{host}/data", catalog)
    spark.conf.unset(key)
    catalog.engine.dispose()


def scan(spark: SparkSession, lake: Lake) -> list[Table]:
    """List the tables: `lands` first, then `people`."""
    config = ConnectionConfig.model_validate({"folder": lake.far})
    assert isinstance(config.source, RemoteFolder)
    return scan_remote_folder(spark, "connections[0]", config.source, config.selection, warn=print)


def people_of(lake: Lake) -> IcebergTable:
    return lake.catalog.load_table("shop.people")


def test_listed_tables_have_the_profiles_of_local_ones(spark: SparkSession, lake: Lake) -> None:
    tables = scan(spark, lake)
    assert [(table.title, type(table.location)) for table in tables] == [
        ("lands", IcebergFolder),
        ("people", IcebergFolder),
    ]
    far = profile_lake(spark, tables, CONFIG)
    near = [profile_table(lake.local(table), CONFIG, Databases()) for table in tables]
    assert [(profile.fault, profile.rows, profile.columns) for profile in far] == [
        ("", profile.rows, profile.columns) for profile in near
    ]
    paths = [column.id.path for column in far[1].columns]
    assert (far[1].rows, paths) == (5, ["id", "country", "home.city", "tags"])


def test_listed_tables_have_the_evidence_of_local_ones(spark: SparkSession, lake: Lake) -> None:
    tables = scan(spark, lake)
    lands, people = tables
    columns = [ColumnId(lands.id, "code")]
    columns += [ColumnId(people.id, path) for path in ("id", "country", "home.city")]
    pairs = list(product(columns, columns))
    kinds = ColumnKinds(texts=frozenset(column for column in columns if column.path != "id"))
    near = verify_joins(spark, [lake.local(table) for table in tables], pairs, kinds=kinds)
    assert verify_joins(spark, tables, pairs, kinds=kinds) == near
    assert near[columns[0], columns[2]].shared == 2


def test_a_removed_data_file_is_left_out(spark: SparkSession, lake: Lake) -> None:
    [_, people] = scan(spark, lake)
    [file, *_] = (lake.near / "shop" / "people").rglob("data/*N%2FO/*.parquet")
    file.unlink()
    [profile] = profile_lake(spark, [people], CONFIG)
    assert (profile.fault, profile.rows) == ("", 4)
    assert profile.notes[-1] == "skipped files that Spark cannot copy: 1"


def test_each_data_file_has_its_share_of_the_rows(spark: SparkSession, lake: Lake) -> None:
    [_, people] = scan(spark, lake)
    files = len(people_of(lake).inspect.data_files())
    [profile] = profile_lake(spark, [people], ProfileConfig(max_rows=1))
    assert profile.rows == files


def test_a_table_without_rows_is_empty(spark: SparkSession, lake: Lake) -> None:
    lake.catalog.create_table("shop.empty", schema=LANDS.schema)
    people_of(lake).delete("id > 0")
    profiles = profile_lake(spark, scan(spark, lake), CONFIG)
    faults = {profile.table.title: profile.fault for profile in profiles}
    assert faults["lands"] == ""
    assert faults["empty"] == faults["people"] == "has a header but no rows. Add rows"


def test_unreadable_metadata_is_the_fault_of_one_table(spark: SparkSession, lake: Lake) -> None:
    metadata = lake.near / "shop" / "people" / "metadata"
    (metadata / "99999-x.metadata.json").write_text("{}")
    tables = scan(spark, lake)
    lands, people = profile_lake(spark, tables, CONFIG)
    assert lands.fault == ""
    assert people.fault.startswith(
        "cannot be read: 99999-x.metadata.json is not the metadata of an Iceberg table."
    )
    code, id_ = ColumnId(tables[0].id, "code"), ColumnId(tables[1].id, "id")
    assert [*verify_joins(spark, tables, [(code, code), (code, id_)])] == [(code, code)]


def test_a_missing_manifest_is_the_fault_of_one_table(spark: SparkSession, lake: Lake) -> None:
    for manifest in (lake.near / "shop" / "people" / "metadata").glob("snap-*.avro"):
        manifest.unlink()
    lands, people = profile_lake(spark, scan(spark, lake), CONFIG)
    assert lands.fault == ""
    assert people.fault.startswith("cannot be read: Spark cannot read file:///")


def test_the_version_hint_is_followed(spark: SparkSession, lake: Lake) -> None:
    metadata = lake.near / "shop" / "people" / "metadata"
    first = sorted(path.name for path in metadata.glob("*.metadata.json"))[2]
    (metadata / "version-hint.text").write_text(first)
    [_, people] = scan(spark, lake)
    [profile] = profile_lake(spark, [people], CONFIG)
    assert (profile.fault, profile.rows) == ("", 4)
