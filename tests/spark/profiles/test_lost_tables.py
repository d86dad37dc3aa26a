"""Test that a table which crashes its worker affects no other table."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from datahub_hyperjoin.locations import File
from datahub_hyperjoin.report import HyperJoinReport
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.executor import run_in_halves
from datahub_hyperjoin.spark.profiles.local_batch import profile_local_batch
from datahub_hyperjoin.spark.profiles.store import Store
from datahub_hyperjoin.stages.profiling import read_profiles
from datahub_hyperjoin.tables import Table

MakeTable = Callable[[str, bytes | str | pa.Table], Table]
LOST = "cannot be read: it ends the process that reads it, because its bytes are damaged or"
CRASH = PySparkException("Job aborted due to stage failure: Python worker exited unexpectedly")
OTHER = PySparkException("No module named 'datahub_hyperjoin'")


@pytest.fixture
def tables(make_table: MakeTable, deadly: Callable[[Table], Table]) -> list[Table]:
    """Make eleven tables of one row each; reading the eighth ends the worker."""
    made = [make_table(f"t{at}.csv", f"id\n{at}\n") for at in range(11)]
    made[7] = deadly(made[7])
    return [replace(table, state="known") for table in made]


def counting(calls: list[Sequence[int]], bad: int) -> Callable[[Sequence[int]], dict[int, int]]:
    def job(indices: Sequence[int]) -> dict[int, int]:
        calls.append(indices)
        if bad in indices:
            raise CRASH
        return {index: index * index for index in indices}

    return job


def test_one_of_a_thousand_is_found_in_few_jobs() -> None:
    calls: list[Sequence[int]] = []
    found, lost = run_in_halves(counting(calls, 7), range(1000), salvage=dict)
    assert lost == [7]
    assert found == {index: index * index for index in range(1000) if index != 7}
    assert len(calls) <= 21


def test_what_a_failed_job_has_finished_is_not_read_again() -> None:
    calls: list[Sequence[int]] = []
    found, lost = run_in_halves(
        counting(calls, 3), range(8), salvage=lambda: {at: at * at for at in (0, 1, 2, 6, 7)}
    )
    assert (lost, found) == ([3], {at: at * at for at in range(8) if at != 3})
    assert calls == [range(8), [3], [4, 5]]


def test_a_job_that_fails_without_a_lost_worker_is_not_repeated() -> None:
    calls: list[Sequence[int]] = []

    def job(indices: Sequence[int]) -> dict[int, int]:
        calls.append(indices)
        raise OTHER

    with pytest.raises(PySparkException, match="No module"):
        run_in_halves(job, range(8), salvage=dict)
    assert len(calls) == 1


def test_a_table_that_ends_its_worker_costs_no_other(
    spark: SparkSession, tables: list[Table]
) -> None:
    found = profile_local_batch(spark, tables, ProfileConfig())
    assert [profile.table for profile in found] == tables
    assert [profile.rows for profile in found] == [1] * 7 + [0] + [1] * 3
    assert found[7].fault.startswith(LOST)
    assert not any(profile.fault for profile in found if profile is not found[7])


def test_a_file_that_ends_its_worker_costs_no_other(
    spark: SparkSession, tables: list[Table]
) -> None:
    shipped = [
        replace(table, location=replace(table.location, uri=f"file:{table.location.uri}"))
        for table in tables[5:9]
        if isinstance(table.location, File)
    ]
    found = profile_local_batch(spark, shipped, ProfileConfig())
    assert [profile.rows for profile in found] == [1, 1, 0, 1]
    assert found[2].fault.startswith(LOST)


def test_a_lost_table_is_named_in_a_warning_and_not_read_by_the_next_run(
    spark: SparkSession, tmp_path: Path, tables: list[Table]
) -> None:
    config = ProfileConfig(store=tmp_path / "kept")
    session = iter([spark])  # The second run has none.
    for text in (LOST, "is not read: on "):
        report = HyperJoinReport()
        profiles = read_profiles(tables[6:9], lambda: next(session), config, report)
        assert [bool(profile.fault) for profile in profiles] == [False, True, False]
        [warning] = report.warnings
        assert warning.title == "Table skipped"
        assert next(iter(warning.context)).startswith(f"{tables[7].id}: {text}")


def test_a_run_that_ends_early_leaves_its_profiles_to_the_next(
    spark: SparkSession, tmp_path: Path, tables: list[Table]
) -> None:
    config = ProfileConfig(store=tmp_path / "kept")
    # Ends here, before it keeps the profiles of all tables.
    found = profile_local_batch(spark, tables, config, Store(config).result_folder)
    report, started = HyperJoinReport(), []

    def start() -> SparkSession:
        started.append(spark)
        return spark

    assert read_profiles(tables[:7] + tables[8:], start, config, report) == tuple(
        profile for profile in found if not profile.fault
    )
    assert (report.tables_from_profile_store, started) == (10, [])
    kept = [path.name for path in (tmp_path / "kept").rglob("*") if path.is_file()]
    assert sorted(kept) == ["contents.parquet", "profiles.parquet"]
    assert len(Store(config).profiles(tables)) == 10


def test_profiles_of_an_unfinished_run_are_private_and_whole(
    spark: SparkSession, tmp_path: Path, tables: list[Table]
) -> None:
    config = ProfileConfig(store=tmp_path / "kept")
    profile_local_batch(spark, tables[:3], config, Store(config).result_folder)
    written = [*(tmp_path / "kept").rglob("*")]
    assert all(not path.stat().st_mode & 0o077 for path in [tmp_path / "kept", *written])
    assert len(Store(config).profiles(tables)) == 3
    Store(replace(config, max_rows=2)).discard_profiles()
    assert Store(config).profiles(tables) == {}


def test_a_damaged_result_is_read_again(
    spark: SparkSession, tmp_path: Path, tables: list[Table]
) -> None:
    config = ProfileConfig(store=tmp_path / "kept")
    profile_local_batch(spark, tables[:3], config, Store(config).result_folder)
    written = [*(tmp_path / "kept").rglob("*")]
    [cut, *_] = [path for path in written if path.suffix == ".profiles"]
    cut.write_bytes(cut.read_bytes()[:-1])
    assert len(Store(config).profiles(tables)) < 3
    [keys] = [path for path in written if path.name == "keys.json"]
    keys.write_text("[")
    assert Store(config).profiles(tables) == {}


def test_a_changed_table_is_not_taken_from_an_unfinished_run(
    spark: SparkSession, tmp_path: Path, tables: list[Table]
) -> None:
    config = ProfileConfig(store=tmp_path / "kept")
    profile_local_batch(spark, tables[:2], config, Store(config).result_folder)
    changed = replace(tables[1], state="another")
    assert [*Store(config).profiles([tables[0], changed])] == [tables[0].id]
