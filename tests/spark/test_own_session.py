"""Test that a new session reads tables from a Hive metastore, and stops afterwards.

Spark reads the metastore's settings when it starts, so both are tested in a process of their own.
"""

import multiprocessing
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace

import pytest

from datahub_hyperjoin.joins import Cardinality
from datahub_hyperjoin.locations import CatalogTable
from datahub_hyperjoin.tables import ColumnId, Table, TableId
from services import clusters, metastore

pytestmark = [pytest.mark.spark, pytest.mark.slow]


def column(table: str, path: str) -> ColumnId:
    return ColumnId(TableId("hive", f"shop.{table}"), path)


BOUGHT_BY = column("orders", "person"), column("people", "id")
SOLD = column("goods", "good"), column("northern", "good")
NOTED = column("notes", "person"), column("people", "id")
MET = column("people", "id"), column("visits", "person")


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Iterator[metastore.Found]:
    with pytest.MonkeyPatch.context() as monkeypatch:
        for name in clusters.LEFT_BY_CONNECT:
            monkeypatch.delenv(name, raising=False)
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
            folder = tmp_path_factory.mktemp("metastore")
            yield pool.submit(metastore.find, folder, [BOUGHT_BY, SOLD, NOTED, MET]).result()


def test_the_session_is_stopped_at_the_end(found: metastore.Found) -> None:
    assert (found.interface, found.is_stopped, found.is_tidy) == ("false", True, True)


def test_tables_and_views_of_a_metastore_are_listed(found: metastore.Found) -> None:
    names = ["goods", "northern", "notes", "orders", "people", "visits"]
    named = [
        replace(table, location=without_files(table), size=0, state="") for table in found.tables
    ]
    assert named == [
        Table(
            id=TableId("hive", f"shop.{name}"),
            title=name,
            location=CatalogTable(catalog="spark_catalog", schema="shop", name=name),
            size=0,
        )
        for name in names
    ]


def without_files(table: Table) -> CatalogTable:
    assert isinstance(table.location, CatalogTable)
    return replace(table.location, files=None)


def test_plain_tables_are_read_from_their_files(found: metastore.Found) -> None:
    assert {
        profile.table.title
        for profile in found.profiles
        if profile.table.location != without_files(profile.table)
    } == {"goods", "orders", "people"}


def test_tables_of_every_format_are_read(found: metastore.Found) -> None:
    assert {profile.fault for profile in found.profiles} == {""}
    assert {
        profile.table.title: (
            profile.rows,
            {column.id.path: column.distinct for column in profile.columns},
        )
        for profile in found.profiles
    } == {
        "goods": (15, {"good": 15}),
        "northern": (40, {"good": 15}),
        "notes": (3, {"person": 3, "note": 2}),
        "orders": (80, {"person": 20, "good": 15, "land": 2, "year": 2}),
        "people": (20, {"id": 20, "name": 20}),
        "visits": (2, {"person": 2, "place": 2}),
    }
    cells = {column.id: set(column.sample) for one in found.profiles for column in one.columns}
    assert cells[column("orders", "land")] == {"01", "NO"}
    assert cells[column("orders", "year")] == {"2023", "2024"}
    assert cells[column("notes", "note")] == {"a, b", "c"}
    assert cells[column("visits", "place")] == {"Oslo, east", "Rome"}


def test_their_joins_are_verified(found: metastore.Found) -> None:
    assert {
        pair: (one.shared, one.left_containment, one.right_containment, one.cardinality)
        for pair, one in found.evidence.items()
    } == {
        BOUGHT_BY: (20, 1.0, 1.0, Cardinality.MANY_ONE),
        SOLD: (15, 1.0, 1.0, Cardinality.ONE_MANY),
        NOTED: (2, 2 / 3, 0.1, Cardinality.ONE_ONE),
        MET: (2, 0.1, 1.0, Cardinality.ONE_ONE),
    }
