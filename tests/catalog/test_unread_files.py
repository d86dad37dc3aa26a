"""Test that a scan reports every file that it does not read."""

from pathlib import Path

import pytest
from datahub.configuration.common import AllowDenyPattern

from datahub_hyperjoin.catalog.errors import NoTablesError
from datahub_hyperjoin.catalog.folders import scan_folder
from datahub_hyperjoin.catalog.table_selection import TableSelection


def scan(folder: Path, *names: str, deny: str = "^$") -> tuple[list[str], dict[str, float]]:
    """Scan a folder of files with these names, and return the warnings and counts."""
    for name in ("planes.csv", *names):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("code\nAA\n")
    warnings: list[tuple[str, str, str]] = []
    counts: dict[str, float] = {}
    scan_folder(
        folder,
        TableSelection(platform="file", env="DEV", tables=AllowDenyPattern(deny=[deny])),
        warn=lambda *warning: warnings.append(warning),
        count=counts.__setitem__,
    )
    for title, message, _ in warnings:
        assert title == "Files not read"
        assert "No table can be read from files of these kinds. Convert them to CSV or" in message
        assert "read databases through `connections`, or leave files out with `tables.de" in message
    return [context for *_, context in warnings], counts


def test_each_kind_of_unread_file_is_told_once(tmp_path: Path) -> None:
    names = ("a/shop.sqlite", "b/1.XML", "b/2.xml", "b/3.xml", "c/1.xml.gz", "c/notes", "d.pdf")
    assert scan(tmp_path, *names) == (
        [
            ".xml: 3 files, for example b/1.XML",
            ".sqlite: 1 file, for example a/shop.sqlite",
            ".xml.gz: 1 file, for example c/1.xml.gz",
            "no extension: 1 file, for example c/notes",
            ".pdf: 1 file, for example d.pdf",
        ],
        {"files_not_read": 7},
    )


def test_the_lines_are_few(tmp_path: Path) -> None:
    told, counts = scan(tmp_path, *(f"a/{at:02}.kind{at:02}" for at in range(30)))
    others = ", ".join(f".kind{at:02}" for at in range(9, 30))
    assert told[8:] == [
        ".kind08: 1 file, for example a/08.kind08",
        f"other kinds ({others}): 21 files, for example a/09.kind09",
    ]
    assert counts == {"files_not_read": 30}


@pytest.mark.parametrize(
    "name",
    [
        ".DS_Store",
        "_SUCCESS",
        ".git/config",
        "README.md",
        "readme.txt",
        "LICENSE",
        "a/planes.csv.sha256",
        "part-0.parquet.crc",
        "Thumbs.db",
        "a/_delta_log/0.json",
        "a/metadata/v1.metadata.json",
        "a/metadata/snap-1.avro",
        "year=2024/0.csv",
    ],
)
def test_what_belongs_to_a_table_or_describes_data_is_not_told(tmp_path: Path, name: str) -> None:
    parts = ["a/metadata/v1.metadata.json"] if "metadata" in name else []
    assert scan(tmp_path, name, *parts) == ([], {"files_not_read": 0})


def test_files_that_the_recipe_leaves_out_are_not_told(tmp_path: Path) -> None:
    assert scan(tmp_path, "a/1.xml", deny=r".*\.xml") == ([], {"files_not_read": 0})


def test_unread_files_are_told_if_there_is_no_table(tmp_path: Path) -> None:
    tmp_path.joinpath("1.xml").touch()
    told: list[str] = []
    with pytest.raises(NoTablesError):
        scan_folder(
            tmp_path,
            TableSelection(platform="file", env="DEV"),
            warn=lambda *warning: told.append(warning[2]),
        )
    assert told == [".xml: 1 file, for example 1.xml"]
