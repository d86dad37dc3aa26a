"""Run a Spark session on a Hive metastore that is stored in a folder."""

import os
import warnings
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

from datahub_hyperjoin.catalog.config import ConnectionConfig
from datahub_hyperjoin.catalog.spark_tables import scan_spark_catalog
from datahub_hyperjoin.joins import Evidence
from datahub_hyperjoin.locations import SparkCatalog
from datahub_hyperjoin.spark.config import ProfileConfig, SessionConfig
from datahub_hyperjoin.spark.profiles.profile import profile_lake
from datahub_hyperjoin.spark.session import borrow_session
from datahub_hyperjoin.spark.verification.verify import verify_joins
from datahub_hyperjoin.tables import Pair, Table, TableProfile

_SET_BY_SPARK = ("PYSPARK_PYTHON", "SPARK_LOCAL_IP")
_STATEMENTS = (
    "CREATE DATABASE shop",
    """CREATE TABLE shop.people USING parquet AS
        SELECT id, concat('Person ', id) AS name FROM range(20)""",
    "CREATE TABLE shop.goods STORED AS ORC AS SELECT id AS good FROM range(15)",
    """CREATE TABLE shop.orders (person BIGINT, good BIGINT)
        PARTITIONED BY (land STRING, year INT) STORED AS PARQUET""",
    """INSERT INTO shop.orders PARTITION (land = '01', year = 2023)
        SELECT id % 20, id % 15 FROM range(40)""",
    """INSERT INTO shop.orders PARTITION (land = 'NO', year = 2024)
        SELECT id % 10, id % 15 FROM range(40)""",
    """CREATE TABLE shop.notes (person BIGINT, note STRING)
        ROW FORMAT DELIMITED FIELDS TERMINATED BY '|' STORED AS TEXTFILE""",
    "INSERT INTO shop.notes VALUES (1, 'a, b'), (2, NULL), (30, 'c')",
    "CREATE VIEW shop.northern AS SELECT good FROM shop.orders WHERE land = 'NO'",
)
_VISITS = """CREATE EXTERNAL TABLE shop.visits (person INT, place STRING)
    ROW FORMAT SERDE 'org.apache.hadoop.hive.serde2.OpenCSVSerde'
    STORED AS TEXTFILE LOCATION '{}'"""


@dataclass(frozen=True)
class Found:
    """The results of a Spark session, and whether the session cleaned up when it ended."""

    interface: str | None
    """Spark's setting for its web page: `false` if the session has none."""

    tables: list[Table]
    profiles: list[TableProfile]
    evidence: dict[Pair, Evidence]

    is_stopped: bool
    """Whether no session is left."""

    is_tidy: bool
    """Whether the environment variables that Spark sets have their earlier values again."""


def find(folder: Path, pairs: list[Pair]) -> Found:
    """Create tables, then list, profile and verify them as a run does for a Spark catalog."""
    warnings.simplefilter("error")
    os.chdir(folder)  # where Derby logs
    before = [os.environ.get(name) for name in _SET_BY_SPARK]
    with borrow_session(_config(folder)) as session:
        _make(session, folder)
        one = ConnectionConfig.model_validate(
            {"spark_catalog": "spark_catalog", "schemas": {"allow": ["shop"]}}
        )
        source = SparkCatalog(name="spark_catalog")
        tables = scan_spark_catalog(session, "connections[0]", source, one.selection)
        profiles = profile_lake(session, tables, ProfileConfig())
        evidence = verify_joins(session, tables, pairs)
        interface = session.conf.get("spark.ui.enabled")
    return Found(
        interface=interface,
        tables=tables,
        profiles=profiles,
        evidence=evidence,
        is_stopped=SparkSession.getActiveSession() is None,
        is_tidy=before == [os.environ.get(name) for name in _SET_BY_SPARK],
    )


def _config(folder: Path) -> SessionConfig:
    settings = {
        "spark.sql.catalogImplementation": "hive",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        # What a cluster has in its hive-site.xml.
        "spark.hadoop.javax.jdo.option.ConnectionURL": (
            f"jdbc:derby:;databaseName={folder / 'metastore'};create=true"
        ),
        "spark.hadoop.hive.metastore.schema.verification": "false",
        "spark.hadoop.datanucleus.schema.autoCreateAll": "true",
    }
    return SessionConfig(master="local[2]", settings=settings)


def _make(session: SparkSession, folder: Path) -> None:
    visits = folder / "visits"
    visits.mkdir()
    (visits / "visits.csv").write_text('1,"Oslo, east"\n2,Rome\n')
    for statement in (*_STATEMENTS, _VISITS.format(visits.as_uri())):
        session.sql(statement)
