"""Measure the speed of profiling on the TPC-H tables: `make bench-profile`.

The generator writes one Parquet file a table. A first pass profiles `profile.max_rows` rows of
each table, like an ingestion, and a second pass all rows. The machine's limit is the time that
pyarrow needs to read the same rows and to count the distinct values of each column exactly, on all
cores, in the same run.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import SparkSession
from tabulate import tabulate

from benchmarks.bench_profile import MIB, peaks_below
from datahub_hyperjoin.catalog.folders import scan_folder
from datahub_hyperjoin.catalog.table_selection import TableSelection
from datahub_hyperjoin.evaluate.run import measured
from datahub_hyperjoin.spark.config import ProfileConfig, SessionConfig
from datahub_hyperjoin.spark.profiles.profile import profile_lake
from datahub_hyperjoin.spark.session import borrow_session

ROWS = (ProfileConfig().max_rows, sys.maxsize)


@dataclass(frozen=True)
class Run:
    """Measurements of one profiling run over the database."""

    scale: int
    rows: int
    """Total number of rows of all tables."""

    read: int
    """Number of rows that were profiled."""

    columns: int
    mebibytes: float
    """Size of the profiled rows in Parquet."""

    limit: float
    """Seconds that pyarrow alone needs to read the same rows."""

    seconds: float
    """Seconds of profiling."""

    driver: float
    """Peak memory of this process while profiling, in MiB."""

    java: float
    """Peak memory of Spark's Java process so far, in MiB."""

    worker: float
    """Greatest peak memory of a Python worker, in MiB."""


def write_database(folder: Path, scale: int, kind: str = "parquet") -> None:
    """Generate the eight tables of TPC-H."""
    generator = str(Path(sys.executable).with_name("tpchgen-cli"))
    command = [generator, kind, "--quiet", f"--scale-factor={scale}", f"--output-dir={folder}"]
    subprocess.run(command, check=True)


def limit(read: Mapping[Path, int]) -> float:
    """Return the seconds that pyarrow needs to read the rows and count their values.

    Each core reads one column at a time.
    """

    def count(path: Path, column: str, rows: int) -> int:
        file = pq.ParquetFile(path)
        groups, available = 0, 0
        while available < rows:
            available += file.metadata.row_group(groups).num_rows
            groups += 1
        batch = file.read_row_groups(range(groups), columns=[column], use_threads=False)
        values = batch.column(0).slice(0, rows)
        # The generator writes string views, which Arrow cannot count.
        if pa.types.is_string_view(values.type):
            values = values.cast(pa.string())
        return int(pc.count_distinct(values).as_py())

    columns = [
        (path, column, rows)
        for path, rows in sorted(read.items(), key=lambda table: -table[1])
        for column in pq.read_schema(path).names
    ]
    started = perf_counter()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        sum(pool.map(lambda column: count(*column), columns))
    return perf_counter() - started


def measure(session: SparkSession, folder: Path, scale: int, max_rows: int) -> Run:
    """Profile the database, and measure the time that pyarrow needs for the same rows."""
    selection = TableSelection(platform="file", env="PROD")
    lake = scan_folder(folder, selection, warn=print)
    with measured() as cost:
        profiles = profile_lake(session, lake, ProfileConfig(max_rows=max_rows))
    assert [profile.fault for profile in profiles] == [""] * 8
    rows = {folder / profile.table.id.name: profile.rows for profile in profiles}
    all_rows = {path: pq.read_metadata(path).num_rows for path in rows}
    java, worker = peaks_below()
    return Run(
        scale=scale,
        rows=sum(all_rows.values()),
        read=sum(rows.values()),
        columns=sum(len(profile.columns) for profile in profiles),
        mebibytes=sum(path.stat().st_size * rows[path] / all_rows[path] for path in rows) / MIB,
        limit=limit(rows),
        seconds=cost.seconds,
        driver=cost.megabytes,
        java=java / MIB,
        worker=worker / MIB,
    )


HEADERS = (
    "scale",
    "rows",
    "read",
    "columns",
    "MiB read",
    "limit, s",
    "profile, s",
    "of limit",
    "MiB/s",
    "columns/s",
    "driver, MiB",
    "Java, MiB",
    "worker, MiB",
)


def _row(run: Run) -> list[str]:
    return [
        str(run.scale),
        f"{run.rows:,}",
        f"{run.read:,}",
        str(run.columns),
        f"{run.mebibytes:,.0f}",
        f"{run.limit:.1f}",
        f"{run.seconds:.1f}",
        f"{run.limit / run.seconds:.0%}",
        f"{run.mebibytes / run.seconds:,.1f}",
        f"{run.columns / run.seconds:,.1f}",
        *(f"{peak:,.0f}" for peak in (run.driver, run.java, run.worker)),
    ]


def print_table(runs: Sequence[Run]) -> None:
    """Print one table row for each run so far."""
    print(tabulate([_row(run) for run in runs], HEADERS, disable_numparse=True), "\n")


def main() -> None:
    """Run the benchmark, and print the table after each run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=int, nargs="+", default=[1], help="scale factors")
    parser.add_argument("--rows", type=int, nargs="+", default=ROWS, help="most rows of a table")
    options = parser.parse_args()
    runs: list[Run] = []
    for scale in options.scale:
        with tempfile.TemporaryDirectory() as folder:
            write_database(Path(folder), scale)
            for max_rows in options.rows:
                # A new session starts new Python workers, so that their peaks belong to this pass.
                with borrow_session(SessionConfig()) as session:
                    session.range(1).toArrow()
                    runs.append(measure(session, Path(folder), scale, max_rows))
                print_table(runs)


if __name__ == "__main__":
    main()
