"""Test that profiles arrive unchanged, whether sent directly or in a file."""

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.databases.engines import Databases
from datahub_hyperjoin.spark.profiles.local_batch import profile_each
from datahub_hyperjoin.spark.profiles.rows import (
    receive_profiles,
    send_profiles,
)
from datahub_hyperjoin.storage import temporary_folder
from datahub_hyperjoin.tables import Table, TableProfile
from datahub_hyperjoin.value_forms import Notation

MakeTable = Callable[[str, bytes | str | pa.Table], Table]


@pytest.fixture
def profiles(make_table: MakeTable) -> list[TableProfile]:
    """Profile two tables: one with zero-padded codes and a missing value, and an empty file."""
    cities = "id,city,code\n1,K\u00f6ln,007\n2,,010\n"
    tables = [make_table("cities.csv", cities), make_table("empty.csv", "")]
    [found] = profile_each(tables, ProfileConfig(), Databases())
    assert found[0].columns[2].notation is Notation.PADDED
    assert len(found[0].columns[2].form_sketch) == 16
    return found


def received(result: pa.RecordBatch, profiles: list[TableProfile]) -> list[TableProfile]:
    tables = [profile.table for profile in reversed(profiles)]
    by_index = receive_profiles(pa.Table.from_batches([result]), tables)
    return [by_index[index] for index in reversed(range(len(tables)))]


def test_workers_on_this_machine_send_profiles_in_a_file(profiles: list[TableProfile]) -> None:
    with temporary_folder() as folder:
        result = send_profiles([1, 0], profiles, folder)
        [file] = folder.iterdir()
        assert result.select(["profiles", "file"]).to_pylist() == [
            {"profiles": None, "file": str(file)}
        ]
        assert received(result, profiles) == profiles
    assert not folder.exists()


def test_workers_elsewhere_send_profiles_inline(
    tmp_path: Path, profiles: list[TableProfile]
) -> None:
    result = send_profiles([1, 0], profiles, tmp_path / "of another machine")
    assert result["file"].null_count == 1
    assert received(result, profiles) == profiles


def test_no_other_user_can_enter_the_folder() -> None:
    with temporary_folder() as folder:
        assert folder.stat().st_mode & 0o077 == 0
