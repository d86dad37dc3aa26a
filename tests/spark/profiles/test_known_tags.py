"""Test that a table in S3 that was written again with the same content keeps its state."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from datahub_hyperjoin.catalog.folders import scan_stored_folder
from datahub_hyperjoin.catalog.table_selection import TableSelection
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.profiles import known_contents
from datahub_hyperjoin.spark.profiles.known_contents import KnownContents
from datahub_hyperjoin.spark.profiles.store import Store
from datahub_hyperjoin.tables import Table, TableProfile
from lakes.recognising import recognise_and_keep
from services.stores import S3Server, refuse_warning, running_s3

SELECTION = TableSelection(platform="file", env="PROD")
OLD, NEW = "id\n1\n2\n", "id\n1\n3\n"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[S3Server]:
    with running_s3(monkeypatch) as server:
        yield server


@pytest.fixture
def config(tmp_path: Path) -> ProfileConfig:
    return ProfileConfig(store=tmp_path / "kept")


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    folder = tmp_path / "lake"
    (folder / "parts.csv").mkdir(parents=True)
    for file in ("a.csv", "b.csv", "parts.csv/1.csv", "parts.csv/2.csv"):
        (folder / file).write_text(OLD)
    return folder


def scan(server: S3Server, lake: Path, time: int) -> list[Table]:
    """Upload the lake, and list its tables as if they had been written at a time.

    The server's clock has seconds only.
    """
    uri = server.upload(lake)
    found = scan_stored_folder("key", uri, server.store, SELECTION, warn=refuse_warning)
    server.forget()
    return [replace(table, state=f"{table.state} {time}") for table in found]


def test_the_same_content_keeps_its_state_and_is_not_read(
    config: ProfileConfig, server: S3Server, lake: Path
) -> None:
    first, _ = recognise_and_keep(config, scan(server, lake, 1))
    assert len(first) == 3
    again = scan(server, lake, 2)
    assert recognise_and_keep(config, again) == (first, 3)
    assert recognise_and_keep(config, again) == (first, 0)
    assert server.paths_read == []


def test_other_content_has_another_state(
    config: ProfileConfig, server: S3Server, lake: Path
) -> None:
    first, _ = recognise_and_keep(config, scan(server, lake, 1))
    (lake / "a.csv").write_text(NEW)
    (lake / "parts.csv" / "2.csv").write_text(NEW)
    second, again = recognise_and_keep(config, scan(server, lake, 2))
    assert ([*map(str.__eq__, first, second)], again) == ([False, True, False], 1)
    assert recognise_and_keep(config, scan(server, lake, 3)) == (second, 3)


def test_a_file_that_changes_during_the_run_is_not_known(
    config: ProfileConfig, server: S3Server, lake: Path
) -> None:
    contents = KnownContents(Store(config))
    found = contents.recognise(scan(server, lake, 1))
    (lake / "b.csv").write_text(NEW)
    server.upload(lake)
    contents.keep([TableProfile(table=table) for table in found])
    assert len(Store(config).results("contents")) == 2


def test_a_file_that_disappears_is_not_known(
    config: ProfileConfig, server: S3Server, lake: Path
) -> None:
    tables = scan(server, lake, 1)
    assert server.files
    server.files.delete_file("lake/shop/b.csv")
    recognise_and_keep(config, tables)
    assert len(Store(config).results("contents")) == 2


def test_tables_of_few_files_are_asked_for_first_and_not_too_many(
    config: ProfileConfig, server: S3Server, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(known_contents, "_MOST_REQUESTS", 3)
    first, _ = recognise_and_keep(config, scan(server, lake, 1))
    assert len(Store(config).results("contents")) == 2
    second = scan(server, lake, 2)
    assert recognise_and_keep(config, second) == ([*first[:2], second[2].state], 2)
