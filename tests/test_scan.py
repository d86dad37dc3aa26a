"""Test whole runs on databases and remote folders, alone and together with local files."""

import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from datahub.ingestion.run.pipeline import Pipeline
from datahub.metadata.schema_classes import ERModelRelationshipPropertiesClass, StatusClass
from pyiceberg.catalog.sql import SqlCatalog
from pyspark.sql import SparkSession

from datahub_hyperjoin.catalog.databases import scan_database
from datahub_hyperjoin.metadata.urns import dataset_urn
from datahub_hyperjoin.recipe import HyperJoinConfig, RefusedRecipeError
from datahub_hyperjoin.report import HyperJoinReport
from datahub_hyperjoin.scan import scan
from datahub_hyperjoin.source import HyperJoinSource
from datahub_hyperjoin.spark.config import SessionConfig
from datahub_hyperjoin.spark.errors import MissingJavaError
from datahub_hyperjoin.spark.session import Session
from datahub_hyperjoin.tables import Table, TableId
from gms import Gms
from lakes.lake import codes, describe, write_table

pytestmark = [
    pytest.mark.usefixtures("spark"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]
NOWHERE = {"database": {"url": "postgresql+psycopg2://me:hush@127.0.0.1:1/shop"}}
CARRIERS = {
    "urn:li:dataset:(urn:li:dataPlatform:sqlite,main.airlines,PROD)",
    "urn:li:dataset:(urn:li:dataPlatform:sqlite,main.flights,PROD)",
}


@pytest.fixture
def shop(tmp_path: Path) -> dict[str, Any]:
    """Create a database with carriers and flights, and return its connection."""
    file = tmp_path / "shop.db"
    carriers = codes("CA")
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("CREATE TABLE airlines (carrier TEXT, name TEXT)")
        connection.execute("CREATE TABLE flights (carrier TEXT, minutes INTEGER)")
        connection.executemany(
            "INSERT INTO airlines VALUES (?, ?)", [(code, f"{code} Airways") for code in carriers]
        )
        connection.executemany(
            "INSERT INTO flights VALUES (?, ?)",
            [(code, at) for at, code in enumerate(carriers * 5)],
        )
        connection.commit()
    return {"database": {"url": f"sqlite:///{file}"}}


@pytest.fixture
def gms() -> Iterator[Gms]:
    with Gms() as server:
        yield server


def run(out: Path, *connections: dict[str, Any], **config: Any) -> HyperJoinReport:  # noqa: ANN401
    recipe = {
        "source": {
            "type": "hyperjoin",
            "config": {"connections": list(connections), **config},
        },
        "sink": {"type": "file", "config": {"filename": str(out)}},
    }
    pipeline = Pipeline.create(recipe)
    pipeline.run()
    report = pipeline.source.get_report()
    assert isinstance(report, HyperJoinReport)
    return report


def ends(out: Path) -> list[set[str]]:
    """Return the two datasets of each relationship."""
    return [
        {proposal["aspect"]["json"][side] for side in ("source", "destination")}
        for proposal in json.loads(out.read_text())
        if proposal["aspectName"] == "erModelRelationshipProperties"
    ]


def warnings_of(report: HyperJoinReport) -> list[tuple[str | None, str]]:
    return [(entry.title, context) for entry in report.warnings for context in entry.context]


def test_joins_of_a_database_are_found(tmp_path: Path, shop: dict[str, Any]) -> None:
    report = run(tmp_path / "out.json", shop)
    assert (warnings_of(report), list(report.failures)) == ([], [])
    assert ends(tmp_path / "out.json") == [CARRIERS]


def test_files_join_with_tables_of_databases(tmp_path: Path, shop: dict[str, Any]) -> None:
    write_table(tmp_path / "lake", "delays.csv", {"carrier": codes("CA")})
    run(tmp_path / "out.json", shop, catalog={"folder": str(tmp_path / "lake")})
    delays = "urn:li:dataset:(urn:li:dataPlatform:file,delays.csv,PROD)"
    found = ends(tmp_path / "out.json")
    assert CARRIERS in found
    assert [pair for pair in found if delays in pair]


def test_remote_tables_join_with_those_of_a_database(
    tmp_path: Path, shop: dict[str, Any], spark: SparkSession
) -> None:
    write_table(tmp_path / "far", "delays.csv", {"carrier": codes("CA")})
    (tmp_path / "far" / "odd.csv").write_text("code,name\n")
    key = "fs.viewfs.mounttable.connections.link./data"
    spark.conf.set(key, (tmp_path / "far").as_uri())
    spark.createDataFrame([(code,) for code in codes("CA")], ["carrier"]).write.saveAsTable("hubs")
    far = {"folder": "viewfs://connections/data", "platform": "s3", "names": "lake/{table}"}
    own = {"spark_catalog": "spark_catalog", "tables": {"allow": [r"default\.hubs$"]}}
    store = {"profile": {"store": str(tmp_path / "store")}}
    report = run(tmp_path / "out.json", shop, far, own, **store)
    spark.sql("DROP TABLE hubs")
    spark.conf.unset(key)
    [(title, context)] = warnings_of(report)
    assert title == "Table skipped"
    assert context.endswith(
        "odd.csv: has a header but no rows. Add rows, or exclude it with `connections[1].tables`"
    )
    joined = {urn.split(",")[1] for pair in ends(tmp_path / "out.json") for urn in pair}
    assert joined == {"main.airlines", "main.flights", "lake/delays.csv", "default.hubs"}
    assert report.tables_from_profile_store == 0


def test_remote_iceberg_tables_join_with_those_of_a_database(
    tmp_path: Path, shop: dict[str, Any], spark: SparkSession
) -> None:
    catalog = SqlCatalog(
        "test", uri=f"sqlite:///{tmp_path}/c.db", warehouse=f"file://{tmp_path}/far"
    )
    catalog.create_namespace("air")
    hubs = pa.table({"carrier": codes("CA"), "hub": codes("H")})
    catalog.create_table("air.hubs", schema=hubs.schema).append(hubs)
    catalog.engine.dispose()
    key = "fs.viewfs.mounttable.iceberg.link./data"
    spark.conf.set(key, (tmp_path / "far").as_uri())
    far = {"folder": "viewfs://iceberg/data", "platform": "s3", "names": "lake/{table}"}
    report = run(tmp_path / "out.json", shop, far)
    spark.conf.unset(key)
    assert (warnings_of(report), list(report.failures)) == ([], [])
    joined = {urn.split(",")[1] for pair in ends(tmp_path / "out.json") for urn in pair}
    assert joined == {"main.airlines", "main.flights", "lake/air/hubs"}


def test_an_unreachable_folder_is_a_warning_and_others_are_read(
    tmp_path: Path, shop: dict[str, Any]
) -> None:
    report = run(tmp_path / "out.json", {"folder": "lost://lake"}, shop)
    [(title, context)] = warnings_of(report)
    assert title == "Connection skipped"
    assert "the folder of `connections[0]` cannot be listed: " in context
    assert ends(tmp_path / "out.json") == [CARRIERS]


def test_a_connection_test_reports_an_unreachable_folder(shop: dict[str, Any]) -> None:
    connections = [{"folder": "lost://lake"}, {"spark_catalog": "spark_catalog"}, shop]
    found = HyperJoinSource.test_connection({"connections": connections})
    assert found.capability_report
    reasons = {key: each.failure_reason for key, each in found.capability_report.items()}
    assert "the folder of `connections[0]` cannot be listed" in str(reasons["connections[0]"])
    assert reasons["connections[2]"] is None


def test_an_unreachable_database_is_a_warning_and_others_are_read(
    tmp_path: Path, shop: dict[str, Any]
) -> None:
    report = run(tmp_path / "out.json", NOWHERE, shop)
    [(title, context)] = warnings_of(report)
    assert title == "Connection skipped"
    assert "the database of `connections[0]` cannot be read: " in context
    assert "hush" not in f"{report.as_string()}{report.to_pure_python_obj(report)}"
    assert ends(tmp_path / "out.json") == [CARRIERS]


def test_a_run_without_a_reachable_database_fails(tmp_path: Path) -> None:
    [failure] = run(tmp_path / "out.json", NOWHERE).failures
    assert "the database of `connections[0]` cannot be read: " in str(list(failure.context))


def test_an_unchanged_database_is_not_read_again(tmp_path: Path, shop: dict[str, Any]) -> None:
    file, store = tmp_path / "shop.db", {"profile": {"store": str(tmp_path / "store")}}
    os.utime(file, (10**9, 10**9))
    found = [run(tmp_path / f"{at}.json", shop, **store) for at in range(2)]
    assert [report.tables_from_profile_store for report in found] == [0, 2]
    assert ends(tmp_path / "0.json") == ends(tmp_path / "1.json") == [CARRIERS]
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("UPDATE airlines SET carrier = hex(randomblob(4))")
        connection.commit()
    assert run(tmp_path / "2.json", shop, **store).tables_from_profile_store == 0
    assert ends(tmp_path / "2.json") == []


def test_a_dataset_is_read_from_one_connection(tmp_path: Path, shop: dict[str, Any]) -> None:
    report = run(tmp_path / "out.json", shop, shop)
    assert warnings_of(report) == [
        ("Duplicate table name", name) for name in ("main.airlines", "main.flights")
    ]
    assert ends(tmp_path / "out.json") == [CARRIERS]


def test_tables_of_all_platforms_are_looked_up_in_the_catalog(
    tmp_path: Path, shop: dict[str, Any], gms: Gms
) -> None:
    write_table(tmp_path / "lake", "delays.csv", {"carrier": codes("CA")})
    write_table(tmp_path / "lake", "private.csv", {"carrier": codes("CA")})
    describe(gms, "delays.csv", ["carrier"])
    describe(gms, "main.airlines", ["carrier", "name"], platform="sqlite")
    describe(gms, "main.gone", ["carrier"], platform="sqlite")
    describe(gms, "main.elsewhere", ["carrier"], platform="oracle")
    recipe = {
        "source": {
            "type": "hyperjoin",
            "config": {
                "connections": [shop],
                "catalog": {"folder": str(tmp_path / "lake")},
            },
        },
        "sink": {"type": "datahub-rest", "config": {"server": gms.url}},
    }
    pipeline = Pipeline.create(recipe)
    pipeline.run()
    found = [
        gms.get(urn, ERModelRelationshipPropertiesClass) for urn in gms.urns("erModelRelationship")
    ]
    assert [each.name for each in found if each] == ["main.airlines.carrier = delays.csv.carrier"]
    report = pipeline.source.get_report()
    assert isinstance(report, HyperJoinReport)
    assert (report.datasets_in_catalog, list(report.datasets_not_read)) == (3, ["main.gone"])


def test_an_unreachable_database_keeps_its_suggestions(
    tmp_path: Path, shop: dict[str, Any], gms: Gms
) -> None:
    write_table(tmp_path / "lake", "delays.csv", {"carrier": codes("CA")})
    write_table(tmp_path / "lake", "origins.csv", {"origin": codes("CA"), "n": codes("N")})
    for name in ("main.airlines", "main.flights"):
        describe(gms, name, ["carrier"], platform="sqlite")
    describe(gms, "delays.csv", ["carrier"])
    describe(gms, "origins.csv", ["origin"])

    def ingest(connection: dict[str, Any]) -> set[str]:
        recipe = {
            "pipeline_name": "joins",
            "source": {
                "type": "hyperjoin",
                "config": {
                    "connections": [connection],
                    "catalog": {"folder": str(tmp_path / "lake")},
                    "stateful_ingestion": {"enabled": True, "fail_safe_threshold": 100},
                },
            },
            "sink": {"type": "datahub-rest", "config": {"server": gms.url}},
        }
        pipeline = Pipeline.create(recipe)
        pipeline.run()
        pipeline.raise_from_status()
        urns = gms.urns("erModelRelationship")
        shown = [urn for urn in urns if not getattr(gms.get(urn, StatusClass), "removed", False)]
        found = [gms.get(urn, ERModelRelationshipPropertiesClass) for urn in shown]
        return {each.name for each in found if each}

    before = ingest(shop)
    assert "main.flights.carrier = main.airlines.carrier" in before
    silent = {**shop, "database": {"url": f"sqlite:///{tmp_path}/gone/shop.db"}}
    assert ingest(silent) == before
    # Another database may answer in its place. Only the catalog knows which tables are gone.
    with closing(sqlite3.connect(tmp_path / "other.db")) as connection:
        connection.execute("CREATE TABLE other (x TEXT)")
    other = {**shop, "database": {"url": f"sqlite:///{tmp_path}/other.db"}}
    assert ingest(other) == before
    for name in ("main.airlines", "main.flights"):
        gms.put(dataset_urn(TableId("sqlite", name)), StatusClass(removed=True))
    assert "main.flights.carrier = main.airlines.carrier" not in ingest(other)


def test_files_are_read_in_the_dialect_of_the_recipe(tmp_path: Path) -> None:
    cities = tmp_path / "lake" / "cities.csv"
    cities.parent.mkdir()
    cities.write_text("id^city\n1^'Oslo^Bergen'\n2^Rome\n")
    catalog = {"folder": str(cities.parent), "dialect": {"delimiter": "^", "quote": "'"}}
    report = run(tmp_path / "found.json", catalog=catalog)
    assert (report.tables_profiled, report.columns_profiled) == (1, 2)


def test_dataset_filters_need_a_server(tmp_path: Path, shop: dict[str, Any]) -> None:
    with pytest.raises(RefusedRecipeError) as caught:
        run(tmp_path / "out.json", shop, catalog={"tags": ["pii"]})
    [reason] = caught.value.faults
    assert reason.startswith("`catalog.domains`, `containers` and `tags` filter datasets by what a")
    assert reason.endswith("Configure a `datahub-rest` sink, or remove these keys")


def test_each_database_is_tried_once(shop: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    tried = []

    def listed(key: str, *rest: Any) -> list[Table]:  # noqa: ANN401
        tried.append(key)
        return scan_database(key, *rest)

    monkeypatch.setattr("datahub_hyperjoin.scan.scan_database", listed)
    found = HyperJoinSource.test_connection({"connections": [NOWHERE, shop]})
    assert found.basic_connectivity
    assert found.basic_connectivity.capable
    assert found.capability_report
    refused, fine = (found.capability_report[f"connections[{at}]"] for at in range(2))
    assert (refused.capable, fine.capable) == (False, True)
    assert "cannot be read" in (refused.failure_reason or "")
    assert tried == ["connections[0]", "connections[1]"]


def test_without_java_a_spark_connection_fails_run_and_test(
    shop: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def without_java(_: SessionConfig) -> Iterator[Session]:
        yield none

    def none() -> SparkSession:
        raise MissingJavaError.nowhere()

    config = {"connections": [shop, {"spark_catalog": "spark_catalog"}]}
    with pytest.raises(MissingJavaError, match="Spark needs Java 17 or newer"):
        scan(HyperJoinConfig.model_validate(config), lambda *_: None, none)
    monkeypatch.setattr("datahub_hyperjoin.scan.lazy_session", without_java)
    found = HyperJoinSource.test_connection(config)
    assert found.basic_connectivity
    assert found.capability_report
    fine, refused = (found.capability_report[f"connections[{at}]"] for at in range(2))
    assert (fine.capable, fine.failure_reason, refused.capable) == (True, None, False)
    for capability in (found.basic_connectivity, refused):
        assert "Spark needs Java 17 or newer" in (capability.failure_reason or "")
