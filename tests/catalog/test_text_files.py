"""Test that text files with rows are listed as tables, and that other text files are reported."""

import gzip
from pathlib import Path

import pytest
from datahub.configuration.common import AllowDenyPattern

from datahub_hyperjoin.catalog.folders import scan_folder
from datahub_hyperjoin.catalog.table_selection import TableSelection
from datahub_hyperjoin.locations import File

ROWS = b"stop_id,stop_name\n1,Halle\n2,Jena\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    tmp_path.joinpath("stops.txt").write_bytes(ROWS)
    tmp_path.joinpath("trips.TXT.gz").write_bytes(gzip.compress(ROWS))
    tmp_path.joinpath("notes.txt").write_text("Dear Ann,\nthank you, and bye.\n")
    tmp_path.joinpath("damaged.txt.gz").write_bytes(gzip.compress(ROWS)[:20] + b"damaged")
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
