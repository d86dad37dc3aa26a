"""Test that reading a delimited text file in ranges gives the same rows as reading it whole."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from datahub_hyperjoin.errors import TableError
from datahub_hyperjoin.locations import Dialect, File
from datahub_hyperjoin.spark.columns import TableStream
from datahub_hyperjoin.spark.files import delimited
from datahub_hyperjoin.spark.files.byte_ranges import (
    ByteRange,
    align_to_rows,
    divide_lines,
    scan_quotes,
)
from datahub_hyperjoin.spark.files.delimited import Csv, read_delimited

Row = dict[str, str | None]
LINE_ENDS = ["\n", "\r\n", "\r", ""]
PLAIN = st.text("ab\u00e9 ", max_size=3)
QUOTED = st.text('a,"\r\n\u00e9', max_size=6).map(lambda text: '"' + text.replace('"', '""') + '"')
ROWS = st.lists(
    st.tuples(
        st.lists(PLAIN | QUOTED, max_size=3).map(",".join), st.sampled_from(LINE_ENDS[:3])
    ).map("".join),
    max_size=12,
)
HEADER = 'id,"na\nme"\n'


def divide(path: Path, count: int, dialect: Dialect) -> list[ByteRange]:
    """Divide a file into ranges, doing both the driver's and the tasks' part of the work."""
    known = Csv().layout_of(File(uri=str(path), format="csv", dialect=dialect)).dialect
    ranges = divide_lines(path, count)
    scans = [scan_quotes(path, part, known) for part in ranges]
    return align_to_rows(path, ranges, scans, known)


def rows(stream: TableStream) -> list[Row]:
    return [row for batch in stream.batches for row in batch.to_pylist()]


def rows_in_ranges(path: Path, ranges: list[ByteRange], dialect: Dialect) -> list[Row]:
    return [row for part in ranges for row in rows(read_delimited(path, None, dialect, part))]


def rows_of_whole(path: Path, dialect: Dialect) -> list[Row]:
    try:
        return rows(read_delimited(path, None, dialect))
    except TableError:
        return []


@given(
    ROWS | st.lists(st.text('a,"\n\r\u00e9\ufeff', max_size=9), max_size=9),
    st.sampled_from(["", "\n", "\ufeff", "\ufeff\r\n"]),
    st.sampled_from(["", "z,z", '"z']),
    st.integers(1, 12),
    st.sampled_from([Dialect(delimiter=","), Dialect(delimiter=",", quote=""), Dialect()]),
)
@example(['1,"a\nb"\n', "\n", '2,"""\n"""\r\n'], "", "", 12, Dialect())
@example(['1,a"b\n', "2,x\n", '3,"y"\n'], "", "", 4, Dialect())
@example([], "", "", 3, Dialect())
def test_ranges_have_the_rows_of_the_whole(
    body: list[str], above: str, last: str, count: int, dialect: Dialect
) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder, "t.csv")
        path.write_bytes(f"{above}{HEADER}{''.join(body)}{last}".encode())
        if ranges := divide(path, count, dialect):
            # Rows that are mended follow the others of their block.
            parts, whole = rows_in_ranges(path, ranges, dialect), rows_of_whole(path, dialect)
            assert sorted(parts, key=repr) == sorted(whole, key=repr)
            assert [part.begin for part in ranges[1:]] == [part.end for part in ranges[:-1]]
            assert ranges[-1].end == path.stat().st_size


@given(ROWS, st.integers(2, 12))
def test_well_formed_text_is_divided(body: list[str], count: int) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder, "t.csv")
        path.write_bytes(f"{HEADER}{''.join(body)}".encode())
        assert divide(path, count, Dialect(delimiter=","))


def test_a_file_has_as_many_ranges_as_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("id,name\n" + "".join(f'{at},"a\n{at}"\n' for at in range(1000)))
    ranges = divide(path, 8, Dialect())
    assert len(ranges) == 8
    sizes = [part.end - part.begin for part in ranges]
    assert max(sizes) - min(sizes) < 100


@pytest.mark.parametrize(
    "content",
    [
        b'id,name\n1,5" pipe\n2,6" pipe\n3,x\n',  # quotes inside fields
        b'id,name\n1,"a"b"\nc"\n2,x\n',
        b'id,name\n1,x\n2,"y\n',  # never closed
        "id,name\n1,\u00e9\n2,x\n".encode("cp1252"),
        "id,name\n1,\u00e9\n2,x\n".encode("utf-16"),
        b"id,name\n1,a\0b\n" + b"2,x\n" * 99,
        "id,name\n1,a\n2,\u00e9".encode()[:-1],  # ends inside a character
    ],
)
def test_text_is_not_divided_where_rows_may_begin_elsewhere(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    assert divide(path, 4, Dialect(delimiter=",")) == []


def test_characters_and_blocks_may_end_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("datahub_hyperjoin.spark.files.byte_ranges._BLOCK", 7)
    path = tmp_path / "t.csv"
    path.write_text("id,name\n" + '1,"\u20ac ""\n\u20ac"\n2,\u20ac\n' * 20)
    ranges = divide(path, 5, Dialect())
    assert len(ranges) == 5
    assert rows_in_ranges(path, ranges, Dialect()) == rows_of_whole(path, Dialect())


def test_a_row_longer_than_a_block_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delimited, "_BLOCK", 64)
    path = tmp_path / "t.csv"
    path.write_text("id,name\n1,a\n2,b\n3," + "x" * 1000 + "\n4,d\n" * 9)
    ranges = divide(path, 4, Dialect())
    assert len(ranges) > 1
    assert rows_in_ranges(path, ranges, Dialect()) == rows_of_whole(path, Dialect())


def test_a_range_without_whole_rows_is_empty(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("id,name\n" + "1\n" * 50 + "2,b\n")
    ranges = divide(path, 4, Dialect(delimiter=","))
    found = [rows(read_delimited(path, ["name"], part=part)) for part in ranges]
    assert found == [[], [], [], [{"name": "b"}]]


def test_columns_and_dialect_are_those_of_the_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("id;name;id;x\n" + "1;a,b;2;3\n" * 99)
    part = divide(path, 4, Dialect())[-1]
    stream = read_delimited(path, None, part=part)
    [batch] = stream.batches
    row = {"id": ["1"], "name": ["a,b"], "id_2": ["2"], "x": ["3"]}
    assert batch.slice(0, 1).equals(pa.record_batch(row))
