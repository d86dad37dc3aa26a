"""Compare the CPU time of reading tables through a Spark catalog and from a folder of files.

Run it from a checkout: `PYTHONPATH=tests python -m benchmarks.bench_catalog`.

The tables are those of `bench_profile`, as Parquet files, one for each table. CPU seconds are those
of all processes: the driver, Java and the workers. They include the listing of the tables. Each way
runs in the same session after a first run of its own, because Java is slow until it has compiled
frequent code.
"""

import argparse
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from time import perf_counter

import psutil
import pyarrow.csv
import pyarrow.parquet as pq
from pyspark.sql import SparkSession
from tabulate import tabulate

from benchmarks.bench_profile import write_lake
from datahub_hyperjoin.catalog.config import ConnectionConfig
from datahub_hyperjoin.catalog.folders import scan_folder
from datahub_hyperjoin.catalog.spark_tables import scan_spark_catalog
from datahub_hyperjoin.catalog.table_selection import TableSelection
from datahub_hyperjoin.locations import CatalogTable, SparkCatalog
from datahub_hyperjoin.spark.config import ProfileConfig, SessionConfig
from datahub_hyperjoin.spark.profiles.profile import profile_lake
from datahub_hyperjoin.spark.session import borrow_session
from datahub_hyperjoin.tables import Table, TableProfile

_SCHEMA = "bench"
_REPEATS = 3


def cpu_seconds() -> float:
    """Return the CPU seconds that this process and its descendants have used so far."""
    processes = [psutil.Process(), *psutil.Process().children(recursive=True)]
    # Those that have ended count among the children of those that started them.
    return sum(sum(process.cpu_times()[:4]) for process in processes)


def _write(session: SparkSession, folder: Path, tables: int) -> None:
    """Write each table as a file in a folder of its own, and register it in the catalog."""
    write_lake(folder / "csv", tables)
    session.sql(f"CREATE DATABASE {_SCHEMA}")
    for file in sorted((folder / "csv").rglob("*.csv")):
        path = folder / "lake" / file.stem / "part-0.parquet"
        path.parent.mkdir(parents=True)
        pq.write_table(pyarrow.csv.read_csv(file), path)
        session.sql(f"CREATE TABLE {_SCHEMA}.{file.stem} USING parquet LOCATION '{path.parent}'")


def _scan_catalog(session: SparkSession) -> list[Table]:
    config = {"spark_catalog": "spark_catalog", "schemas": {"allow": [f"^{_SCHEMA}$"]}}
    connection = ConnectionConfig.model_validate(config)
    assert isinstance(connection.source, SparkCatalog)
    return scan_spark_catalog(session, "connections[0]", connection.source, connection.selection)


def _left_to_spark(table: Table) -> Table:
    assert isinstance(table.location, CatalogTable)
    return replace(table, location=replace(table.location, files=None))


def _measure(
    session: SparkSession, scan: Callable[[], Sequence[Table]], repeats: int
) -> tuple[float, float, list[TableProfile]]:
    """List and profile tables repeatedly; return median CPU and wall seconds, and the profiles."""
    took, profiles = list[tuple[float, float]](), list[TableProfile]()
    for _ in range(repeats):
        before, started = cpu_seconds(), perf_counter()
        profiles = profile_lake(session, scan(), ProfileConfig())
        took.append((cpu_seconds() - before, perf_counter() - started))
    cpu, wall = (median(each) for each in zip(*took, strict=True))
    return cpu, wall, profiles


def _contents(profiles: Sequence[TableProfile]) -> dict[str, list[object]]:
    """Return the parts of profiles that must not depend on how the tables were read."""
    return {
        profile.table.title: [
            (column.id.path, column.type, column.nulls, column.sketch, column.sample)
            for column in profile.columns
        ]
        for profile in profiles
    }


def main() -> None:
    """Run the benchmark, and print its table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, nargs="+", default=(40, 250), help="sizes of lakes")
    rows = []
    for tables in parser.parse_args().tables:
        with tempfile.TemporaryDirectory() as folder:
            settings = {"spark.sql.warehouse.dir": f"{folder}/warehouse"}
            with borrow_session(SessionConfig(settings=settings)) as session:
                rows.append((tables, *_row(session, Path(folder), tables)))
        print(tabulate(rows, _HEADERS, floatfmt=".1f"), "\n")


def _row(session: SparkSession, folder: Path, tables: int) -> list[float | str]:
    _write(session, folder, tables)
    selection = TableSelection(platform="file", env="PROD")
    ways: dict[str, Callable[[], Sequence[Table]]] = {
        "files": lambda: scan_folder(folder / "lake", selection, warn=print),
        "catalog": lambda: _scan_catalog(session),
        "by Spark": lambda: [*map(_left_to_spark, _scan_catalog(session))],
    }
    found = {}
    for name, scan in ways.items():
        is_slow = name == "by Spark"
        if not is_slow:
            profile_lake(session, scan(), ProfileConfig())
        found[name] = _measure(session, scan, 1 if is_slow else _REPEATS)
    contents = [_contents(profiles) for *_, profiles in found.values()]
    assert contents[0] == contents[1] == contents[2]
    cpus = [cpu for cpu, *_ in found.values()]
    walls = [wall for _, wall, _ in found.values()]
    return [*cpus, *walls, f"{cpus[1] / cpus[0]:.1f}", f"{cpus[2] / cpus[0]:.1f}"]


_HEADERS = (
    "tables",
    *(f"{way}, {unit}" for unit in ("CPU s", "s") for way in ("files", "catalog", "by Spark")),
    "catalog / files",
    "by Spark / files",
)


if __name__ == "__main__":
    main()
