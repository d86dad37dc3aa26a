"""Test that one odd value or line does not make a whole table unreadable."""

import json
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import orc

from datahub_hyperjoin.locations import File
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.databases.engines import Databases
from datahub_hyperjoin.spark.errors import UnreadableTableError
from datahub_hyperjoin.spark.files import delimited, json_files
from datahub_hyperjoin.spark.files.json_files import MOST_LEVELS
from datahub_hyperjoin.spark.objects import array_of
from datahub_hyperjoin.spark.profiles.local_batch import profile_table
from datahub_hyperjoin.spark.read import read_table
from datahub_hyperjoin.tables import Table, TableId

MakeTable = Callable[[str, bytes | str | pa.Table], Table]


def read(table: Table, rows: int = 10**7) -> tuple[list[dict[str, object]], list[str]]:
    stream = read_table(table, Databases(), max_rows=rows)
    return [row for batch in stream.batches for row in batch.to_pylist()], stream.notes


def nested(levels: int) -> str:
    return '{"id": 2, "tree": ' + "[" * levels + "]" * levels + "}\n"


@pytest.mark.parametrize("levels", [20_000, 100_000])
@pytest.mark.parametrize("opening", ["[", '{"a":'])
def test_a_line_nested_too_deeply_costs_only_itself(
    make_table: MakeTable, levels: int, opening: str
) -> None:
    closing = {"[": "]"}.get(opening, "1}")
    line = '{"id": 2, "tree": ' + opening * levels + closing * levels + "}\n"
    rows, notes = read(make_table("trees.jsonl", '{"id": 1}\n' + line + '{"id": 3}\n'))
    assert [row["id"] for row in rows] == [1, 3]
    assert notes == [
        f"read line by line: a line is nested more than {MOST_LEVELS} levels deep",
        "skipped lines that are not JSON objects: 1",
    ]


def test_a_long_list_is_not_taken_for_deep_nesting(make_table: MakeTable) -> None:
    line = json.dumps({"id": 1, "tags": [{"t": "["}] * 5000, "text": '"' + "[" * 5000}) + "\n"
    rows, notes = read(make_table("tags.jsonl", line * 3))
    assert [row["id"] for row in rows] == [1, 1, 1]
    assert notes == ["columns not compared, because they hold lists, maps or bytes: 'tags'"]


def test_a_deep_line_in_a_later_block_costs_only_itself(
    make_table: MakeTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_files, "_BLOCK", 1 << 10)
    lines = [f'{{"id": {at}}}\n' for at in range(500)]
    rows, notes = read(make_table("late.jsonl", "".join([*lines, nested(20_000), *lines])))
    assert [row["id"] for row in rows] == [*range(500), *range(500)]
    assert notes[-1] == "skipped lines that are not JSON objects: 1"


@pytest.mark.parametrize(
    ("odd", "expected"),
    [
        ('{"id": "A12"}', "A12"),
        ('{"id": {"x": 1}}', None),
        ('{"id": [1, 2]}', "[1, 2]"),
        ('{"id": [[1]]}', None),
        ('{"id": 123456789012345678901234567890}', "123456789012345678901234567890"),
        ('{"id": "a\\ud800"}', "a?"),
        ('{"id": "a\x01"}', "a\x01"),
        ('{"id": 0, "id": "B"}', "B"),
    ],
)
def test_a_value_of_another_type_is_text_or_null(
    make_table: MakeTable, odd: str, expected: str | None
) -> None:
    rows, _ = read(make_table("ids.jsonl", f'{{"id": 1}}\n{odd}\n{{"id": "last"}}\n'))
    assert [row["id"] for row in rows] == ["1", expected, "last"]


@pytest.mark.parametrize("odd", ['{"id": 2', "[1, 2]", "3", '{"id": }', "nothing"])
def test_a_line_that_is_no_object_costs_only_itself(make_table: MakeTable, odd: str) -> None:
    rows, notes = read(make_table("ids.jsonl", f'{{"id": 1}}\n{{"id": 2}}\n{odd}\n{{"id": 3}}\n'))
    assert [row["id"] for row in rows] == [1, 2, 3]
    assert notes[-1] == "skipped lines that are not JSON objects: 1"


def test_a_type_that_changes_in_a_later_block_loses_no_row(
    make_table: MakeTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_files, "_BLOCK", 1 << 10)
    lines = [f'{{"id": {at}, "at": "2024-01-01 00:00:00"}}\n' for at in range(200)]
    table = make_table("late.jsonl", "".join([*lines, '{"id": "A12"}\n', *lines]))
    rows, _ = read(table)
    assert [str(row["id"]) for row in rows] == [*map(str, range(200)), "A12", *map(str, range(200))]
    assert rows[0]["at"] == datetime(2024, 1, 1)  # noqa: DTZ001 (as Arrow reads it)
    profile = profile_table(table, ProfileConfig(), Databases())
    assert [(c.id.path, c.distinct, c.nulls) for c in profile.columns] == [
        ("id", 201, 0),
        ("at", 1, 1),
    ]


@pytest.mark.parametrize("quote", ["", '"'])
def test_a_cell_over_sixteen_megabytes_is_cut(make_table: MakeTable, quote: str) -> None:
    head = "".join(f"{at},short\n" for at in range(9))
    long = "1" * (40 << 20)
    rows, notes = read(
        make_table("long.csv", f"id,text\n{head}9,{quote}{long}{quote}\nonly one\n10,short\n")
    )
    assert [row["id"] for row in rows] == [str(at) for at in range(11)]
    assert rows[9]["text"] == "1" * (1 << 20)
    assert {rows[at]["text"] for at in (0, 8, 10)} == {"short"}
    assert notes == [
        "skipped lines that are no rows, with more or fewer fields than the header: 1",
        "values longer than 1048576 characters, which were cut: 1",
    ]


def test_a_quote_that_is_never_closed_is_named(
    make_table: MakeTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delimited, "_LARGEST_BLOCK", 1 << 24)
    table = make_table("quote.csv", 'a,b\n1,"2\n' + "3,4\n" * 9_000_000)
    fault = profile_table(table, ProfileConfig(), Databases()).fault
    assert fault == (
        "cannot be read: a row is longer than 16 MiB, or a quote in it is never closed. Fix the "
        "file"
    )


def test_a_long_cell_in_json_is_cut(make_table: MakeTable) -> None:
    lines = [json.dumps({"id": at, "text": "x" * size}) for at, size in enumerate((1, 20 << 20, 2))]
    rows, notes = read(make_table("long.jsonl", "\n".join(lines)))
    assert [(row["id"], len(str(row["text"]))) for row in rows] == [(0, 1), (1, 1 << 20), (2, 2)]
    assert notes[-1] == "values longer than 1048576 characters, which were cut: 1"


@pytest.mark.parametrize("keeps_type", [True, False])
def test_a_small_file_that_unfolds_to_gigabytes_is_read_in_small_parts(
    make_table: MakeTable, tmp_path: Path, *, keeps_type: bool
) -> None:
    texts = pa.DictionaryArray.from_arrays(np.zeros(200_000, np.int32), ["x" * 10_000])
    table = make_table("small.parquet", pa.table({"id": [1]}))
    pq.write_table(pa.table({"text": texts}), tmp_path / "small.parquet", store_schema=keeps_type)
    assert (tmp_path / "small.parquet").stat().st_size < 100_000
    stream = read_table(table, Databases(), max_rows=10**7)
    sizes = [(len(batch), batch.nbytes) for batch in stream.batches]
    assert sum(rows for rows, _ in sizes) == 200_000
    assert sum(size for _, size in sizes) > 2_000_000_000
    assert max(size for _, size in sizes) < 1 << 27


def bad_texts() -> pa.Array:
    return pa.array([b"K\xf6ln", b"Rom", None, "Łódź".encode()]).view(pa.string())


@pytest.mark.parametrize("layout", ["parquet", "orc"])
def test_text_that_is_not_utf_8_is_replaced(
    make_table: MakeTable, tmp_path: Path, layout: str
) -> None:
    columns = pa.table({"id": range(4), "city": bad_texts()})
    if layout == "parquet":
        table = make_table("cities.parquet", columns)
    else:
        orc.write_table(columns, tmp_path / "cities.orc")
        location = File(uri=str(tmp_path / "cities.orc"), format=layout)
        table = Table(id=TableId("file", "cities"), title="cities", location=location, size=1)
    rows, notes = read(table)
    assert [row["city"] for row in rows] == ["K\ufffdln", "Rom", None, "Łódź"]
    assert notes == ["texts that are not UTF-8, with characters replaced by \ufffd: 1"]


@pytest.mark.parametrize(
    ("type_", "storage", "far"),
    [
        (pa.date32(), pa.int32(), 2**31 - 1),
        (pa.date64(), pa.int64(), 10**11 * 86_400_000),
        (pa.timestamp("us"), pa.int64(), -(2**62)),
        (pa.timestamp("ms", "UTC"), pa.int64(), 2**60),
    ],
)
def test_a_time_that_cannot_be_written_is_null(
    make_table: MakeTable, type_: pa.DataType, storage: pa.DataType, far: int
) -> None:
    times = pa.array([0, far, None], storage).cast(type_)
    table = make_table("times.parquet", pa.table({"at": times}))
    profile = profile_table(table, ProfileConfig(), Databases())
    [column] = profile.columns
    assert (column.rows, column.nulls, column.distinct) == (3, 2, 1)
    assert profile.notes == ("dates and times thousands of years away, which count as missing: 1",)


def test_a_time_out_of_reach_in_orc_costs_only_its_column(tmp_path: Path) -> None:
    times = pa.array([0, -(2**62)], pa.int64()).cast(pa.timestamp("us"))
    orc.write_table(pa.table({"id": [1, 2], "at": times}), tmp_path / "times.orc")
    location = File(uri=str(tmp_path / "times.orc"), format="orc")
    table = Table(id=TableId("file", "times"), title="times", location=location, size=1)
    rows, notes = read(table)
    assert rows == [{"id": 1, "at": None}, {"id": 2, "at": None}]
    assert notes == ["columns with values that cannot be read, which count as missing: 'at'"]


def test_nanoseconds_are_read(make_table: MakeTable) -> None:
    times = pa.array([0, None], pa.timestamp("ns"))
    profile = profile_table(
        make_table("times.parquet", pa.table({"at": times})), ProfileConfig(), Databases()
    )
    assert (profile.fault, profile.columns[0].nulls, profile.notes) == ("", 1, ())


def test_control_characters_in_cells_are_kept(make_table: MakeTable) -> None:
    lines = [f"{at},MKV\x01\x02\x7f{at}\n" for at in range(300)]
    rows, notes = read(make_table("proteins.csv", "id,sequence\n" + "".join(lines)))
    assert rows[7] == {"id": "7", "sequence": "MKV\x01\x02\x7f7"}
    assert (len(rows), notes) == (300, [])


@pytest.mark.parametrize("at", [3, 900_000])
def test_a_null_character_is_removed(make_table: MakeTable, at: int) -> None:
    lines = [f"{n},Os\0lo\n" if n == at else f"{n},Oslo\n" for n in range(at + 100)]
    rows, notes = read(make_table("cities.csv", "id,city\n" + "".join(lines)))
    assert {row["city"] for row in rows} == {"Oslo"}
    assert notes == ["null characters were removed"]


def test_numbers_and_texts_that_arrow_cannot_hold_are_texts() -> None:
    assert array_of([1, 10**30]).to_pylist() == ["1", str(10**30)]
    assert array_of(["a\ud800", "b"]).to_pylist() == ["a?", "b"]


@pytest.mark.parametrize("at", [0, 2, 4])
def test_a_line_that_is_too_long_costs_only_itself(
    make_table: MakeTable, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    monkeypatch.setattr(json_files, "_BLOCK", 1 << 10)
    monkeypatch.setattr(json_files, "_LONGEST", 1 << 20)
    lines = [f'{{"id": {number}}}\n' for number in range(4)]
    lines.insert(at, f'{{"id": "{"x" * (3 << 20)}"}}\n')
    rows, notes = read(make_table("long.jsonl", "".join(lines).rstrip()))
    assert [row["id"] for row in rows] == [0, 1, 2, 3]
    assert notes[-1] == "skipped lines longer than 1 MiB: 1"
    assert not any("not JSON objects" in note for note in notes)


def test_a_first_line_that_is_too_long_is_named(make_table: MakeTable) -> None:
    with pytest.raises(UnreadableTableError, match=r"its first line is too long: a field has more"):
        read(make_table("long.csv", "x" * (1 << 20)))


def test_lines_that_are_all_too_long_are_named(
    make_table: MakeTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_files, "_BLOCK", 1 << 10)
    monkeypatch.setattr(json_files, "_LONGEST", 1 << 20)
    long = json.dumps({"id": 1, "text": "x" * (5 << 20)})
    with pytest.raises(UnreadableTableError, match="each of its lines is longer than 1 MiB"):
        read(make_table("long.jsonl", long))
    rows, notes = read(make_table("later.jsonl", f'{long}\n{{"id": 2, "text": "y"}}\n'))
    assert rows == [{"id": 2, "text": "y"}]
    assert "skipped lines longer than 1 MiB: 1" in notes
