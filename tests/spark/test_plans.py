"""Test that the book of Spark jobs shows the plans that Spark really runs.

`pytest tests/spark/test_plans.py -s` prints them.
"""

import re
from collections.abc import Callable
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.utils import is_remote

from datahub_hyperjoin.joins import Bridge
from datahub_hyperjoin.spark import on_spark
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.profiles import partial
from datahub_hyperjoin.spark.profiles.profile import profile_lake
from datahub_hyperjoin.spark.verification.bridges import verify_bridges
from datahub_hyperjoin.spark.verification.verify import verify_joins
from datahub_hyperjoin.tables import ColumnId, Table

MakeTable = Callable[[str, bytes | str | pa.Table], Table]
BOOK = Path(__file__).parents[2] / "spark/README.md"


def plan_of(frame: DataFrame) -> str:
    """Return the physical plan without numbers, paths and lists of columns."""
    printed = StringIO()
    with redirect_stdout(printed):
        frame.explain()
    lines = [line for line in printed.getvalue().splitlines() if line.strip(" =")]
    named = ("Physical Plan", "isFinal")
    plan = "\n".join(line for line in lines if not any(name in line for name in named))
    plan = re.sub(r"#\d+L?", "", plan)
    for pattern in (r", \[plan_id=\d+\]", r", \[id=\d+\]", r", splits=\d+", r" \[id=#\d+\]"):
        plan = re.sub(pattern, "", plan)
    plan = re.sub(r"\b(\w+)\([^()]*\)\$?(?=, |\()", r"\1(...)", plan)
    plan = re.sub(r"FileScan (\w+) .*", r"FileScan \1", plan)
    plan = re.sub(r"(MapInArrow|FlatMapGroupsInArrow) .*", r"\1", plan)
    return "\n".join(line.rstrip() for line in plan.splitlines())


@pytest.fixture
def plans(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list that receives the plan of each job."""
    found: list[str] = []

    def noting(collect: Callable[[DataFrame], Any]) -> Callable[[DataFrame], Any]:
        def collect_and_note(frame: DataFrame) -> Any:  # noqa: ANN401 (what the function returns)
            found.append(plan_of(frame))
            return collect(frame)

        return collect_and_note

    for module in (on_spark, partial):
        monkeypatch.setattr(module, "collect_arrow", noting(module.collect_arrow))
    create = on_spark._SparkSQL.create  # noqa: SLF001

    def create_and_note(sql: Any, name: str, query: str) -> None:  # noqa: ANN401 (private class)
        create(sql, name, query)
        if name == "linked":
            found.append(plan_of(sql._rows(query)))  # noqa: SLF001 (as it was planned)

    monkeypatch.setattr(on_spark._SparkSQL, "create", create_and_note)  # noqa: SLF001
    return found


def test_the_book_shows_the_plans(
    spark: SparkSession, make_table: MakeTable, plans: list[str]
) -> None:
    if is_remote():
        pytest.skip("a server may plan in another way")
    small = make_table("small.csv", "id,code\n1,a\n2,b\n")
    large = make_table("large.parquet", pa.table({"id": [1, 2], "name": ["x", "y"]}))
    a, b = ColumnId(small.id, "id"), ColumnId(large.id, "id")
    bridge = Bridge(a, b, ColumnId(large.id, "name"), ColumnId(small.id, "code"))
    profile_lake(spark, [small], ProfileConfig())
    profile_lake(spark, [large], ProfileConfig(split_bytes=1))
    verify_joins(spark, [small, large], [(a, b)], config=ProfileConfig(split_bytes=1 << 8))
    verify_bridges(spark, [small, large], [bridge])
    book = BOOK.read_text("utf-8")
    for plan in plans:
        print(plan, end="\n\n")  # noqa: T201 (for the book)
    assert [plan for plan in plans if plan not in book] == []
