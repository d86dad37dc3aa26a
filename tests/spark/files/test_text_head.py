"""Test that the first rows of delimited text are parsed as they are by the slower, full method."""

import csv

from hypothesis import given
from hypothesis import strategies as st

from datahub_hyperjoin.locations import Dialect
from datahub_hyperjoin.spark.files.header import _is_at_top, _title_lines, split_titles

COMMA = Dialect(delimiter=",")
fields = st.sampled_from(["", " ", "a", "Oslo", "7", '"b,c"', '"d\ne"', '"open', 'f"g'])
rows = st.lists(fields, max_size=4).map(",".join)
ends = st.sampled_from(["\n", "\r\n", "\r", "\n\n"])
heads = st.lists(st.tuples(rows, ends), max_size=12).map(
    lambda lines: "".join(row + end for row, end in lines)
)


@given(heads, st.integers(0, 40))
def test_a_shortcut_finds_the_same_titles(head: str, length: int) -> None:
    for text in (head, head[:length]):
        titles, _ = split_titles(text, COMMA)
        assert titles == _title_lines(text, COMMA)


def test_the_usual_header_takes_the_shortcut() -> None:
    head = "name,land\nOslo,Norway\nRome,Italy\n"
    titles, parsed = split_titles(head, COMMA)
    assert _is_at_top(head, parsed)
    assert (titles, parsed) == ("", [["name", "land"], ["Oslo", "Norway"]])


def test_rows_before_an_error_count() -> None:
    long = "x" * (csv.field_size_limit() + 1)
    head = f"name,land\nOslo,Norway\nRome,Italy\n{long},\n"
    assert split_titles(head, COMMA) == ("", [["name", "land"], ["Oslo", "Norway"]])
