"""Test that pairs are counted in many processes as in one, and when Spark counts them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple
from unittest.mock import Mock

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from datahub_hyperjoin.joins import Evidence
from datahub_hyperjoin.locations import File
from datahub_hyperjoin.normal_form import Synonyms, hash_values
from datahub_hyperjoin.spark import executor
from datahub_hyperjoin.spark import session as sessions
from datahub_hyperjoin.spark.config import ProfileConfig, SessionConfig
from datahub_hyperjoin.spark.processes import run_in_processes
from datahub_hyperjoin.spark.routes import session_to_compare
from datahub_hyperjoin.spark.session import LazySession
from datahub_hyperjoin.spark.verification.composites import verify_composites
from datahub_hyperjoin.spark.verification.values import RequestedColumns, prune_value_files
from datahub_hyperjoin.spark.verification.verify import ColumnKinds, verify_joins
from datahub_hyperjoin.tables import ColumnId, Table
from datahub_hyperjoin.value_forms import Notation

MakeTable = Callable[[str, bytes | str | pa.Table], Table]
CONFIG = ProfileConfig()


class _Lake(NamedTuple):
    orders: Table
    items: Table
    lost: Table


@pytest.fixture
def lake(make_table: MakeTable) -> _Lake:
    """Return two tables that join in several ways, and one that cannot be read."""
    land = ("de", "fr")
    orders = [f"{at % 60},00{at % 50},{at % 7},,{land[at % 2]}" for at in range(300)]
    items = ["NA,x,1,", *(f"{at},{at},{at % 7},{land[at % 2] * 2}" for at in range(40))]
    return _Lake(
        make_table("orders.csv", "\n".join(["id,code,line,none,land", *orders])),
        make_table("items.csv", "\n".join(["id,code,line,land", *items])),
        make_table("lost.csv", b"\0\1"),
    )


def test_many_processes_count_what_one_counts(lake: _Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    def pair(left: str, right: str) -> tuple[ColumnId, ColumnId]:
        return ColumnId(lake.orders.id, left), ColumnId(lake.items.id, right)

    lands, empty, padded = pair("land", "land"), pair("none", "id"), pair("code", "code")
    lost = ColumnId(lake.lost.id, "x"), lands[0]
    pairs = [pair("id", "id"), padded, lands, empty, (lands[0], lands[0]), lost]
    codes, names = np.sort(hash_values(pa.array(["de", "fr"]))), ["dede", "frfr"]
    order = np.argsort(hash_values(pa.array(["de", "fr"])))
    synonyms = Synonyms(codes, hash_values(pa.array(names))[order])
    kinds = ColumnKinds(
        notations={padded[0]: Notation.PADDED},
        kinds={lands: "countries"},
        synonyms={"countries": synonyms},
    )
    reference = (pair("id", "id"), pair("line", "line"))
    unread: list[str] = []

    def count() -> tuple[dict[tuple[ColumnId, ColumnId], Evidence], object]:
        return (
            verify_joins(
                None, lake, pairs, kinds=kinds, note_unread=lambda table: unread.append(table.name)
            ),
            verify_composites(None, lake, [reference], texts=set()),
        )

    here, composites = count()
    assert [*here] == pairs[:-1]
    assert (here[lands].compared_as, here[lands].containment) == ("countries", 1.0)
    assert here[padded].compared_as
    assert here[empty].shared == 0
    monkeypatch.setattr(executor, "_FEW_BYTES", -1)
    assert count() == (here, composites)
    assert unread == ["lost", "lost"]


def test_a_table_that_ends_its_process_costs_no_other(
    make_table: MakeTable, deadly: Callable[[Table], Table], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(executor, "_FEW_BYTES", -1)
    tables = [make_table(f"t{at}.csv", f"a\n{at % 2}\n") for at in range(4)]
    tables[1] = deadly(tables[1])
    columns = [ColumnId(table.id, "a") for table in tables]
    pairs = [(columns[0], column) for column in columns[1:]]
    unread: list[str] = []
    found = verify_joins(None, tables, pairs, note_unread=lambda table: unread.append(table.name))
    assert {column.table.name: found[columns[0], column].shared for column in columns[2:]} == {
        "t2": 1,
        "t3": 0,
    }
    assert (len(found), unread) == (2, ["t1"])


def test_processes_read_only_tables_whose_values_are_not_kept(
    make_table: MakeTable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(executor, "_FEW_BYTES", 0)
    read: list[set[str]] = []

    def run(
        tasks: Sequence[Sequence[RequestedColumns]],
        work: Callable[[Sequence[RequestedColumns]], Iterator[pa.RecordBatch]],
        schema: pa.Schema,
        *,
        sizes: Sequence[int],
    ) -> pa.Table:
        names = {request.table.id.name for task in tasks for request in task}
        assert sorted(sizes) == sorted(each.size for each in tables if each.id.name in names)
        read.append(names)
        return run_in_processes(tasks, work, schema, sizes=sizes)

    monkeypatch.setattr(executor, "run_in_processes", run)
    made = [make_table(f"t{at}.csv", f"a\n{at}\n{at + 1}\n") for at in range(3)]
    tables = [replace(table, state="first") for table in made]
    config = ProfileConfig(store=tmp_path / "store")
    prune_value_files(config, tables)
    columns = [ColumnId(table.id, "a") for table in tables]
    pairs = [(columns[0], columns[1]), (columns[1], columns[2])]
    found = verify_joins(None, tables, pairs, config=config)
    assert [found[pair].shared for pair in pairs] == [1, 1]
    tables[1] = replace(tables[1], state="second")
    assert verify_joins(None, tables, pairs, config=config) == found
    assert verify_joins(None, tables, pairs, config=config) == found
    assert read == [{"t0", "t1", "t2"}, {"t1"}]


def test_one_machine_compares_columns_without_spark(
    make_table: MakeTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    spark = Mock(spec=SparkSession)
    monkeypatch.setattr(sessions, "active_session", lambda: None)

    def starts(tables: list[Table], values: int = 1, master: str = "local[*]") -> bool:
        session = LazySession(SessionConfig(master=master), lambda: spark)
        return session_to_compare(tables, values, session, CONFIG) is spark

    file = make_table("a.parquet", pa.table({"a": [1]}))
    part = replace(file, size=1 << 27)
    far = replace(file, location=File(uri="s3a://lake/a.parquet", format="parquet"))
    assert not starts([part] * 9)
    assert not starts([part] * 9, values=1 << 27)
    assert starts([part] * 9, values=(1 << 27) + 1)
    assert not starts([part] * 16)
    assert starts([part] * 16 + [file])
    assert not starts([file], values=(1 << 27) + 1)
    assert starts([replace(file, size=CONFIG.split_bytes), part])
    assert starts([far])
    assert starts([part] * 9, master="spark://host:7077")
    assert starts([part] * 9, master="sc://host:15002")
    assert not starts([part], master="spark://host:7077")
    assert session_to_compare([part] * 9, 1, lambda: spark, CONFIG) is spark
    # A session that others started decides, not the recipe.
    spark.conf.get.return_value = "yarn"
    monkeypatch.setattr(sessions, "active_session", lambda: spark)
    assert starts([part] * 9)
    spark.conf.get.return_value = "local[2]"
    assert not starts([part] * 9, master="yarn")
