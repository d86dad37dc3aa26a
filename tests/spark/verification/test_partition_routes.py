"""Test that evidence does not depend on how many tasks read a text file."""

import gzip
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from datahub_hyperjoin.locations import Dialect, File
from datahub_hyperjoin.spark import on_spark
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.files.table_parts import FileRange
from datahub_hyperjoin.spark.native.text_ranges import divide_files
from datahub_hyperjoin.spark.verification.composites import verify_composites
from datahub_hyperjoin.spark.verification.verify import ColumnKinds, verify_joins
from datahub_hyperjoin.tables import ColumnId, Table, TableId

MakeTable = Callable[[str, bytes | str | pa.Table], Table]

IN_RANGES = ProfileConfig(split_bytes=1)
WHOLE = ProfileConfig(split_bytes=1 << 40)
CELLS = ["Oslo", '"Oslo, N"', '"two\nlines"', '"say ""hi"""', "NA", "", '"\n\n"', "Bod\u00f8"]
TEXTS = ("id", "city", "note")  # a ragged line is a row whose first field is a word


def content(seed: int, line_end: str = "\n") -> str:
    """Return CSV text with odd cells, blank lines and short rows; its last line has no line end."""
    random = np.random.default_rng(seed)
    lines = ["id,city,note"]
    for at in range(400):
        city, note = (CELLS[choice] for choice in random.integers(len(CELLS), size=2))
        number = "NA" if at % 50 == 1 else f"{at * (seed + 1)}"
        lines.append(f"{number},{city},{note}")
        lines += [""] * (at % 7 == 0) + ["ragged"] * (at % 11 == 0)
    return line_end.join(lines)


def columns_of(tables: Sequence[Table]) -> list[ColumnId]:
    return [ColumnId(table.id, path) for table in tables for path in TEXTS]


def texts_of(columns: Sequence[ColumnId]) -> frozenset[ColumnId]:
    return frozenset(column for column in columns if column.path in TEXTS)


def test_evidence_of_ranges_is_that_of_the_whole(
    spark: SparkSession, make_table: MakeTable
) -> None:
    tables = [
        make_table("unix.csv", content(0)),
        make_table("dos.csv", "\ufeff" + content(1, "\r\n")),
        make_table("tabs.tsv", content(2).replace(",", "\t")),
        make_table("stray.csv", content(3) + '\n7,5" pipe,6" pipe\n'),
    ]
    assert [*divide_files(spark, tables)] == [0, 1, 2]
    columns = columns_of(tables)
    pairs = [*product(columns, columns)]
    kinds = ColumnKinds(texts=texts_of(columns))
    whole = verify_joins(spark, tables, pairs, config=WHOLE)
    assert len(whole) == len(pairs)
    assert verify_joins(spark, tables, pairs, kinds=kinds, config=IN_RANGES) == whole


def test_tuples_of_ranges_are_those_of_the_whole(
    spark: SparkSession, make_table: MakeTable
) -> None:
    tables = [make_table("a.csv", content(0)), make_table("b.csv", content(1))]
    a, b = (tuple(ColumnId(table.id, path) for path in ("city", "note")) for table in tables)
    reference = (a[0], b[0]), (a[1], b[1])
    texts = texts_of([*a, *b])
    whole, ranges = (
        verify_composites(spark, tables, [reference], texts=texts, config=config)[reference]
        for config in (WHOLE, IN_RANGES)
    )
    assert (ranges.evidence, ranges.tuples) == (whole.evidence, whole.tuples)
    assert ranges.matched == whole.matched


@pytest.mark.parametrize(
    ("text", "dialect", "reason"),
    [
        (gzip.compress(b"id\n1\n2\n", mtime=0), Dialect(), "it is compressed"),
        (b"id,x\n1,a\n", Dialect(escape="\\"), "it has an escape character"),
        (b"id,x\n1,a\n", Dialect(encoding="cp1251"), "its encoding is given"),
        (
            b"Cities\n\nname,land,people\nOslo,Norway,7\nBergen,Norway,3\n",
            Dialect(),
            "it has lines above the header",
        ),
        (
            "id,x\n1,\u00e9\n2,b\n".encode("cp1252"),
            Dialect(),
            "its quotes or its encoding hide where rows begin",
        ),
        (b"", Dialect(), "is an empty file"),
    ],
)
def test_the_log_says_why_one_task_reads_a_file(
    spark: SparkSession,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    text: bytes,
    dialect: Dialect,
    reason: str,
) -> None:
    caplog.set_level("DEBUG")
    path = tmp_path / ("t.csv.gz" if reason == "it is compressed" else "t.csv")
    path.write_bytes(text)
    file = File(uri=str(path), format="csv", dialect=dialect)
    table = Table(id=TableId("file", "t"), title="t", location=file, size=1)
    assert divide_files(spark, [table]) == {}
    assert f"One task reads {table.id}: {reason}" in caplog.text


def test_a_table_without_rows_is_unread_in_ranges_too(
    spark: SparkSession, make_table: MakeTable
) -> None:
    tables = [
        make_table("one.csv", content(0)),
        make_table("void.csv", "id,city\n\n\n\n\n"),
        make_table("ragged.csv", "id,city\n" + "1\n" * 9),
    ]
    assert len(divide_files(spark, tables)) == 3
    ids = [ColumnId(table.id, "id") for table in tables]
    unread: list[TableId] = []
    found = verify_joins(
        spark,
        tables,
        [(ids[0], other) for other in ids],
        config=IN_RANGES,
        note_unread=unread.append,
    )
    assert [*found] == [(ids[0], ids[0])]
    assert unread == [table.id for table in tables[1:]]


def test_an_error_in_one_range_costs_the_table_only(
    spark: SparkSession, make_table: MakeTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = [make_table(f"t{at}.csv", content(at)) for at in range(3)]

    def divide_and_lose(
        session: SparkSession, large: Sequence[Table]
    ) -> dict[int, list[FileRange]]:
        ranges = divide_files(session, large)
        assert isinstance(tables[1].location, File)
        Path(tables[1].location.uri).unlink(missing_ok=True)
        return ranges

    monkeypatch.setattr(on_spark, "divide_files", divide_and_lose)
    ids = [ColumnId(table.id, "id") for table in tables]
    unread: list[TableId] = []
    found = verify_joins(
        spark,
        tables,
        [(ids[0], other) for other in ids],
        config=IN_RANGES,
        note_unread=unread.append,
    )
    assert [*found] == [(ids[0], ids[0]), (ids[0], ids[2])]
    assert unread == [tables[1].id]
