"""Test that each archive is reported with the tables in it, and that none is extracted."""

import zipfile
from pathlib import Path

import pytest
from datahub.configuration.common import AllowDenyPattern

from datahub_hyperjoin.catalog.folders import scan_folder
from datahub_hyperjoin.catalog.table_selection import TableSelection


def tell(folder: Path, deny: str = "^$") -> tuple[list[str], dict[str, float]]:
    """Scan a folder, and return the contexts of the warnings about archives, and all counts."""
    folder.joinpath("planes.csv").write_text("code\nAA\n")
    warnings: list[tuple[str, str, str]] = []
    counts: dict[str, float] = {}
    selection = TableSelection(platform="file", env="DEV", tables=AllowDenyPattern(deny=[deny]))
    scan_folder(
        folder,
        selection,
        warn=lambda *warning: warnings.append(warning),
        count=counts.__setitem__,
    )
    assert {title for title, *_ in warnings} <= {"Archive not read"}
    for _, message, _ in warnings:
        assert "Extract the archive in its folder, for example with `unzip`, or leave" in message
    return [context for *_, context in warnings], counts


def pack(path: Path, *names: str, comment: bytes = b"") -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.comment = comment
        for name in names:
            archive.writestr(name, "code\nAA\n")


def test_the_tables_in_an_archive_are_named(tmp_path: Path) -> None:
    pack(tmp_path / "one.zip", "a/orders.csv", "README.txt", comment=b"x" * 60_000)
    pack(tmp_path / "shop.ZIP", *(f"{at}.csv" for at in range(4)))
    pack(tmp_path / "texts.zip", "notes.docx")
    pack(tmp_path / "gtfs.zip", "stops.txt", "fares.pdf")
    assert tell(tmp_path) == (
        [
            "gtfs.zip: has 1 text file, stops.txt; extract it in its folder if it has tables",
            "one.zip: has 1 table, a/orders.csv; extract it in its folder",
            "shop.ZIP: has 4 tables, 0.csv, 1.csv, 2.csv and 1 more; extract it in its folder",
            "texts.zip: has no files of tables",
        ],
        {"files_not_read": 4},
    )


@pytest.mark.parametrize("name", ["a.zip", "a.tar", "a.tar.gz", "a.TGZ", "a.7z", "a.rar"])
def test_what_cannot_be_looked_into_is_named(tmp_path: Path, name: str) -> None:
    tmp_path.joinpath(name).write_bytes(b"none")
    assert tell(tmp_path)[0] == [f"{name}: extract it in its folder"]


def test_a_list_of_files_that_claims_to_be_huge_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "bomb.zip"
    pack(path, "a.csv")
    content = bytearray(path.read_bytes())
    at = content.rfind(b"PK\x05\x06") + 12
    content[at : at + 4] = (1 << 31).to_bytes(4, "little")
    path.write_bytes(content)
    assert tell(tmp_path)[0] == ["bomb.zip: extract it in its folder"]


def test_an_archive_in_an_archive_and_odd_names_are_harmless(tmp_path: Path) -> None:
    pack(tmp_path / "odd.zip", "inner.zip", "a\x1b[31m.csv")
    assert tell(tmp_path)[0] == ["odd.zip: has 1 table, a?[31m.csv; extract it in its folder"]


def test_many_archives_share_a_line(tmp_path: Path) -> None:
    for at in range(20):
        pack(tmp_path / f"{at:02}.zip", "a.csv")
    told, counts = tell(tmp_path)
    assert len(told) == 10
    assert told[-1] == "11 more archives, for example 09.zip: extract them in their folders"
    assert counts == {"files_not_read": 20}


def test_an_archive_that_is_denied_is_not_told(tmp_path: Path) -> None:
    pack(tmp_path / "one.zip", "a.csv")
    assert tell(tmp_path, deny=r".*\.zip") == ([], {"files_not_read": 0})
