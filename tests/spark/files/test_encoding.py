"""Test that files of any encoding are converted to UTF-8, block by block."""

import io
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from datahub_hyperjoin.spark.errors import UnreadableTableError
from datahub_hyperjoin.spark.files.encoding import TextStream
from datahub_hyperjoin.spark.files.stored import DecompressedFile

LINES = st.text(
    st.characters(exclude_categories=["Cc", "Cs"], exclude_characters='"'), min_size=1, max_size=20
)


def read(content: bytes) -> tuple[str, list[str]]:
    with TemporaryDirectory() as folder:
        path = Path(folder, "lines.txt")
        path.write_bytes(content)
        with TextStream(DecompressedFile(path)) as stream:
            return io.BufferedReader(stream).read().decode(), stream.notes


@given(LINES, st.sampled_from(["utf-8-sig", "utf-16", "utf-32"]))
def test_a_byte_order_mark_determines_the_encoding(line: str, encoding: str) -> None:
    assert read(line.encode(encoding))[0] == line + "\n"


@given(LINES)
def test_utf_8_needs_no_byte_order_mark(line: str) -> None:
    assert read(("id" + line).encode()) == ("id" + line + "\n", [])


def test_a_byte_order_mark_may_be_written_twice() -> None:
    assert read(b"\xef\xbb\xbf" * 2 + b"id,city") == ("id,city\n", [])


def test_a_character_split_between_blocks_is_decoded() -> None:
    text = "x" * ((1 << 20) - 1) + "é"
    assert read(text.encode()) == (text + "\n", [])


def test_bytes_that_are_not_utf_8_are_read_as_latin_1() -> None:
    text = "x" * ((1 << 20) + 5) + "é"
    assert read(text.encode("latin-1")) == (
        text + "\n",
        ["not UTF-8: read as Windows-1252 (Latin-1)"],
    )


def test_a_character_cut_by_the_end_of_the_file_is_replaced() -> None:
    text, notes = read("éé".encode()[:-1])
    note = "not UTF-8 in places: bytes there were read as Windows-1252 (Latin-1)"
    assert (text, notes) == ("é\ufffd\n", [note])


def test_lines_of_two_encodings_are_read() -> None:
    lines = "Köln\nOrléans\nBesançon\nLiège\n"
    text, notes = read(lines.encode() + "Genève\n".encode("cp1252"))
    assert text == lines + "Genève\n\n"
    assert notes == ["not UTF-8 in places: bytes there were read as Windows-1252 (Latin-1)"]


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
@pytest.mark.parametrize("city", ["Köln", "Москва", "東京"])
def test_wide_encodings_need_no_byte_order_mark(encoding: str, city: str) -> None:
    text = "id,city\r\n" + f"17,{city}\r\n" * 99
    note = f"not UTF-8: read as {encoding.upper()}"
    assert read(text.encode(encoding)) == (text + "\n", [note])


@pytest.mark.parametrize(
    "content", [b"id\0\0,city\0\n1\0\0\0,Oslo\n", b"id,city\n1,Oslo\n" + b"\0" * 999]
)
def test_null_characters_that_fill_fields_or_a_file_are_removed(content: bytes) -> None:
    assert read(content) == ("id,city\n1,Oslo\n\n", ["null characters were removed"])


def test_other_control_characters_are_no_text() -> None:
    for content in (b"PK\3\4\0\0\0", b"\0" * 9, b"\0\1\0\1", b"a\2b\n" * 9):
        with pytest.raises(UnreadableTableError, match="its bytes are not text"):
            read(content)
