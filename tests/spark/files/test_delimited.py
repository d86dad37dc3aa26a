"""Test that delimited text is distinguished from prose."""

from pathlib import Path

import pytest

from datahub_hyperjoin.locations import Dialect
from datahub_hyperjoin.spark.errors import UnreadableTableError
from datahub_hyperjoin.spark.files.delimited import has_rows, read_delimited

CSV = "stop_id,stop_name,stop_lat\n8000,Halle (Saale),51.47\n8001,Kothen,51.75\n"


@pytest.mark.parametrize(
    "content",
    [
        CSV.encode(),
        CSV.replace(",", "\t").encode("utf-16"),
        CSV.replace(",", ";").replace("Kothen", "Köthen").encode("cp1252"),
        CSV.replace(",", "|").replace("\n", "\r\n").encode("utf-8-sig"),
        CSV.removeprefix("stop_id").encode(),
        b"agency_id,agency_name\n1,HAVAG\n",
        b"Stops of Halle\n\n" + CSV.encode() * 2,
        (CSV + "8002,Merseburg\n" + CSV * 20)[:500].encode(),
    ],
)
def test_a_header_and_rows_are_a_table(content: bytes) -> None:
    assert has_rows(content)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n\n",
        b"stop_id,stop_name\n",
        b"requests==2.31\nnumpy==1.26\n",
        b".. |lt| unicode:: U+003C\n.. |gt| unicode:: U+003E\n",
        b"one * two\nthree * four\nfive * six\n",
        b"Dear Ann,\nthank you for the file, and bye,\nBob\n",
        b"First, do no harm\nSecond, say why\n",
        b"\tindented\n\tprose\n",
        b"a;b\n1\n2\n3\n",
        f"{'long ' * 20}text;and another\na;b\nc;d\n".encode(),
        b"id,blob\n1,\0\0\n",
        b'"a\n' + b"x" * 200_000,
    ],
)
def test_prose_is_no_table(content: bytes) -> None:
    assert not has_rows(content)


@pytest.mark.parametrize(
    "content",
    [
        b"| id | city |\n|---|---|\n| 1 | Oslo |\n| 2 | Bern |\n",
        b" id | city \n----+------\n  1 | Oslo\n  2 | Bern\n" + b"  3 | Rome\n" * 20,
    ],
)
def test_drawn_tables_are_tables(content: bytes) -> None:
    assert has_rows(content)


def test_the_dialect_of_the_recipe_counts() -> None:
    content = b"id/name\n1/Halle, Saale\n"
    assert not has_rows(content)
    assert has_rows(content, Dialect(delimiter="/"))
    assert has_rows(b"id!name\n1!Halle\n", Dialect(delimiter="!"))


@pytest.mark.parametrize("text", ["<!DOCTYPE html>\n<p>no, such page</p>\n", "<a x='1'>\n<b/>\n"])
def test_markup_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(text)
    with pytest.raises(UnreadableTableError, match="save its table as CSV or XLSX"):
        read_delimited(path, None)
