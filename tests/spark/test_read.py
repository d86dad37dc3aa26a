"""Test that files of all supported formats are read correctly, and others are rejected."""

import gc
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from datahub_hyperjoin.locations import Dialect, File
from datahub_hyperjoin.spark.columns import TableStream
from datahub_hyperjoin.spark.databases.engines import Databases
from datahub_hyperjoin.spark.errors import EmptyTableError, UnreadableTableError
from datahub_hyperjoin.spark.files.dialects import find_delimiter
from datahub_hyperjoin.spark.files.header import ROWS_NAMED
from datahub_hyperjoin.spark.files.parquet import VALUES_LOOKED_AT
from datahub_hyperjoin.spark.native.frames import load_frame, select_columns
from datahub_hyperjoin.spark.read import read_table
from datahub_hyperjoin.tables import DataType, Table

NOWHERE = Databases()

MakeTable = Callable[[str, bytes | str | pa.Table], Table]
CITIES = "id,city\n1,Köln\n2,Oslo\n"
ROWS = [{"id": "1", "city": "Köln"}, {"id": "2", "city": "Oslo"}]


def rows_of(
    table: Table, max_rows: int = 1000, paths: set[str] | None = None
) -> tuple[list[dict[str, Any]], list[str]]:
    reading = read_table(table, NOWHERE, max_rows=max_rows, paths=paths)
    return [row for batch in reading.batches for row in batch.to_pylist()], reading.notes


def exhaust(reading: TableStream) -> None:
    for _ in reading.batches:
        pass


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_detected(make_table: MakeTable, delimiter: str) -> None:
    assert rows_of(make_table("cities.csv", CITIES.replace(",", delimiter))) == (ROWS, [])


@pytest.mark.parametrize(
    ("head", "delimiter"),
    [
        ("city\nNew York; USA\n", ","),
        ("id;price;name\n1;2,5;a,b\n2;3,5;c\n", ";"),
        ('id,remark\n1,"a;b;c"\n2,"d;e;f"\n', ","),
        ("id|a;b\n1|x\n", "|"),
        ("a\tb\n" + "1,2,3\t4\n" * 300, "\t"),
    ],
)
def test_other_delimiters_inside_values_do_not_mislead(head: str, delimiter: str) -> None:
    assert find_delimiter(head) == delimiter


@pytest.mark.parametrize(
    ("head", "dialect", "delimiter"),
    [
        ("|id|;|a|b|\n", Dialect(quote="|"), ";"),
        ("id\n1\n", Dialect(quote=","), ";"),
        ("id\\,nr;city\n", Dialect(escape="\\"), ";"),
    ],
)
def test_quotes_and_escapes_are_not_taken_for_delimiters(
    head: str, dialect: Dialect, delimiter: str
) -> None:
    assert find_delimiter(head, dialect) == delimiter


def test_a_tsv_file_is_split_at_tabs_whatever_it_holds(make_table: MakeTable) -> None:
    rows, _ = rows_of(make_table("cities.tsv", "id,nr\tcity\n1,5\tOslo\n"))
    assert rows == [{"id,nr": "1,5", "city": "Oslo"}]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_breaks_of_all_systems_are_read(make_table: MakeTable, end: str) -> None:
    assert rows_of(make_table("cities.csv", (end + CITIES).replace("\n", end)))[0] == ROWS


def test_the_last_line_needs_no_line_break(make_table: MakeTable) -> None:
    assert rows_of(make_table("cities.csv", CITIES.rstrip()))[0] == ROWS


def test_quoted_values_keep_their_delimiters_and_lines(make_table: MakeTable) -> None:
    rows, _ = rows_of(make_table("notes.csv", '"id","a\nnote"\n1,"x, ""y""\nz"\n'))
    assert rows == [{"id": "1", "a\nnote": 'x, "y"\nz'}]


def test_only_an_empty_field_is_null(make_table: MakeTable) -> None:
    rows, _ = rows_of(make_table("codes.csv", 'code,text\n007,\n"",NA\n'))
    assert rows == [{"code": "007", "text": None}, {"code": None, "text": "NA"}]


@pytest.mark.parametrize(
    ("encoding", "notes"),
    [
        ("utf-8", []),
        ("utf-8-sig", []),
        ("utf-16", ["not UTF-8: read as UTF-16"]),
        ("utf-32", ["not UTF-8: read as UTF-32"]),
        ("latin-1", ["not UTF-8: read as Windows-1252 (Latin-1)"]),
    ],
)
def test_encodings_are_detected(make_table: MakeTable, encoding: str, notes: list[str]) -> None:
    assert rows_of(make_table("cities.csv", CITIES.encode(encoding))) == (ROWS, notes)


def test_a_latin_letter_late_in_a_file_is_detected(make_table: MakeTable) -> None:
    content = b"city\n" + b"Rome\n" * 500_000 + "Köln\n".encode("latin-1")
    rows, notes = rows_of(make_table("cities.csv", content), max_rows=1_000_000)
    assert (len(rows), rows[-1]) == (500_001, {"city": "Köln"})
    assert notes == ["not UTF-8: read as Windows-1252 (Latin-1)"]


def test_a_broken_letter_among_good_ones_is_read_as_windows_1252(make_table: MakeTable) -> None:
    content = b"city\n" + "Köln\n".encode() * 300_000 + b"K\xf6ln\n"
    rows, notes = rows_of(make_table("cities.csv", content), max_rows=1_000_000)
    assert (rows[0], rows[-1]) == ({"city": "Köln"}, {"city": "Köln"})
    assert notes == ["not UTF-8 in places: bytes there were read as Windows-1252 (Latin-1)"]


@pytest.mark.filterwarnings("error")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
@given(st.lists(st.text('aé,"\n\r ', min_size=1), min_size=1, max_size=5))
def test_values_written_as_csv_are_read_back(make_table: MakeTable, values: list[str]) -> None:
    quoted = ['"' + value.replace('"', '""') + '"' for value in values]
    table = make_table("texts.csv", "id,text\n" + "".join(f"1,{cell}\n" for cell in quoted))
    rows, notes = rows_of(table)
    assert ([row["text"] for row in rows], notes) == (values, [])


def test_ragged_rows_are_mended_and_counted(make_table: MakeTable) -> None:
    rows, notes = rows_of(make_table("cities.csv", CITIES + "3\n4,Bern,x\nthe end\n5,Rome\n"))
    assert [row["id"] for row in rows] == ["1", "2", "5", "3", "4"]
    assert notes == [
        "rows with fewer fields than the header, which are empty at the end: 1",
        "rows with more fields than the header, joined where the other rows show it: 1",
        "skipped lines that are no rows, with more or fewer fields than the header: 1",
    ]


@pytest.mark.parametrize("ends", [",", ",,,"])
def test_blank_fields_beyond_the_header_are_left_out(make_table: MakeTable, ends: str) -> None:
    table = make_table(
        "cities.csv", f"id,name\n1,Köln{ends}\n2,Rome{ends}\n3,Bern,\n4,Oslo,{ends}x\n"
    )
    rows, notes = rows_of(table)
    assert rows[:2] == [{"id": "1", "name": "Köln"}, {"id": "2", "name": "Rome"}]
    left_out = f"skipped columns without a name, which are empty or number the rows: {len(ends)}"
    assert left_out in notes


def test_fields_beyond_the_header_are_not_left_out_if_filled(make_table: MakeTable) -> None:
    rows, _ = rows_of(make_table("cities.csv", "id,name\n1,Köln,,x\n2,Rome,,\n3,Bern,,\n"))
    assert rows[:2] == [{"id": "1", "name": "Köln,,x"}, {"id": "2", "name": "Rome"}]


def test_an_unclosed_quote_is_reported(make_table: MakeTable) -> None:
    rows, notes = rows_of(make_table("sizes.csv", 'id,size\n1,"5 inch\n2,7 inch\n'))
    assert len(rows) == 2
    assert notes == ["quotes that are never closed were read as a part of the field"]
    rows, notes = rows_of(make_table("lists.csv", 'id,sizes\n1,"5, 6\n2,7\n'))
    assert len(rows) == 1
    assert notes == ["a quote is never closed: rows after it may be missing"]


def test_columns_without_a_name_of_their_own_are_kept(make_table: MakeTable) -> None:
    table = make_table("cities.csv", ",id,name,name,,,name_2\n0,1,a,b,c,,d\n")
    rows, notes = rows_of(table)
    assert rows == [{"id": "1", "name": "a", "name_3": "b", "column_5": "c", "name_2": "d"}]
    assert notes == [
        "skipped columns without a name, which are empty or number the rows: 2",
        "columns of one name are numbered: 'name_3'",
        "columns without a name are called by their places: 'column_5'",
    ]
    assert rows_of(table, paths={"name_3"})[0] == [{"name_3": "b"}]


@pytest.mark.parametrize("header", [",mpg,gear", '"","mpg","gear"', "mpg,gear", "\ufeff,mpg,gear"])
def test_the_column_of_row_names_has_a_name(make_table: MakeTable, header: str) -> None:
    table = make_table("cars.csv", f"{header}\nMazda RX4,21,4\nFiat 128,32,4\nHonda Civic,30,4\n")
    rows, notes = rows_of(table)
    assert rows[0] == {"row_name": "Mazda RX4", "mpg": "21", "gear": "4"}
    assert notes == [ROWS_NAMED]
    reading = read_table(table, NOWHERE, max_rows=9, paths={"row_name"})
    assert next(reading.batches).to_pylist()[1] == {"row_name": "Fiat 128"}
    reading.batches.close()


@pytest.mark.parametrize(
    "text",
    [
        ",mpg\n1,21\n2,32\n",
        ",mpg\n0,21\n2,32\n",
        ",mpg\n3,21\n1,32\n2,33\n",
        ",mpg\n,21\n,32\n",
    ],
)
def test_numbers_of_rows_and_empty_columns_are_left_out(make_table: MakeTable, text: str) -> None:
    _, notes = rows_of(make_table("cars.csv", text))
    assert notes == ["skipped columns without a name, which are empty or number the rows: 1"]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("titles", ["Cars of 1974\n", "Cars\n\n", "\nCars: 'all'\r\n\r\n1974\n\n"])
def test_title_lines_are_skipped(make_table: MakeTable, titles: str, delimiter: str) -> None:
    text = "name,made in,mpg,gear\nMazda,Japan,21,4\nFiat,Italy,32,4\nHonda,Japan,30,4\n"
    table = make_table("cars.csv", titles + text.replace(",", delimiter))
    rows, [note] = rows_of(table)
    assert rows[0] == {"name": "Mazda", "made in": "Japan", "mpg": "21", "gear": "4"}
    assert len(rows) == 3
    assert note.startswith("lines above the header were skipped: ")
    reading = read_table(table, NOWHERE, max_rows=9, paths={"mpg"})
    assert next(reading.batches).to_pylist() == [{"mpg": "21"}, {"mpg": "32"}, {"mpg": "30"}]
    reading.batches.close()


def test_one_row_that_is_too_long_changes_no_name(make_table: MakeTable) -> None:
    with pytest.raises(UnreadableTableError):
        rows_of(make_table("cars.csv", "mpg,gear\nMazda RX4,21,4\n"))


def test_a_long_table_is_sampled_with_a_note(make_table: MakeTable) -> None:
    table = make_table("cities.csv", CITIES)
    rows, notes = rows_of(table, max_rows=1)
    assert (len(rows), notes) == (1, ["read a sample of 50.00% of 2 rows"])
    assert rows[0] in ROWS
    assert rows_of(table, max_rows=2) == (ROWS, [])


def test_a_sampled_table_still_counts_ragged_rows(make_table: MakeTable) -> None:
    _, notes = rows_of(make_table("cities.csv", "id,city\n1\n1,Oslo\n2,Bern\n"), max_rows=1)
    assert len(notes) == 2


def test_only_requested_columns_are_read(make_table: MakeTable) -> None:
    table = make_table("cities.csv", CITIES)
    reading = read_table(table, NOWHERE, max_rows=10, paths={"city", "mayor"})
    assert [column.path for column in reading.columns] == ["city"]
    assert next(reading.batches).to_pylist() == [{"city": "Köln"}, {"city": "Oslo"}]
    reading.batches.close()


@pytest.mark.parametrize(
    ("name", "content", "error", "message"),
    [
        ("empty.csv", "", EmptyTableError, "is an empty file"),
        ("blank.csv", "\n\n", EmptyTableError, "is an empty file"),
        ("header.csv", "id,city", EmptyTableError, "has a header but no rows"),
        ("header.parquet", pa.table({"id": pa.array([], pa.int64())}), EmptyTableError, "no rows"),
        ("empty.parquet", "", EmptyTableError, "is an empty file"),
        ("text.parquet", CITIES, UnreadableTableError, "cannot be read: Parquet magic bytes"),
        ("zip.csv", b"PK\3\4\0\0\0", UnreadableTableError, "its bytes are not text"),
        ("photo.csv", b"\x89\x10\x11\x12" * 9, UnreadableTableError, "its bytes are not text"),
        (
            "field.csv",
            "x" * 200_000,
            UnreadableTableError,
            "its first line is too long: a field has more than",
        ),
        ("names.csv", ",\n,\n", UnreadableTableError, "no column has a name or a value"),
        ("ragged.csv", "a,b\n1,2,3\n", UnreadableTableError, "none of its 1 rows has as many"),
    ],
    ids=lambda value: value if isinstance(value, str) and "." in value[:20] else "",
)
def test_a_file_that_is_not_a_table_is_rejected(
    make_table: MakeTable, name: str, content: bytes, error: type[Exception], message: str
) -> None:
    table = make_table(name, content)
    with pytest.raises(error, match=message):
        exhaust(read_table(table, NOWHERE, max_rows=10_000_000))
    gc.collect()


def test_a_missing_file_is_rejected(make_table: MakeTable) -> None:
    table = replace(
        make_table("cities.csv", CITIES),
        location=File(uri="nowhere/cities.csv", format="csv"),
    )
    with pytest.raises(UnreadableTableError, match="cannot be read: No such file or directory"):
        read_table(table, NOWHERE, max_rows=1)


def test_members_of_structs_are_columns(make_table: MakeTable) -> None:
    people = [{"name": "Ada", "home": {"city": "Rome", "at": {"lat": 41}}}, {"name": "Bo"}]
    rows, notes = rows_of(make_table("people.parquet", pa.Table.from_pylist(people)))
    assert [list(row.values()) for row in rows] == [["Ada", "Rome", 41], ["Bo", None, None]]
    assert (list(rows[0]), notes) == (["name", "home.city", "home.at.lat"], [])


def test_uuids_are_read_as_text(make_table: MakeTable) -> None:
    key = UUID("6ba7b810-9dad-11d1-80b4-00c04fd430c8")
    keys = pa.ExtensionArray.from_storage(pa.uuid(), pa.array([key.bytes, None], pa.binary(16)))
    rows, notes = rows_of(make_table("keys.parquet", pa.table({"key": keys})))
    assert (rows, notes) == ([{"key": str(key)}, {"key": None}], [])


def test_a_damaged_parquet_file_is_rejected(make_table: MakeTable, tmp_path: Path) -> None:
    table = make_table("ids.parquet", pa.table({"id": [str(at) for at in range(1000)]}))
    path = tmp_path / "ids.parquet"
    content = path.read_bytes()
    path.write_bytes(content[:4] + b"\xff" * 200 + content[204:])
    with pytest.raises(UnreadableTableError, match=r"cannot be read: .*\. Fix the file"):
        exhaust(read_table(table, NOWHERE, max_rows=2000))


def test_lists_and_maps_are_columns_without_values(make_table: MakeTable) -> None:
    table = pa.table({"id": [1], "tags": [[0.5]], "home": [{"at": [[1]]}]})
    reading = read_table(make_table("people.parquet", table), NOWHERE, max_rows=9)
    opaque = {column.path: column.opaque for column in reading.columns if column.opaque}
    assert opaque == {"tags": DataType.NESTED, "home.at": DataType.NESTED}
    assert [batch.to_pylist() for batch in reading.batches] == [[{"id": 1}]]
    assert reading.notes == [
        "columns not compared, because they hold lists, maps or bytes: 'tags', 'home.at'"
    ]


def test_rows_are_counted_without_a_readable_column(make_table: MakeTable) -> None:
    reading = read_table(
        make_table("lists.parquet", pa.table({"x": [["a"], ["b"]]})), NOWHERE, max_rows=9
    )
    assert sum(len(batch) for batch in reading.batches) == 2


@pytest.mark.parametrize("type_", [pa.binary(), pa.large_binary(), pa.binary_view(), pa.binary(2)])
def test_bytes_are_read_as_digits(make_table: MakeTable, type_: pa.DataType) -> None:
    table = pa.table({"id": pa.array([b"\x00\xff", None], type_)})
    assert rows_of(make_table("keys.parquet", table)) == ([{"id": "00ff"}, {"id": None}], [])


@pytest.mark.parametrize(
    ("values", "is_text"),
    [
        ([b"K1", "Zürich\t".encode(), None], True),
        ([b"", b"K1"], True),
        ([b"K1", b"\x01K"], False),
        ([b"K1", b"\xfc"], False),
    ],
)
def test_bytes_of_parquet_may_be_text(
    make_table: MakeTable, values: Sequence[bytes | None], *, is_text: bool
) -> None:
    table = pa.table({"no": [1, 2, 3][: len(values)], "key": pa.array(values, pa.binary())})
    rows, _ = rows_of(make_table("keys.parquet", table))
    expected = [
        None if each is None else each.decode() if is_text else each.hex() for each in values
    ]
    assert [row["key"] for row in rows] == expected


@pytest.mark.spark
@pytest.mark.parametrize(
    ("values", "type_"),
    [
        ([b"K1", "Zürich".encode(), None], pa.binary()),
        ([b"K1", b"\x01"], pa.binary()),
        ([b"K1", None], pa.large_binary()),
        ([b"K1", None], pa.binary_view()),
        ([b"K1", None], pa.binary(2)),
    ],
)
def test_spark_reads_bytes_of_parquet_alike(
    make_table: MakeTable,
    spark: SparkSession,
    values: Sequence[bytes | None],
    type_: pa.DataType,
) -> None:
    # Spark reads large files only.
    table = make_table("keys.parquet", pa.table({"key": pa.array(values, type_)}))
    frame, _, _ = select_columns(load_frame(spark, table.location), None)
    assert [row[0] for row in frame.collect()] == [row["key"] for row in rows_of(table)[0]]


@pytest.mark.spark
def test_spark_reads_no_contents_as_text(make_table: MakeTable, spark: SparkSession) -> None:
    table = make_table("pages.parquet", pa.table({"page": [b"", b"K" * 9_000]}))
    frame, _, _ = select_columns(load_frame(spark, table.location), None)
    assert [row[0] for row in frame.collect()] == ["", None]


def test_later_bytes_that_are_no_text_are_replaced(make_table: MakeTable) -> None:
    values = [*([b"K1"] * VALUES_LOOKED_AT), b"K\xff"]
    rows, _ = rows_of(make_table("keys.parquet", pa.table({"key": pa.array(values, pa.binary())})))
    assert rows[-1]["key"] == "K\ufffd"


def test_bytes_of_columns_that_share_a_name_are_digits(make_table: MakeTable) -> None:
    table = pa.Table.from_arrays([pa.array([b"K1"]), pa.array([b"K2"])], ["key", "key"])
    assert rows_of(make_table("keys.parquet", table))[0] == [{"key": "4b31", "key_2": "4b32"}]


def test_images_are_no_keys(make_table: MakeTable) -> None:
    photos = [bytes([at]) * 65 for at in range(200)]
    table = pa.table({"id": range(200), "photo": [b"\1", *photos[1:]], "face": photos})
    table = table.set_column(2, "face", pa.array([photo * 30 for photo in photos]))
    rows, notes = rows_of(make_table("photos.parquet", table))
    assert rows[:2] == [
        {"id": 0, "photo": "01", "face": None},
        {"id": 1, "photo": None, "face": None},
    ]
    assert notes == ["bytes not compared, because they are too long for keys: 'face'"]


def test_columns_that_share_a_path_are_kept(make_table: MakeTable) -> None:
    columns = [pa.array([at]) for at in range(5)]
    names = ["id", "a.b", "id", "", "ID"]
    clash = pa.Table.from_arrays([*columns, pa.array([{"b": 3}])], [*names, "a"])
    table = make_table("clash.parquet", clash)
    rows, notes = rows_of(table)
    assert rows == [{"id": 0, "a.b": 1, "id_2": 2, "column_4": 3, "ID": 4, "a.b_2": 3}]
    assert notes == [
        "columns of one name are numbered: 'id_2', 'a.b_2'",
        "columns without a name are called by their places: 'column_4'",
    ]
    assert rows_of(table, paths={"id_2", "a.b_2"})[0] == [{"id_2": 2, "a.b_2": 3}]


def test_a_parquet_file_is_read_in_batches_and_sampled(make_table: MakeTable) -> None:
    rows, notes = rows_of(make_table("ids.parquet", pa.table({"id": range(10)})), max_rows=7)
    assert (len({row["id"] for row in rows}), len(notes)) == (7, 1)


def test_the_limit_of_bytes_is_kept(make_table: MakeTable) -> None:
    table = make_table("long.parquet", pa.table({"text": ["x" * 1000] * 9000}))

    def read(max_bytes: int) -> tuple[int, list[str]]:
        reading = read_table(table, NOWHERE, max_rows=10_000, max_bytes=max_bytes)
        return sum(map(len, reading.batches)), reading.notes

    rows, notes = read(100_000)
    assert 90 <= rows <= 100
    assert notes == [f"read up to row {rows}; there are more"]
    assert read(1 << 30) == (9000, [])
