"""Test that a run after small changes needs no Spark, but finds the same joins as with Spark."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NoReturn

import pytest
from pyspark.sql import SparkSession

from datahub_hyperjoin.catalog.catalog import Catalog
from datahub_hyperjoin.discovery.progress import RunProgress
from datahub_hyperjoin.find import FindConfig
from datahub_hyperjoin.find import find as find_all
from datahub_hyperjoin.findings import Findings
from datahub_hyperjoin.locations import File
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.session import Session
from datahub_hyperjoin.tables import Table, TableId

CODES = [f"B-{number:03}" for number in range(60)]
LABELS = [
    f"{kind} of {town}" for kind in ("Ale", "Bock", "Gose") for town in "ABCDEFGHIJKLMNOPQRST"
]
LINES = [(order, line) for order in range(100, 160) for line in range(1, 2 + order % 4)]
SHIPPED = LINES[::3] + LINES[1::5]
LAKE: Mapping[str, Mapping[str, Iterable[object]]] = {
    "articles": {"article": CODES, "label": LABELS},
    "orders": {"beer": CODES[:40] * 3, "litres": [7] * 120},
    "prices": {"product": LABELS[10:], "price": [at % 9 for at in range(50)]},
    "lines": {
        "order_no": [order for order, _ in LINES],
        "line_no": [line for _, line in LINES],
        "quantity": [7 * order % 11 for order, _ in LINES],
    },
    "shipments": {
        "shipment": range(9000, 9000 + len(SHIPPED)),
        "order_no": [order for order, _ in SHIPPED],
        "line_no": [line for _, line in SHIPPED],
    },
    "sales": {"order_no": range(100, 160), "city": ["Oslo", "Bern"] * 30},
}


def write(folder: Path, *, without: int = 0) -> list[Table]:
    """Write the six tables of the lake, but omit the last `without` rows of three tables."""
    tables = []
    for name, columns in LAKE.items():
        rows = [*zip(*columns.values(), strict=True)]
        kept = rows[: len(rows) - without] if name in {"articles", "orders", "shipments"} else rows
        file = folder / f"{name}.csv"
        file.write_text("\n".join(",".join(map(str, row)) for row in [tuple(columns), *kept]))
        size = file.stat().st_size
        tables.append(
            Table(
                id=TableId("file", name),
                title=name,
                location=File(uri=str(file), format="csv"),
                size=size,
                state=f"{size} bytes",
            )
        )
    return tables


def find(tables: list[Table], session: Session, store: Path | None) -> tuple[Findings, RunProgress]:
    progress = RunProgress()
    found = find_all(
        Catalog(tables=tables), FindConfig(profile=ProfileConfig(store=store)), progress, session
    )
    return found, progress


def refuse() -> NoReturn:
    pytest.fail("Spark was started")


def test_few_changes_are_read_without_spark_and_as_with_it(
    request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    before, _ = find(write(tmp_path), refuse, tmp_path / "store")
    changed = write(tmp_path, without=7)
    again, told = find(changed, refuse, tmp_path / "store")
    spark: SparkSession = request.getfixturevalue("spark_for_all")
    whole, _ = find(changed, lambda: spark, None)
    assert told.counts["tables_from_profile_store"] == 3
    assert again == whole
    assert again.joins != before.joins
    assert len(again.crosswalks) == 1
    assert any(join.further for join in again.joins)
