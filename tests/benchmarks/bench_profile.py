"""Measure the speed of profiling and the errors of sketches: `make bench-profile`.

Each size is a lake of CSV files with 7 columns (keys, foreign keys, numbers, days and texts) and
from a few hundred to some thousand rows. The machine's limit is the time that pyarrow needs to
parse all files and to count the distinct values of each column exactly, on all cores, in the same
run. Compare machines by the share of this limit that profiling reaches. DuckDB counts the same in
some tables, for comparison.
"""

import argparse
import gc
import os
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from time import perf_counter

import duckdb
import numpy as np
import psutil
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
from tabulate import tabulate

from datahub_hyperjoin.catalog.folders import scan_folder
from datahub_hyperjoin.catalog.table_selection import TableSelection
from datahub_hyperjoin.evaluate.run import peak_memory
from datahub_hyperjoin.locations import File
from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.signals.overlap import measure_overlap
from datahub_hyperjoin.spark.config import ProfileConfig, SessionConfig
from datahub_hyperjoin.spark.profiles.local_batch import profile_local_batch
from datahub_hyperjoin.spark.profiles.store import Store
from datahub_hyperjoin.spark.routes import session_for
from datahub_hyperjoin.spark.session import Session, lazy_session
from datahub_hyperjoin.spark.verification.verify import verify_joins
from datahub_hyperjoin.tables import Table, TableProfile

SIZES = (250, 2_500, 10_000)
DOMAINS = 40
"""Number of value domains of keys; tables with keys of the same domain share values."""

REPEATS = 9
"""Number of profiles; on Spark, the first few are slower, until Java has compiled the code."""
RIVAL_TABLES, RIVAL_REPEATS = 250, 3
"""Number of tables that DuckDB counts, and how often: it takes many times as long as the limit."""
MIB = 1 << 20
PAIRS = 400
"""Number of pairs of columns whose estimated containment is compared with the exact one."""

PERCENTILES = (50, 90, 99, 100)


@dataclass(frozen=True)
class Run:
    """The measurements of profiling a lake of one size."""

    tables: int
    columns: int
    mebibytes: float
    limit: float
    """Seconds that pyarrow alone needs to read the lake, the median of `REPEATS` runs."""

    cold: float
    """Seconds of the first profile, including the start of the workers."""

    warm: float
    """Median seconds of a profile, not counting the first one."""

    shares: tuple[float, float]
    """The least and the greatest share of the limit that a profile reached in one turn."""

    rival: float
    """How often the seconds of the limit DuckDB takes, for the first `RIVAL_TABLES` tables."""

    kept: float
    """Seconds of reading the same profiles from the store."""

    driver: float
    """Peak memory of this process, in bytes."""

    java: float
    """Peak memory of Spark's Java process, in bytes; 0 without Spark."""

    worker: float
    """Greatest peak memory of a Python worker, in bytes."""


def write_lake(folder: Path, tables: int, seed: int = 0, scale: int = 1) -> None:
    """Write the tables of a lake; every fifth table is ten times as long as the others."""
    random = np.random.default_rng(seed)
    for at in range(tables):
        rows = scale * int(random.integers(50, 400)) * (10 if at % 5 == 0 else 1)
        domain = int(random.integers(DOMAINS))
        keys = random.integers(4 * rows, size=rows)
        columns = {
            "id": pa.array(np.arange(rows)),
            f"key_{domain}": pa.array([f"{domain:02}-{key:07}" for key in keys]),
            "amount": pa.array(random.gamma(2, 50, rows).round(2)),
            "day": pa.array(random.integers(19_000, 20_000, rows).astype("datetime64[D]")),
            "status": pa.array(random.choice(["open", "paid", "late", ""], rows)),
            "town": pa.array([f"Town {town}" for town in random.zipf(1.5, rows) % 5000]),
            "note": pa.array([f"{a:x} {b:x}" for a, b in random.integers(1 << 33, size=(rows, 2))]),
        }
        path = folder / f"{at // 500:02}" / f"t{at}.csv"
        path.parent.mkdir(parents=True, exist_ok=True)
        pa.csv.write_csv(pa.table(columns), path)


def _limit(tables: Sequence[Table]) -> float:
    """Return the seconds that pyarrow needs to parse the tables and count their values.

    Each core reads one table at a time, because Arrow's own threads would compete with each other.
    """

    def count(table: Table) -> int:
        assert isinstance(table.location, File)
        options = pa.csv.ReadOptions(use_threads=False)
        rows = pa.csv.read_csv(table.location.uri, options)
        return sum(pc.count_distinct(column).as_py() for column in rows.columns)

    with timed() as seconds, ThreadPoolExecutor(os.cpu_count()) as pool:
        sum(pool.map(count, tables))
    return seconds[0]


def _rival(tables: Sequence[Table]) -> float:
    """Return the seconds that DuckDB needs to parse the tables and count their values.

    As for the limit, each core reads one table at a time.
    """

    def count(table: Table) -> None:
        assert isinstance(table.location, File)
        with connection.cursor() as cursor:
            query = "SELECT COUNT(DISTINCT COLUMNS(*)) FROM read_csv(?)"
            cursor.execute(query, [table.location.uri]).fetchall()

    with (
        duckdb.connect(config={"threads": 1}) as connection,
        timed() as seconds,
        ThreadPoolExecutor(os.cpu_count()) as pool,
    ):
        list(pool.map(count, tables))
    return seconds[0]


@contextmanager
def timed() -> Iterator[list[float]]:
    """Measure the seconds of a `with` block.

    Objects that exist before the block are exempt from garbage collection.
    """
    seconds: list[float] = []
    gc.collect()
    gc.freeze()
    started = perf_counter()
    yield seconds
    seconds.append(perf_counter() - started)
    gc.unfreeze()


def measure(session: Session, folder: Path, tables: int) -> tuple[Run, list[TableProfile]]:
    """Measure the time to profile a lake, and the time to load its stored profiles.

    As in a run, Spark reads a lake of more than 256 MiB, and processes of this program a smaller
    one.
    """
    write_lake(folder / "lake", tables)
    lake = scan_folder(
        folder / "lake",
        TableSelection(platform="file", env="PROD"),
        warn=print,
    )
    config = ProfileConfig(store=folder / "store")
    reader = session_for(lake, session, config)
    with timed() as cold:
        profiles = profile_local_batch(reader, lake, config)
    limits, warm = list[float](), list[float]()
    for _ in range(REPEATS):
        limits.append(_limit(lake))
        with timed() as again:
            repeated = profile_local_batch(reader, lake, config)
        warm += again
        assert repeated == profiles
        del repeated  # frees its memory now, not within the next measurement
    # Idle processes soon end.
    java, worker = peaks_below()
    few = lake[:RIVAL_TABLES]
    rival = median(_rival(few) / _limit(few) for _ in range(RIVAL_REPEATS))
    shares = [limit / seconds for limit, seconds in zip(limits, warm, strict=True)]
    Store(config).keep_profiles(profiles)
    with timed() as kept:
        held = Store(config).profiles(lake)
    assert [held[table.id] for table in lake] == profiles
    return Run(
        tables=tables,
        columns=sum(len(profile.columns) for profile in profiles),
        mebibytes=sum(table.size for table in lake) / MIB,
        limit=median(limits),
        cold=cold[0],
        warm=median(warm),
        shares=(min(shares), max(shares)),
        rival=rival,
        kept=kept[0],
        driver=peak_memory(),
        java=java,
        worker=worker,
    ), profiles


def peaks_below() -> tuple[float, float]:
    """Return the peak memory of Java and of the largest Python worker, in bytes.

    Spark keeps its workers for the next job, so their peaks can still be read after a job.
    """
    peaks: dict[bool, float] = {}
    for process in psutil.Process().children(recursive=True):
        # A process may end at any time.
        with suppress(FileNotFoundError, ProcessLookupError, psutil.NoSuchProcess):
            status = Path(f"/proc/{process.pid}/status").read_text("ascii").splitlines()
            for line in status:
                if line.startswith("VmHWM:"):
                    java = process.name() == "java"
                    peaks[java] = max(peaks.get(java, 0.0), float(line.split()[1]) * 1024)
    return peaks.get(True, 0.0), peaks.get(False, 0.0)


def _row(run: Run) -> list[str]:
    return [
        f"{run.tables:,}",
        f"{run.columns:,}",
        f"{run.mebibytes:,.0f}",
        f"{run.limit:.1f}",
        f"{run.cold:.1f}",
        f"{run.warm:.1f}",
        f"{run.limit / run.warm:.0%}",
        " to ".join(f"{share:.0%}" for share in run.shares),
        f"{run.rival:.1f}",
        f"{run.mebibytes / run.warm:,.0f}",
        f"{run.columns / run.warm:,.0f}",
        f"{run.kept / run.warm:.0%}",
        *(f"{peak / MIB:,.0f}" for peak in (run.driver, run.java, run.worker)),
    ]


HEADERS = (
    "tables",
    "columns",
    "MiB",
    "limit, s",
    "first, s",
    "profile, s",
    "of limit",
    "in a turn",
    "DuckDB / limit",
    "MiB/s",
    "columns/s",
    "unchanged",
    "driver, MiB",
    "Java, MiB",
    "worker, MiB",
)


def sketch_errors(profiles: Sequence[TableProfile]) -> dict[str, Sequence[float]]:
    """Compare sketch estimates with exact values, for random pairs of key columns.

    Sketches are small here, since no column of these lakes has more values than a sketch of the
    usual size keeps.
    """
    small = replace(ProfileConfig(), sketch_size=256)
    tables = [profile.table for profile in profiles]
    estimated = profile_local_batch(None, tables, small)
    exact = {column.id: column.distinct for table in profiles for column in table.columns}
    estimates = {column.id: column.distinct for table in estimated for column in table.columns}
    large = [column for column in exact if exact[column] > small.sketch_size]
    lake = Lake.from_tables(estimated)
    overlap = measure_overlap(lake)
    random = np.random.default_rng(0)
    sample = random.choice(len(overlap.left), min(PAIRS, len(overlap.left)), replace=False)
    pairs = [(lake.ids[overlap.left[at]], lake.ids[overlap.right[at]]) for at in sample]
    evidence = verify_joins(None, tables, pairs)
    return {
        "distinct values, relative": [
            abs(estimates[column] / exact[column] - 1) for column in large
        ],
        "containment": [
            abs(float(overlap.containment[at]) - evidence[pair].left_containment)
            for at, pair in zip(sample, pairs, strict=True)
        ],
    }


def main() -> None:
    """Run the benchmark, and print its tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, nargs="+", default=SIZES, help="sizes of lakes")
    sizes = parser.parse_args().tables
    runs: list[Run] = []
    errors: dict[str, Sequence[float]] = {}
    with lazy_session(SessionConfig()) as session:
        for tables in sizes:
            with tempfile.TemporaryDirectory() as folder:
                run, profiles = measure(session, Path(folder), tables)
                runs.append(run)
                print(tabulate([_row(run) for run in runs], HEADERS, disable_numparse=True), "\n")
                if not errors:
                    errors = sketch_errors(profiles)
    rows = [
        [name, len(values), *(f"{np.percentile(values, at):.3f}" for at in PERCENTILES)]
        for name, values in errors.items()
    ]
    headers = ["error of sketches of 256", "of", *(f"{at} %" for at in PERCENTILES)]
    print(tabulate(rows, headers, disable_numparse=True))


if __name__ == "__main__":
    main()
