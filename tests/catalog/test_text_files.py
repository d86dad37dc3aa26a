"""Test that text files with rows are listed as tables, and that other text files are reported."""

import bz2
import gzip
import io
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from datahub.configuration.common import AllowDenyPattern

from datahub_hyperjoin.catalog.folders import scan_folder
from datahub_hyperjoin.catalog.table_selection import TableSelection
from datahub_hyperjoin.locations import File

ROWS = b"stop_id,stop_name\n1,Halle\n2,Jena\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    tmp_path.joinpath("stops.txt").write_bytes(ROWS)
    tmp_path.joinpath("trips.TXT.gz").write_bytes(gzip.compress(ROWS, mtime=0))
    tmp_path.joinpath("notes.txt").write_text("Dear Ann,\nthank you, and bye.\n")
    tmp_path.joinpath("damaged.txt.gz").write_bytes(gzip.compress(ROWS, mtime=0)[:20] + b"damaged")
    tmp_path.joinpath("damaged.txt.xz").write_bytes(b"\xfd7zXZ\0damaged")
    return tmp_path


def scan(folder: Path, deny: str = "^$") -> tuple[dict[str, tuple[str, str]], list[str]]:
    """Return the title and format of each table, and the warnings."""
    told: list[str] = []
    tables = scan_folder(
        folder,
        TableSelection(platform="file", env="DEV", tables=AllowDenyPattern(deny=[deny])),
        warn=lambda _, __, context: told.append(context),
    )
    formats = {
        table.id.name: (table.title, table.location.format)
        for table in tables
        if isinstance(table.location, File)
    }
    return formats, told


def test_the_content_decides(folder: Path) -> None:
    assert scan(folder) == (
        {"stops.txt": ("stops", "csv"), "trips.TXT.gz": ("trips", "csv")},
        [
            ".txt.gz: 1 file, for example damaged.txt.gz",
            ".txt.xz: 1 file, for example damaged.txt.xz",
            ".txt: 1 file, for example notes.txt",
        ],
    )


def test_a_table_that_the_recipe_leaves_out_is_not_told_either(folder: Path) -> None:
    assert scan(folder, deny=r"(?!trips).*") == (
        {"trips.TXT.gz": ("trips", "csv")},
        [],
    )


def parquet() -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.table({"id": [1, 2]}), sink)
    return sink.getvalue()


LINE = json.dumps({"id": 1, "name": "Ann"}).encode()


@pytest.mark.parametrize(
    ("name", "content", "format_"),
    [
        ("a.csv", parquet(), "parquet"),
        ("a.csv", LINE + b"\n" + LINE, "json"),
        ("a.csv", gzip.compress(LINE, mtime=0), "json"),
        ("a.tsv", b"[\n  " + LINE + b"\n]", "json"),
        ("a.txt", LINE, "json"),
        ("a.csv", gzip.compress(ROWS, mtime=0), "csv"),
        ("a.csv.gz", ROWS, "csv"),
        ("a.csv.gz", bz2.compress(ROWS), "csv"),
        ("a.xls", ROWS.replace(b",", b"\t"), "csv"),
        ("a.xlsx", ROWS.replace(b",", b";"), "csv"),
        ("a.parquet", ROWS, "csv"),
        ("a.json", ROWS, "csv"),
        ("a.dat", ROWS.replace(b",", b"|"), "csv"),
        ("a.tbl", b"1|Halle|2.5|\n" * 3, "csv"),
        ("a", ROWS, "csv"),
        ("a.gz", gzip.compress(ROWS, mtime=0), "csv"),
        ("a.jsonl", LINE, "jsonl"),
        ("a.parquet", parquet(), "parquet"),
        ("a.dat", b"Dear Ann,\nthank you\n", None),
        ("a", b"#!/bin/sh\nls -l\n", None),
    ],
)
def test_content_that_contradicts_the_name_decides(
    tmp_path: Path, name: str, content: bytes, format_: str | None
) -> None:
    tmp_path.joinpath(name).write_bytes(content)
    tmp_path.joinpath("z.csv").write_bytes(ROWS)
    formats = {name: format_ for name, (_, format_) in scan(tmp_path)[0].items()}
    assert formats.get(name) == format_


def test_a_workbook_may_have_any_name(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    openpyxl.Workbook().save(tmp_path / "a.xlsx")
    tmp_path.joinpath("a.xlsx").rename(tmp_path / "a.csv")
    assert scan(tmp_path)[0] == {"a.csv/Sheet": ("Sheet", "workbook")}
