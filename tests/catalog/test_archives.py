"""Test that the tables in archives are listed and read, and what else is in them is reported."""

import gzip
import zipfile
from pathlib import Path

import pytest
from datahub.configuration.common import AllowDenyPattern

from datahub_hyperjoin.catalog.folders import scan_folder
from datahub_hyperjoin.catalog.table_selection import TableSelection
from datahub_hyperjoin.locations import File
from datahub_hyperjoin.spark.databases.engines import Databases
from datahub_hyperjoin.spark.errors import UnreadableTableError
from datahub_hyperjoin.spark.read import read_table
from datahub_hyperjoin.tables import Table, TableId


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
        assert "in ZIP archives without a password are read" in message
        assert "Extract the rest in its folder, for example with `unzip`, or leave" in message
    return [context for *_, context in warnings], counts


def pack(path: Path, *names: str, comment: bytes = b"") -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.comment = comment
        for name in names:
            archive.writestr(name, "code\nAA\n")


def tables(folder: Path) -> dict[str, list[dict[str, object]]]:
    """Return the rows of each table in archives."""
    folder.joinpath("planes.csv").write_text("code\nAA\n")
    found = scan_folder(folder, TableSelection(platform="file", env="DEV"), warn=lambda *_: None)
    return {
        table.id.name: [
            row
            for batch in read_table(table, Databases(), max_rows=99).batches
            for row in batch.to_pylist()
        ]
        for table in found
        if isinstance(table.location, File) and table.location.member
    }


def test_the_tables_in_an_archive_are_read(tmp_path: Path) -> None:
    pack(
        tmp_path / "one.zip", "a/orders.csv", "README.txt", "__MACOSX/a.csv", comment=b"x" * 60_000
    )
    with zipfile.ZipFile(tmp_path / "gtfs.ZIP", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("stops.txt", "stop_id;stop_name\n1;Halle\n2;Jena\n")
        archive.writestr("x.jsonl", '{"id": 7}\n')
        archive.writestr("y.csv.gz", gzip.compress(b"id\n8\n"))
        archive.writestr("z.xlsx", "none")
    assert tables(tmp_path) == {
        "gtfs.ZIP/stops.txt": [
            {"stop_id": "1", "stop_name": "Halle"},
            {"stop_id": "2", "stop_name": "Jena"},
        ],
        "gtfs.ZIP/x.jsonl": [{"id": 7}],
        "gtfs.ZIP/y.csv.gz": [{"id": "8"}],
        "one.zip/a/orders.csv": [{"code": "AA"}],
    }
    assert tell(tmp_path) == (["gtfs.ZIP: z.xlsx; extract what is a table"], {"files_not_read": 0})


def test_an_archive_is_known_by_its_content(tmp_path: Path) -> None:
    pack(tmp_path / "orders.csv", "orders.csv")
    pack(tmp_path / "none.csv", "README.md")
    assert tables(tmp_path) == {"orders.csv/orders.csv": [{"code": "AA"}]}
    assert tell(tmp_path)[0] == ["none.csv: extract it in its folder if it has tables"]


def test_a_damaged_member_is_named(tmp_path: Path) -> None:
    path = tmp_path / "one.zip"
    pack(path, "a.csv")
    table = Table(
        id=TableId("file", "a"),
        title="a",
        location=File(uri=str(path), format="zip", member=("gone.csv",)),
        size=1,
    )
    with pytest.raises(UnreadableTableError, match="its ZIP archive is damaged, or compressed by"):
        read_table(table, Databases(), max_rows=9)


@pytest.mark.parametrize("name", ["a.zip", "a.tar", "a.tar.gz", "a.TGZ", "a.7z", "a.rar"])
def test_what_cannot_be_looked_into_is_named(tmp_path: Path, name: str) -> None:
    tmp_path.joinpath(name).write_bytes(b"none")
    assert tell(tmp_path)[0] == [f"{name}: extract it in its folder if it has tables"]


def test_a_list_of_files_that_claims_to_be_huge_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "bomb.zip"
    pack(path, "a.csv")
    content = bytearray(path.read_bytes())
    at = content.rfind(b"PK\x05\x06") + 12
    content[at : at + 4] = (1 << 31).to_bytes(4, "little")
    path.write_bytes(content)
    assert tell(tmp_path)[0] == ["bomb.zip: extract it in its folder if it has tables"]


def test_an_archive_in_an_archive_and_odd_names_are_harmless(tmp_path: Path) -> None:
    pack(tmp_path / "odd.zip", "inner.zip", "a\x1b[31m.csv")
    assert tell(tmp_path)[0] == ["odd.zip: inner.zip; extract what is a table"]


def test_many_archives_share_a_line(tmp_path: Path) -> None:
    for at in range(20):
        pack(tmp_path / f"{at:02}.zip", "a.pdf")
    told, counts = tell(tmp_path)
    assert len(told) == 10
    assert told[-1] == "11 more archives, for example 09.zip: extract them in their folders"
    assert counts == {"files_not_read": 20}


def test_an_archive_that_is_denied_is_not_told(tmp_path: Path) -> None:
    pack(tmp_path / "one.zip", "a.csv")
    assert tell(tmp_path, deny=r".*\.zip") == ([], {"files_not_read": 0})
