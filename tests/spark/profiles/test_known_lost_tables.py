"""Test when a table that crashed its worker is read again."""

from collections.abc import Callable
from dataclasses import replace
from datetime import date
from pathlib import Path

import pyarrow as pa
import pytest

from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.errors import LostWorkerError
from datahub_hyperjoin.spark.profiles import store
from datahub_hyperjoin.spark.profiles.store import LostTables, Store
from datahub_hyperjoin.tables import Table, TableProfile

MakeTable = Callable[[str, bytes | str | pa.Table], Table]
LOST = str(LostWorkerError.by_reading())


@pytest.fixture
def config(tmp_path: Path) -> ProfileConfig:
    return ProfileConfig(store=tmp_path / "kept")


@pytest.fixture
def table(make_table: MakeTable, config: ProfileConfig, today: Callable[[int], None]) -> Table:
    """Record that a table crashed its worker on the first of March."""
    today(1)
    table = replace(make_table("deadly.csv", "id\n1\n"), state="known")
    lost(config).keep([TableProfile(table=table, fault=LOST)])
    return table


@pytest.fixture
def today(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Return a function that sets today's date to a day in March."""
    return lambda day: monkeypatch.setattr(store, "_today", lambda: date(2026, 3, day))


def lost(config: ProfileConfig) -> LostTables:
    return LostTables(Store(config))


def test_it_is_not_read_for_a_week(
    config: ProfileConfig, table: Table, today: Callable[[int], None]
) -> None:
    for day in (2, 7):
        today(day)
        found = lost(config).known([table])
        assert found[table.id].fault == (
            "is not read: on 2026-03-01 it ended the process that read it, and it has not changed "
            "since. It is read again when it changes, or from 2026-03-08. Repair it, or divide it "
            "into several tables"
        )
        lost(config).keep(found.values())
    today(8)
    assert lost(config).known([table]) == {}
    lost(config).keep([TableProfile(table=table, fault=LOST)])
    today(14)
    assert [*lost(config).known([table])] == [table.id]


def test_it_is_read_if_it_or_the_settings_change(config: ProfileConfig, table: Table) -> None:
    assert lost(config).known([replace(table, state="new")]) == {}
    assert lost(replace(config, max_rows=2)).known([table]) == {}
    assert lost(ProfileConfig()).known([table]) == {}
    assert lost(config).known([table])


def test_what_could_be_read_is_forgotten(config: ProfileConfig, table: Table) -> None:
    forced = replace(config, force=True)
    assert lost(forced).known([table]) == {}
    lost(forced).keep([TableProfile(table=table)])
    assert lost(config).known([table]) == {}


def test_other_faults_and_unknown_states_are_not_remembered(
    config: ProfileConfig, table: Table
) -> None:
    view, broken = replace(table, state=""), replace(table, state="broken")
    lost(config).keep(
        [TableProfile(table=view, fault=LOST), TableProfile(table=broken, fault="cannot be read")]
    )
    assert lost(config).known([table, view, broken]) == {}
