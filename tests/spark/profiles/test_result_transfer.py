"""Whether profiles arrive as they were sent, whatever way they take."""

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.databases.engines import Databases
from datahub_hyperjoin.spark.profiles.local_batch import profile_each
from datahub_hyperjoin.spark.profiles.result_transfer import depot, unwrap, wrap
from datahub_hyperjoin.tables import Table, TableProfile

MakeTable = Callable[[str, bytes | str | pa.Table], Table]


@pytest.fixture
def profiles(make_table: MakeTable) -> list[TableProfile]:
    """Of a table with values, and of one that cannot be read."""
    tables = [make_table("cities.csv", "id,city\n1,K\u00f6ln\n2,\n"), make_table("empty.csv", "")]
    [found] = profile_each(tables, ProfileConfig(), Databases())
    return found


def arrived(parcel: pa.RecordBatch, profiles: list[TableProfile]) -> list[TableProfile]:
    tables = [profile.table for profile in reversed(profiles)]
    found = unwrap(pa.Table.from_batches([parcel]), tables)
    return [found[at] for at in reversed(range(len(tables)))]


def test_workers_on_this_disk_leave_profiles_in_a_file(profiles: list[TableProfile]) -> None:
    with depot() as folder:
        parcel = wrap([1, 0], profiles, folder)
        [file] = folder.iterdir()
        assert parcel.select(["profiles", "file"]).to_pylist() == [
            {"profiles": None, "file": str(file)}
        ]
        assert arrived(parcel, profiles) == profiles
    assert not folder.exists()


def test_workers_elsewhere_send_profiles_themselves(
    tmp_path: Path, profiles: list[TableProfile]
) -> None:
    parcel = wrap([1, 0], profiles, tmp_path / "of another machine")
    assert parcel["file"].null_count == 1
    assert arrived(parcel, profiles) == profiles


def test_nobody_else_can_look_into_the_depot() -> None:
    with depot() as folder:
        assert folder.stat().st_mode & 0o077 == 0
