"""Test that delimited text is read with the dialect in the recipe."""

import csv
import io
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from datahub_hyperjoin.locations import Dialect, File, Folder
from datahub_hyperjoin.spark.databases.engines import Databases
from datahub_hyperjoin.spark.errors import UnreadableTableError
from datahub_hyperjoin.spark.files.delimited import read_delimited
from datahub_hyperjoin.spark.read import read_table
from datahub_hyperjoin.tables import Table

CELLS = st.text("ab^'\"\\,; \u00e9", min_size=1, max_size=6)
DIALECTS = [
    Dialect(delimiter="^"),
    Dialect(delimiter="\x01", quote=""),
    Dialect(delimiter="~", quote="'"),
    Dialect(delimiter=" ", quote="'", escape="\\"),
    Dialect(quote="'"),
    Dialect(delimiter="|", quote="", escape="\\"),
]

Write = Callable[[bytes], Table]


@pytest.fixture
def write(make_table: Callable[[str, bytes | str], Table]) -> Write:
    """Return a function that writes a file and returns its table."""
    return lambda content: make_table("cities.csv", content)


def read(table: Table, dialect: Dialect) -> tuple[list[dict[str, Any]], list[str]]:
    assert isinstance(table.location, File)
    with_dialect = replace(table, location=replace(table.location, dialect=dialect))
    stream = read_table(with_dialect, Databases(), max_rows=99)
    return [row for batch in stream.batches for row in batch.to_pylist()], stream.notes


def written(rows: list[list[str]], dialect: Dialect) -> str:
    sink = io.StringIO()
    csv.writer(
        sink,
        delimiter=dialect.delimiter or ",",
        quotechar=dialect.quote or None,
        quoting=csv.QUOTE_ALL if dialect.quote else csv.QUOTE_NONE,
        escapechar=dialect.escape or "\x02",
        doublequote=not dialect.escape,
        lineterminator="\n",
    ).writerows(rows)
    return sink.getvalue()


@pytest.mark.parametrize("dialect", DIALECTS)
@given(st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=5))
@example([("a\\b", "^'")])
def test_files_written_by_python_are_read(dialect: Dialect, rows: list[tuple[str, str]]) -> None:
    text = written([["one", "two"], *map(list, rows)], dialect)
    assume("\x02" not in text)  # what had to be escaped, this dialect cannot write
    with TemporaryDirectory() as folder:
        path = Path(folder, "cells.csv")
        path.write_text(text, encoding="utf-8")
        batches = read_delimited(path, None, dialect).batches
        result = [tuple(row.values()) for batch in batches for row in batch.to_pylist()]
    assert result == rows


@pytest.mark.parametrize(
    ("encoding", "city"),
    [("cp1251", "Москва"), ("shift_jis", "東京"), ("UTF-16-LE", "Oslo"), ("utf8", "Köln")],
)
def test_the_encoding_in_the_recipe_is_used(write: Write, encoding: str, city: str) -> None:
    table = write(f"id,city\n1,{city}\n".encode(encoding))
    assert read(table, Dialect(encoding=encoding)) == ([{"id": "1", "city": city}], [])


def test_a_byte_order_mark_overrides_the_recipe(write: Write) -> None:
    table = write("id\nKöln\n".encode("utf-8-sig"))
    assert read(table, Dialect(encoding="cp1251")) == ([{"id": "Köln"}], [])


@pytest.mark.parametrize(
    ("encoding", "replaced"),
    [("utf-8", "bytes that are not UTF-8 were"), ("ascii", "bytes that are not ascii were")],
)
def test_invalid_bytes_are_replaced_and_noted_once(
    write: Write, encoding: str, replaced: str
) -> None:
    rows, notes = read(write(b"id\nK\xf6ln\n\xe4\n"), Dialect(encoding=encoding))
    assert rows == [{"id": "K\ufffdln"}, {"id": "\ufffd"}]
    assert notes == [f"{replaced} replaced by \ufffd"]


def test_a_tab_separates_a_tsv_unless_the_recipe_says_otherwise(
    make_table: Callable[[str, str], Table],
) -> None:
    table = make_table("cities.tsv", "id;city\tcode\n1;Oslo\tNO\n")
    assert [*read(table, Dialect())[0][0]] == ["id;city", "code"]
    assert [*read(table, Dialect(delimiter=";"))[0][0]] == ["id", "city\tcode"]


def test_control_characters_other_than_the_delimiter_are_rejected(write: Write) -> None:
    content = b"id\x01city\n" + b"1\x01Oslo\n" * 99
    assert read(write(content), Dialect(delimiter="\x01"))[0][0] == {"id": "1", "city": "Oslo"}
    with pytest.raises(UnreadableTableError, match="its bytes are not text"):
        read(write(content.replace(b"\x01", b"\x03")), Dialect(delimiter="\x01"))


@pytest.mark.parametrize(
    ("dialect", "notes"),
    [
        (Dialect(quote="'"), ["a quote is never closed: rows after it may be missing"]),
        (Dialect(quote=""), []),
        (Dialect(quote="'", escape="\\"), []),
    ],
)
def test_an_open_quote_is_noted_unless_the_dialect_escapes_quotes(
    write: Write, dialect: Dialect, notes: list[str]
) -> None:
    assert read(write(b"id\na\nb'c\n"), dialect)[1] == notes


def test_files_of_a_folder_have_its_dialect(write: Write) -> None:
    file = write(b"id^city\n1^Oslo\n")
    assert isinstance(file.location, File)
    path = Path(file.location.uri)
    place = Folder(
        uri=str(path.parent), format="csv", parts=(path.name,), dialect=Dialect(delimiter="^")
    )
    stream = read_table(replace(file, location=place), Databases(), max_rows=9)
    assert [batch.to_pylist() for batch in stream.batches] == [[{"id": "1", "city": "Oslo"}]]


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ({"delimiter": "||"}, "`delimiter` is '||'; it must be one ASCII character"),
        ({"quote": "\u00ab"}, "`quote` is '«'; it must be one ASCII character"),
        ({"escape": "\n"}, r"`escape` is '\\n'; it must be one ASCII character"),
        ({"delimiter": ""}, "`delimiter` is empty. Remove the key to detect it in each file"),
        ({"delimiter": '"'}, "`delimiter`, `quote` and `escape` must be different characters"),
        ({"encoding": "klingon"}, "`encoding` is 'klingon', which Python does not know"),
    ],
)
def test_an_impossible_dialect_is_rejected(written: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Dialect(**written)
