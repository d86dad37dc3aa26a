"""Test joins of values that are written differently, in whole runs over files."""

import datetime as dt
from contextlib import nullcontext
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from datahub_hyperjoin import find_joins
from datahub_hyperjoin.catalog.catalog import Catalog
from datahub_hyperjoin.find import FindConfig, find
from datahub_hyperjoin.joins import Join
from datahub_hyperjoin.locations import File
from datahub_hyperjoin.model.config import ModelConfig, RankingConfig, Scoring
from datahub_hyperjoin.progress import Progress
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.tables import Table, TableId

MODEL = ModelConfig(ranking=RankingConfig(scoring=Scoring.SIGNALS))
CUSTOMERS = [f"{1000 + 7 * number}" for number in range(300)]
AMOUNTS = [f"{1000 + number * 3.25:,.2f}" for number in range(200)]
GERMAN = str.maketrans({",": ".", ".": ","})
DAYS = [dt.date(2024, 1, 1) + dt.timedelta(days=number) for number in range(120)]


def write(folder: Path, name: str, rows: list[tuple[str, ...]]) -> Table:
    file = folder / f"{name}.csv"
    file.write_text("\n".join(map(";".join, rows)) + "\n")
    return Table(
        id=TableId("file", name),
        title=name,
        location=File(uri=str(file), format="csv"),
        size=file.stat().st_size,
    )


@pytest.fixture
def tables(tmp_path: Path) -> list[Table]:
    """Write tables that refer to keys in a different notation, and one unrelated table."""
    orders = np.random.default_rng(0).choice(CUSTOMERS, 900)
    names = [(customer, f"Name {at}") for at, customer in enumerate(CUSTOMERS)]
    padded = [(f"A{at}", f"{customer:0>8}") for at, customer in enumerate(orders)]
    in_german = [(f"T{at}", price.translate(GERMAN)) for at, price in enumerate(AMOUNTS)]
    plain = [(price.replace(",", ""), f"L{at}") for at, price in enumerate(AMOUNTS)]
    return [
        write(tmp_path, "customers", [("customer_no", "name"), *names]),
        write(tmp_path, "orders", [("order_no", "customer_no"), *padded]),
        write(tmp_path, "tariffs", [("tariff", "list_price"), *in_german]),
        write(tmp_path, "labels", [("list_price", "label"), *plain]),
        write(tmp_path, "visits", [("visit_date", "who"), *((f"{d:%d.%m.%Y}", "x") for d in DAYS)]),
        write(tmp_path, "diary", [("visit_date", "page"), *((str(d), "y") for d in DAYS)]),
    ]


def joins_of(spark: SparkSession, tables: list[Table], profile: ProfileConfig) -> dict[str, Join]:
    progress = Mock(spec=Progress)
    progress.stage.side_effect = lambda _: nullcontext()
    found = find(
        Catalog(tables=tables), FindConfig(profile=profile, model=MODEL), progress, lambda: spark
    )
    return {f"{join.left} = {join.right}": join for join in found.joins}


def test_values_that_are_written_differently_join_and_the_evidence_says_how(
    spark: SparkSession, tables: list[Table], tmp_path: Path
) -> None:
    profile = ProfileConfig(store=tmp_path / "store")
    joins = joins_of(spark, tables, profile)
    ways = {name: join.measured.compared_as for name, join in joins.items()}
    assert ways["customers.customer_no = orders.customer_no"] == "numbers without leading zeros"
    assert ways["labels.list_price = tariffs.list_price"] == "numbers"
    assert ways["diary.visit_date = visits.visit_date"] == "dates"
    by_customer = joins["customers.customer_no = orders.customer_no"].measured
    assert (by_customer.right_containment, by_customer.right_fan_out) == (1.0, 1.0)
    assert by_customer.cardinality.words == "one-to-many"
    assert joins_of(spark, tables, profile) == joins


@pytest.mark.parametrize(
    "written", ["", "%Y-%m-%d 00:00:00", "%Y-%m-%dT00:00:00", "%d.%m.%Y 00:00", "%m/%d/%Y 0:00"]
)
def test_days_that_begin_at_midnight_refer_to_a_calendar_of_numbers(
    tmp_path: Path, written: str
) -> None:
    keys = [f"{day:%Y%m%d},{day.month}" for day in DAYS]
    tmp_path.joinpath("calendar.csv").write_text("\n".join(("date_key,month", *keys, "")))
    sold = [DAYS[at * 7 % 100] for at in range(400)]
    if written:
        rows = [f"{5000 + at},{day:{written}}" for at, day in enumerate(sold)]
        tmp_path.joinpath("sales.csv").write_text("\n".join(("no,order_date", *rows, "")))
    else:
        table = pa.table(
            {"no": range(5000, 5400), "order_date": pa.array(sold).cast(pa.timestamp("us"))}
        )
        pq.write_table(table, tmp_path / "sales.parquet")
    [record] = find_joins(tmp_path).records()
    assert (record["left_column"], record["right_column"]) == ("order_date", "date_key")
    assert (record["role"], record["compared_as"], record["rows"]) == ("reference", "dates", 400)
    assert record["sql_was_run"]
