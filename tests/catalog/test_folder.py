import os
from pathlib import Path

import pytest
from datahub.configuration.common import AllowDenyPattern

from datahub_hyperjoin.catalog.errors import MissingFolderError, NoTablesError
from datahub_hyperjoin.catalog.folders import scan_folder
from datahub_hyperjoin.catalog.table_selection import TableSelection
from datahub_hyperjoin.locations import DeltaFolder, File, Folder, IcebergFolder
from datahub_hyperjoin.tables import Table, TableId


def scan(folder: Path, *, instance: str | None = None, deny: str = "^$") -> list[Table]:
    selection = TableSelection(
        platform="file", env="DEV", instance=instance, tables=AllowDenyPattern(deny=[deny])
    )
    return scan_folder(folder, selection, warn=refuse_to_warn)


def refuse_to_warn(*warning: str) -> None:
    pytest.fail(str(warning))


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    for name in ("b/flights.parquet", "a/planes.CSV", "zones.tsv", "a/_SUCCESS", ".git/x.csv"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("code\nAA\n")
    tmp_path.joinpath("README.md").write_text("about")
    return tmp_path


def test_tables_are_named_by_their_path(lake: Path) -> None:
    tables = scan(lake)
    assert [table.id for table in tables] == [
        TableId("file", "a/planes.CSV", "DEV"),
        TableId("file", "b/flights.parquet", "DEV"),
        TableId("file", "zones.tsv", "DEV"),
    ]
    assert [table.title for table in tables] == ["planes", "flights", "zones"]
    files = [table.location for table in tables if isinstance(table.location, File)]
    assert [file.format for file in files] == [
        "csv",
        "parquet",
        "tsv",
    ]
    assert {table.size for table in tables} == {8}
    assert Path(files[0].uri).read_text() == "code\nAA\n"


def test_the_platform_instance_is_the_prefix_of_the_name(lake: Path) -> None:
    assert scan(lake, instance="lake_1")[0].id.name == "lake_1.a/planes.CSV"


def test_patterns_leave_tables_out(lake: Path) -> None:
    assert [table.title for table in scan(lake, deny="a/.*")] == ["flights", "zones"]


def test_a_missing_folder_is_named() -> None:
    with pytest.raises(MissingFolderError, match=r"`catalog.folder` is 'lost', and no such folder"):
        scan(Path("lost"))


def test_a_folder_without_tables_is_named(tmp_path: Path) -> None:
    tmp_path.joinpath("readme.txt").write_text("none")
    with pytest.raises(
        NoTablesError, match=r"has 1 file, and none holds a table that .* \.csv, \.tsv, "
    ):
        scan(tmp_path)


def test_folders_of_one_table_are_recognised(tmp_path: Path) -> None:
    for name in (
        "sales/orders/year=2024/month=1/a.parquet",
        "sales/orders/year=2025/month=1/b.parquet",
        "sales/clients.parquet/0.parquet",
        "sales/clients.parquet/_SUCCESS",
        "sales/lines/part-00000-x.c000.snappy.parquet",
        "sales/lines/part-00001-x.c000.snappy.parquet",
        "sales/notes.csv.gz",
        "sales/events.ndjson",
        "sales/archive.md5",
        "part-0.csv",
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("12345678")
    tables = {table.id.name: table for table in scan(tmp_path)}
    assert [(name, table.title, table.size) for name, table in tables.items()] == [
        ("part-0.csv", "part-0", 8),
        ("sales/clients.parquet", "clients", 8),
        ("sales/events.ndjson", "events", 8),
        ("sales/lines", "lines", 16),
        ("sales/notes.csv.gz", "notes", 8),
        ("sales/orders", "orders", 16),
    ]
    assert tables["sales/orders"].location == Folder(
        uri=str(tmp_path.resolve() / "sales" / "orders"),
        format="parquet",
        parts=("year=2024/month=1/a.parquet", "year=2025/month=1/b.parquet"),
    )
    assert tables["sales/notes.csv.gz"].location == File(
        uri=str(tmp_path.resolve() / "sales" / "notes.csv.gz"), format="csv"
    )


def test_a_folder_with_a_log_is_one_table(tmp_path: Path) -> None:
    for name in ("sales/_delta_log/0.json", "sales/year=2024/0.parquet", "sales/1.parquet"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("1234")
    [table] = scan(tmp_path)
    assert (table.id.name, table.title, table.size) == ("sales", "sales", 12)
    assert table.location == DeltaFolder(uri=str(tmp_path.resolve() / "sales"))
    (tmp_path / "sales" / "2.parquet").write_text("not in the log")
    assert scan(tmp_path)[0].state == table.state
    (tmp_path / "sales" / "_delta_log" / "1.json").write_text("{}")
    assert scan(tmp_path)[0].state != table.state


def test_the_files_of_a_log_are_no_tables(tmp_path: Path) -> None:
    for name in ("_delta_log/1.checkpoint.parquet", "empty/_delta_log/0.json", "0.parquet"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("1234")
    file, empty = scan(tmp_path)
    assert (file.id.name, type(file.location)) == ("0.parquet", File)
    assert empty.location == DeltaFolder(uri=str(tmp_path.resolve() / "empty"))


def test_a_folder_with_metadata_is_one_table(tmp_path: Path) -> None:
    for name in (
        "shop/metadata/notes.csv",
        "shop/new/metadata/v1.metadata.json",
        "shop/people/data/1.orc",
        "shop/people/data/land=NO/0.parquet",
        "shop/people/metadata/00000-x.metadata.json",
        "shop/people/metadata/snap-1.avro",
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("1234")
    notes, new, people = scan(tmp_path)
    assert (notes.id.name, type(notes.location)) == ("shop/metadata/notes.csv", File)
    shop = tmp_path.resolve() / "shop"
    for table, name, size in ((new, "new", 4), (people, "people", 16)):
        assert (table.id.name, table.title, table.size) == (f"shop/{name}", name, size)
        assert table.location == IcebergFolder(uri=str(shop / name))
    (shop / "people" / "data" / "2.parquet").write_text("not in the metadata")
    assert scan(tmp_path)[2].state == people.state
    (shop / "people" / "metadata" / "00001-y.metadata.json").write_text("{}")
    assert scan(tmp_path)[2].state != people.state
    assert scan(tmp_path)[1] == new


def test_a_delta_log_precedes_iceberg_metadata(
    tmp_path: Path,
) -> None:
    for name in ("sales/_delta_log/0.json", "sales/metadata/v1.metadata.json", "sales/1.parquet"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("1234")
    [table] = scan(tmp_path)
    assert table.location == DeltaFolder(uri=str(tmp_path.resolve() / "sales"))


def test_a_table_has_another_state_when_a_file_of_it_changes(lake: Path) -> None:
    before = {table.id.name: table.state for table in scan(lake)}
    assert len({*before.values()}) == 3
    assert {table.id.name: table.state for table in scan(lake)} == before
    (lake / "zones.tsv").write_text("code\nAA\nBB\n")
    after = {table.id.name: table.state for table in scan(lake)}
    assert {name for name in before if before[name] != after[name]} == {"zones.tsv"}


def test_a_change_within_a_microsecond_is_detected(lake: Path) -> None:
    zones = lake / "zones.tsv"
    states = []
    for moment in (10**18, 10**18 + 1):
        os.utime(zones, ns=(moment, moment))
        states.append(scan(lake)[-1].state)
    assert len({*states}) == 2


def test_a_link_out_of_the_folder_is_followed_only_if_the_recipe_says_so(tmp_path: Path) -> None:
    lake, elsewhere = tmp_path / "lake", tmp_path / "lakeside"
    for folder in (lake / "sub", elsewhere):
        folder.mkdir(parents=True)
    elsewhere.joinpath("salaries.csv").write_text("code\nAA\n")
    lake.joinpath("planes.csv").write_text("code\nAA\n")
    lake.joinpath("sub", "people.csv").symlink_to(elsewhere / "salaries.csv")
    lake.joinpath("sub", "copy.csv").symlink_to("../planes.csv")
    lake.joinpath("gone.csv").symlink_to(elsewhere / "gone.csv")
    lake.joinpath("linked").symlink_to(elsewhere)
    selection = TableSelection(platform="file", env="DEV")
    warnings: list[tuple[str, ...]] = []
    tables = scan_folder(lake, selection, warn=lambda *warning: warnings.append(warning))
    assert [table.id.name for table in tables] == ["planes.csv", "sub/copy.csv"]
    assert warnings == [
        (
            "Link out of the folder not followed",
            "The file is not read. To read it, set `catalog.follow_links: true`",
            "sub/people.csv",
        )
    ]
    tables = scan_folder(lake, selection, warn=refuse_to_warn, follow_links=True)
    assert [table.id.name for table in tables] == ["planes.csv", "sub/copy.csv", "sub/people.csv"]


def test_a_file_whose_name_is_not_utf_8_costs_no_other(tmp_path: Path) -> None:
    tmp_path.joinpath("planes.csv").write_text("code\nAA\n")
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff\xfebad.csv")).write_text("code\nAA\n")
    selection = TableSelection(platform="file", env="DEV")
    warnings: list[tuple[str, ...]] = []
    tables = scan_folder(tmp_path, selection, warn=lambda *warning: warnings.append(warning))
    assert [table.id.name for table in tables] == ["planes.csv"]
    assert warnings == [
        (
            "File with an unreadable name skipped",
            "DataHub's names are UTF-8, and this one is not. Rename the file or folder",
            "\\udcff\\udcfebad.csv",
        )
    ]


def test_a_folder_that_is_a_link_itself_is_read(lake: Path, tmp_path: Path) -> None:
    tmp_path.joinpath("_link").symlink_to(lake)
    assert len(scan(tmp_path / "_link")) == 3


def test_the_schema_of_fixed_widths_is_part_of_the_state(tmp_path: Path) -> None:
    tmp_path.joinpath("a.fwf").write_text("0012 Oslo")
    schema = tmp_path / "a.fwf.schema"
    schema.write_text("column,start,length\nid,1,4\n")
    [before] = scan(tmp_path)
    assert (before.id.name, before.title) == ("a.fwf", "a")
    schema.write_text("column,start,length\nid,1,4\nname,6,4\n")
    assert scan(tmp_path)[0].state != before.state
