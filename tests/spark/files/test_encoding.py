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
    assert (text, notes) == ("é\ufffd\n", ["bytes that are not UTF-8 were replaced by \ufffd"])


def test_a_zero_byte_far_into_a_file_is_rejected() -> None:
    with pytest.raises(UnreadableTableError, match="its bytes are not text"):
        read(b"x" * (1 << 21) + b"\0")
