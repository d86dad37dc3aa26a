"""Test that the delimiter and the quotes of a text are found, and that odd text is rewritten."""

from pathlib import Path

import pytest

from datahub_hyperjoin.locations import File
from datahub_hyperjoin.spark.files.delimited import Csv, Tsv

HEADER = ["id", "full name", "note"]
ROWS = [[str(1000 + at), f"Ann B{at}", f"n{at}"] for at in range(9)]


def read(path: Path, text: str, format_: Csv | Tsv | None = None) -> list[list[str | None]]:
    """Return the names and rows of a text."""
    path = path / "t.csv"
    path.write_text(text)
    stream = (format_ or Csv()).read(File(uri=str(path), format="csv"), None)
    rows = [[*row.values()] for batch in stream.batches for row in batch.to_pylist()]
    return [[column.path for column in stream.columns], *rows]


def text_of(delimiter: str, quote: str = "") -> str:
    rows = [[f"{quote}{each}{quote}" for each in row] for row in [HEADER, *ROWS]]
    return "".join(delimiter.join(row) + "\n" for row in rows)


@pytest.mark.parametrize("format_", [Csv(), Tsv()])
@pytest.mark.parametrize(
    "delimiter",
    [*",;\t|^~:\x01\x1f#§þ", "::", "||", "~~", "~|~", "|@|", "    ", ",  ", " ,"],
    ids=repr,
)
@pytest.mark.parametrize("quote", ["", '"', "'"])
def test_the_content_shows_what_separates_fields(
    tmp_path: Path, format_: Csv | Tsv, delimiter: str, quote: str
) -> None:
    if delimiter in (",  ", " ,") and quote != '"':
        return
    assert read(tmp_path, text_of(delimiter, quote), format_) == [HEADER, *ROWS]


def test_single_spaces_separate_numbers_and_many_columns(tmp_path: Path) -> None:
    rows = [["1", "a b", "x"], ["22", "c d", "y"]] * 3
    text = "".join(f'{a:>4} "{b}" {c}\n' for a, b, c in [["id", "full name", "code"], *rows])
    assert read(tmp_path, text) == [["id", "full name", "code"], *rows]
    powers = "".join(f"{at}.5e+00 {at}.25e+01 0e+0\n" for at in range(1, 9))
    assert read(tmp_path, f"first second third\n{powers}")[1] == ["1.5e+00", "1.25e+01", "0e+0"]
    assert read(tmp_path, "name age\nAnn 7\nBob 8\n")[1] == ["Ann", "7"]
    assert read(tmp_path, "full name\nAnn Berg\nBob Dorn\n")[0] == ["full name"]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("id;city\tcode\n1;Oslo\tNO\n", ["id;city", "code"]),
        ("note, if any\napple, red\nplum\npear\n", ["note, if any"]),
        ("Cities, 2024\n\nid\tname\tpeople\n1\tOslo\t7\n2\tRome\t8\n", ["id", "name", "people"]),
        ("note\napple, red\n", ["note"]),
    ],
)
def test_a_tsv_has_tabs_unless_others_fit_better(
    tmp_path: Path, text: str, names: list[str]
) -> None:
    assert read(tmp_path, text, Tsv())[0] == names


@pytest.mark.parametrize(
    "text",
    [
        "at,name\n10:30,Ann\n11:45,Bob\n",
        "id,place\n1,'s-Hertogenbosch\n2,'t Zand\n3,Oslo\n",
        "id,said\n1,he said 'no'\n2,'twas\n",
        'id,note\n1,"a, ""b"", c"\n2,"d"\n',
    ],
)
def test_usual_text_is_left_as_it_is(tmp_path: Path, text: str) -> None:
    names, *rows = read(tmp_path, text)
    assert names == text.split("\n", 1)[0].split(",")
    assert [row[0] for row in rows] == [line.split(",")[0] for line in text.split("\n")[1:-1]]


@pytest.mark.parametrize(
    ("lines", "rows"),
    [
        (['"id,name"', '"1,Ann"', '"2,Bob"', '"3,Cy"'], [["1", "Ann"], ["2", "Bob"], ["3", "Cy"]]),
        (
            ["id;name", '"1;""Ann; B"""', '"2;""Bob"""', '"3;Cy"'],
            [["1", "Ann; B"], ["2", "Bob"], ["3", "Cy"]],
        ),
        (["id,name", "1,Roe\\, Ann", "2,Bob"], [["1", "Roe, Ann"], ["2", "Bob"]]),
        (["id,name", '1,"5\\", or 6"', "2,Bob"], [["1", '5", or 6'], ["2", "Bob"]]),
        (["id,name", '1,"Ann', "2,Bob"], [["1", '"Ann'], ["2", "Bob"]]),
        (["id,name", '1,"Ann', "2,Bob", '3,"C, D"'], [["1", '"Ann'], ["2", "Bob"], ["3", "C, D"]]),
        (["id,name", '1,"Ann', "2,Bob", '3,"Cy'], [["1", '"Ann'], ["2", "Bob"], ["3", '"Cy']]),
        (['"id" ,"name"', '"1" ,"Ann, B"', '"2", "Bob" '], [["1", "Ann, B"], ["2", "Bob"]]),
    ],
    ids=[
        "quoted lines",
        "doubly",
        "escaped delimiter",
        "escape",
        "open",
        "open above",
        "two",
        "spaces",
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_quotes_cost_no_row(
    tmp_path: Path, lines: list[str], rows: list[list[str]], end: str
) -> None:
    assert read(tmp_path, end.join([*lines, ""])) == [["id", "name"], *rows]


@pytest.mark.parametrize(
    ("lines", "rows"),
    [
        (["last,first", '"Berg, A"', '"Roe, B"', '"Ek, C"'], []),
        (["id,name", '1,"Ann', 'and Bob"', "2,Cy"], [["1", "Ann\nand Bob"], ["2", "Cy"]]),
        (
            ["id,name", '1,"Dear Ann,', "many thanks for", 'it, and bye"', "2,Cy"],
            [["1", "Dear Ann,\nmany thanks for\nit, and bye"], ["2", "Cy"]],
        ),
        (["id,path", "1,C:\\a\\", "2,b"], [["1", "C:\\a\\"], ["2", "b"]]),
    ],
    ids=["texts with commas", "lines in a field", "letter", "paths"],
)
def test_quotes_and_backslashes_are_kept_where_they_serve(
    tmp_path: Path, lines: list[str], rows: list[list[str]]
) -> None:
    found = read(tmp_path, "\n".join([*lines, ""]))[1:]
    assert not rows or found == rows


@pytest.mark.parametrize("line", ["# line {}: text", "Line {}: some text", "word " * 9])
def test_a_preamble_may_be_long(tmp_path: Path, line: str) -> None:
    above = "".join(f"{line.format(at)}\n" for at in range(777))
    rows = text_of(",").partition("\n")[2]
    assert read(tmp_path, above + text_of(",") + rows * 40)[:10] == [HEADER, *ROWS]
    alone = [each[0] for each in read(tmp_path, above)]
    assert len(alone) > 700


@pytest.mark.parametrize("delimiter", [",", ";", "^"])
def test_a_sign_in_each_row_separates_nothing(tmp_path: Path, delimiter: str) -> None:
    rows = [["id", "price (€)"], *[[str(at), f"{at} €"] for at in range(9)]]
    assert read(tmp_path, "".join(f"{delimiter.join(row)}\n" for row in rows)) == rows
    dollars = [["id", "price ($)"], *[[str(at), f"${at}", "late"] for at in range(9)]]
    text = "".join(f"{delimiter.join(row)}\n" for row in dollars)
    assert delimiter == "^" or "price ($)" in read(tmp_path, text)[0]


def test_rewritten_lines_may_be_cut_by_blocks(tmp_path: Path) -> None:
    rows = [[str(at), "Ann"] for at in range(200_000)]
    text = "".join(f"{a}   {b}\n" for a, b in [["id", "name"], *rows])
    assert read(tmp_path, text) == [["id", "name"], *rows]
