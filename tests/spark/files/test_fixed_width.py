"""Test that fixed-width text files are read according to the schema files next to them."""

import gzip
from pathlib import Path
from typing import Any, cast

import pytest

from datahub_hyperjoin.locations import Dialect, File
from datahub_hyperjoin.spark.errors import EmptyTableError, UnreadableTableError
from datahub_hyperjoin.spark.files.errors import WidthSchemaError
from datahub_hyperjoin.spark.files.formats import read_file

SCHEMA = "column,start,length\nid,1,4\nname,6,8\nland,14,2\n"
TEXT = '0012 Zürich  CH\r\n0013 "Oslo"  NO\r\n\r\n   7            \r\n0014 Rio\r\n'
ROWS = [
    {"id": "0012", "name": "Zürich", "land": "CH"},
    {"id": "0013", "name": '"Oslo"', "land": "NO"},
    {"id": "7", "name": None, "land": None},
    {"id": "0014", "name": "Rio", "land": None},
]


def read(
    folder: Path, content: bytes, schema: str | None = SCHEMA, name: str = "a.fwf", **options: str
) -> tuple[list[dict[str, object]], list[str]]:
    path = folder / name
    path.write_bytes(content)
    if schema is not None:
        folder.joinpath("a.fwf.schema").write_text(schema)
    file = File(uri=str(path), format="fwf", dialect=Dialect(**cast("dict[str, Any]", options)))
    stream = read_file(file, None)
    return [row for batch in stream.batches for row in batch.to_pylist()], stream.notes


def test_values_stand_at_their_places(tmp_path: Path) -> None:
    assert read(tmp_path, TEXT.encode()) == (ROWS, [])


def test_positions_may_count_from_zero(tmp_path: Path) -> None:
    schema = "column,start,length\nid,0,4\nname,5,8\nland,13,2\n"
    assert read(tmp_path, TEXT.encode(), schema)[0] == ROWS


def test_columns_may_overlap_and_leave_characters_out(tmp_path: Path) -> None:
    schema = "length,column,start,note\n2,last,3,x\n4,id,1,y\n"
    assert read(tmp_path, b"0012 x\n", schema)[0] == [{"last": "2", "id": "012"}]


def test_other_encodings_and_compressed_files_are_read(tmp_path: Path) -> None:
    rows, notes = read(tmp_path, gzip.compress(TEXT.encode("cp1252")), name="a.fwf.gz")
    assert (rows, notes) == (ROWS, ["not UTF-8: read as Windows-1252 (Latin-1)"])
    assert read(tmp_path, "0012 Жуков".encode("koi8-r"), encoding="koi8-r")[0] == [
        {"id": "0012", "name": "Жуков", "land": None}
    ]


def test_a_missing_schema_is_told_with_its_name(tmp_path: Path) -> None:
    with pytest.raises(WidthSchemaError, match=r"Write a\.fwf\.schema beside it, a CSV file with"):
        read(tmp_path, b"0012", None)


@pytest.mark.parametrize(
    "schema",
    [
        "",
        "column,start,length\n",
        "column,start\nid,1\n",
        "column,start,length\nid,1,x\n",
        "column,start,length\nid,1\n",
        "column,start,length\nid,1,0\n",
        "column,start,length\nid,-1,3\n",
        "column,start,length\n,1,3\n",
        "column,start,length\nid,1,3\nid,4,3\n",
    ],
)
def test_a_malformed_schema_is_told(tmp_path: Path, schema: str) -> None:
    with pytest.raises(WidthSchemaError, match=r"a\.fwf\.schema does not give their places"):
        read(tmp_path, b"0012", schema)


def test_empty_and_binary_files_are_told(tmp_path: Path) -> None:
    with pytest.raises(EmptyTableError):
        read(tmp_path, b" \n\n")
    with pytest.raises(UnreadableTableError, match="its bytes are not text"):
        read(tmp_path, bytes(range(32)) * 99)
