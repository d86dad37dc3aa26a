"""Test that a table whose files were written again with the same content keeps its state."""

import os
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from datahub_hyperjoin.catalog.folders import scan_folder
from datahub_hyperjoin.catalog.table_selection import TableSelection
from datahub_hyperjoin.locations import DeltaFolder, File, Folder, ObjectStore, TableLocation
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.profiles import known_contents
from datahub_hyperjoin.spark.profiles.known_contents import KnownContents
from datahub_hyperjoin.spark.profiles.store import Store
from datahub_hyperjoin.storage import checksum
from datahub_hyperjoin.tables import Table, TableProfile
from lakes.recognising import recognise_and_keep
from lakes.workbooks import write_workbook

SELECTION = TableSelection(platform="file", env="PROD")
OLD, NEW = "id\n1\n2\n", "id\n1\n3\n"


@pytest.fixture
def config(tmp_path: Path) -> ProfileConfig:
    return ProfileConfig(store=tmp_path / "kept")


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    folder = tmp_path / "lake"
    folder.mkdir()
    return folder


def write(file: Path, content: str, time: int) -> None:
    file.write_text(content)
    os.utime(file, (time, time))


def scan(lake: Path) -> list[Table]:
    return scan_folder(lake, SELECTION, warn=lambda *_: None)


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """List the names of the files that are read."""
    names: list[str] = []

    def note(path: Path) -> str:
        names.append(path.name)
        return checksum(path)

    monkeypatch.setattr(known_contents, "checksum", note)
    return names


def test_the_same_content_keeps_its_state(
    config: ProfileConfig, lake: Path, read: list[str]
) -> None:
    write(lake / "a.csv", OLD, 1)
    first = [table.state for table in scan(lake)]
    assert recognise_and_keep(config, scan(lake)) == (first, 0)
    assert recognise_and_keep(config, scan(lake)) == (first, 0)
    assert read == ["a.csv"]
    write(lake / "a.csv", OLD, 2)
    assert [table.state for table in scan(lake)] != first
    assert recognise_and_keep(config, scan(lake)) == (first, 1)
    assert read == ["a.csv"] * 2
    # Its new time of change is known from now on.
    assert recognise_and_keep(config, scan(lake)) == (first, 0)
    assert read == ["a.csv"] * 2


def test_other_content_of_the_same_size_has_another_state(
    config: ProfileConfig, lake: Path, read: list[str]
) -> None:
    write(lake / "a.csv", OLD, 1)
    first, _ = recognise_and_keep(config, scan(lake))
    write(lake / "a.csv", NEW, 2)
    second, again = recognise_and_keep(config, scan(lake))
    assert (second != first, again) == (True, 0)
    assert recognise_and_keep(config, scan(lake)) == (second, 0)
    assert read == ["a.csv"] * 2


def test_content_of_another_size_is_read_once(
    config: ProfileConfig, lake: Path, read: list[str]
) -> None:
    write(lake / "a.csv", OLD, 1)
    recognise_and_keep(config, scan(lake))
    write(lake / "a.csv", OLD * 2, 2)
    assert recognise_and_keep(config, scan(lake)) == ([scan(lake)[0].state], 0)
    assert read == ["a.csv"] * 2


def test_the_time_of_older_content_does_not_mislead(config: ProfileConfig, lake: Path) -> None:
    write(lake / "a.csv", OLD, 1)
    first, _ = recognise_and_keep(config, scan(lake))
    write(lake / "a.csv", OLD, 2)
    assert recognise_and_keep(config, scan(lake)) == (first, 1)
    write(lake / "a.csv", NEW, 1)
    third, again = recognise_and_keep(config, scan(lake))
    assert [table.state for table in scan(lake)] == first
    assert (third != first, again) == (True, 0)
    assert recognise_and_keep(config, scan(lake)) == (third, 0)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 2)), min_size=2, max_size=8))
def test_a_state_stands_for_one_content(steps: list[tuple[str, int]]) -> None:
    with TemporaryDirectory() as scratch:
        lake, config = Path(scratch, "lake"), ProfileConfig(store=Path(scratch, "kept"))
        lake.mkdir()
        last: tuple[str, int, list[str]] | None = None
        for content, time in steps:
            write(lake / "x.csv", f"id\n{content}\n", time)
            state, _ = recognise_and_keep(config, scan(lake))
            if last and last[1] == time:
                # A file with the size and the time of the last run is taken for the same.
                assert state == last[2]
                continue
            if last:
                assert (state == last[2]) is (content == last[0])
            last = content, time, state


def test_a_file_that_changes_during_the_run_is_not_known(config: ProfileConfig, lake: Path) -> None:
    write(lake / "a.csv", OLD, 1)
    contents = KnownContents(Store(config))
    found = contents.recognise(scan(lake))
    write(lake / "a.csv", NEW, 2)
    contents.keep([TableProfile(table=table) for table in found])
    assert Store(config).results("contents") == {}


def test_a_table_that_could_not_be_read_is_not_known(config: ProfileConfig, lake: Path) -> None:
    write(lake / "a.csv", OLD, 1)
    contents = KnownContents(Store(config))
    [table] = contents.recognise(scan(lake))
    contents.keep([TableProfile(table=table, fault="It is empty")])
    assert Store(config).results("contents") == {}


def test_a_file_that_disappears_is_not_known(config: ProfileConfig, lake: Path) -> None:
    write(lake / "a.csv", OLD, 1)
    tables = scan(lake)
    recognise_and_keep(config, tables)
    write(lake / "a.csv", OLD, 2)
    changed = scan(lake)
    (lake / "a.csv").unlink()
    assert recognise_and_keep(config, changed) == ([changed[0].state], 0)
    assert Store(config).results("contents") == {}


def test_tables_of_several_files_are_known(
    config: ProfileConfig, lake: Path, read: list[str]
) -> None:
    write_workbook(lake / "book.xlsx", {"One": [["id"], [1]], "Two": [["id"], [2]]})
    parts = lake / "parts.csv"
    parts.mkdir()
    for part in "12":
        write(parts / f"{part}.csv", OLD, 1)
    first, _ = recognise_and_keep(config, scan(lake))
    assert sorted(read) == ["1.csv", "2.csv", "book.xlsx"]
    write(parts / "2.csv", OLD, 2)
    os.utime(lake / "book.xlsx", (2, 2))
    assert recognise_and_keep(config, scan(lake)) == (first, 3)
    write(parts / "1.csv", NEW, 2)
    third, again = recognise_and_keep(config, scan(lake))
    assert (sum(map(str.__ne__, first, third)), again) == (1, 0)


@pytest.mark.parametrize(
    "location",
    [
        File(uri="s3a://lake/a.csv", format="csv"),
        # Its tag changes whenever it is written.
        File(uri="gs://lake/a.csv", format="csv", store=ObjectStore()),
        # Its columns are in a file of its own.
        File(uri="/lake/a.fwf", format="fwf"),
        Folder(uri="s3a://lake/a", format="csv", parts=("1.csv",)),
        DeltaFolder(uri="/lake/a"),
    ],
)
def test_no_file_of_others_is_read(
    config: ProfileConfig, lake: Path, read: list[str], location: TableLocation
) -> None:
    write(lake / "a.csv", OLD, 1)
    [table] = scan(lake)
    assert recognise_and_keep(config, [replace(table, location=location)]) == ([table.state], 0)
    assert read == []


def test_a_table_of_unknown_state_stays_unknown(
    config: ProfileConfig, lake: Path, read: list[str]
) -> None:
    write(lake / "a.csv", OLD, 1)
    [table] = scan(lake)
    assert recognise_and_keep(config, [replace(table, state="")]) == ([""], 0)
    assert read == []


def test_without_a_store_nothing_is_read(lake: Path, read: list[str]) -> None:
    write(lake / "a.csv", OLD, 1)
    assert recognise_and_keep(ProfileConfig(), scan(lake)) == ([scan(lake)[0].state], 0)
    assert read == []


def test_nothing_is_kept_where_no_values_may_be(config: ProfileConfig, lake: Path) -> None:
    write(lake / "a.csv", OLD, 1)
    recognise_and_keep(config, scan(lake))
    assert Store(config).results("contents")
    write(lake / "a.csv", OLD, 2)
    second = [table.state for table in scan(lake)]
    assert recognise_and_keep(replace(config, keep_values=False), scan(lake)) == (second, 0)
    assert not Store(config).results("contents")


def test_a_run_reads_the_smallest_tables_first_and_not_too_much(
    config: ProfileConfig, lake: Path, read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, rows in (("a", 9), ("b", 1), ("c", 2)):
        write(lake / f"{name}.csv", "id\n" + "1\n" * rows, 1)
    monkeypatch.setattr(known_contents, "_MOST_BYTES", 5 + 7)
    recognise_and_keep(config, scan(lake))
    assert sorted(read) == ["b.csv", "c.csv"]
    # The next run goes on.
    monkeypatch.setattr(known_contents, "_MOST_BYTES", 1 << 34)
    recognise_and_keep(config, scan(lake))
    assert sorted(read) == ["a.csv", "b.csv", "c.csv"]


def test_a_run_by_force_recognises_nothing(config: ProfileConfig, lake: Path) -> None:
    write(lake / "a.csv", OLD, 1)
    recognise_and_keep(config, scan(lake))
    write(lake / "a.csv", OLD, 2)
    second = [table.state for table in scan(lake)]
    assert recognise_and_keep(replace(config, force=True), scan(lake)) == (second, 0)
    assert recognise_and_keep(config, scan(lake)) == (second, 0)
