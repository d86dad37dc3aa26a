"""Measure whole runs on growing lakes, and how the cost of each stage grows: `make bench-lake`.

Each lake is that of `area_lake`: Parquet files with 7 columns a table on average. It is ingested in
a process of its own, with the shipped model, and the joins are written to a file. A stage's
exponent is the slope of a line through the logarithms of columns and costs (least squares): 1 is
linear, 2 is quadratic.

Of the references that a lake was written with, the table tells the share in the file, and the share
that the file has as one-to-one: no value happens to repeat in the referring column.

Each stage's cost is printed to the standard error stream when the stage ends, so that it is known
also of a run that does not reach its end.

Processor seconds are those of all processes. The driver's memory is the peak during the stage; that
of workers is the peak of the largest one so far, seen once a second.
"""

import argparse
import json
import logging
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from pyarrow import parquet
from tabulate import tabulate

from benchmarks.area_lake import write_areas
from benchmarks.area_references import (
    published_references,
    written_references,
    written_relationships,
)
from benchmarks.bench_incremental import ingest
from benchmarks.bench_profile import MIB, peaks_below
from datahub_hyperjoin.evaluate.run import measured

SIZES = (1_000, 5_000, 20_000, 50_000)
_TOTAL = "all"
_LEAST_SECONDS = 0.5
"""Minimum seconds of a stage; shorter times are ignored when the stage's growth is computed."""


@dataclass(frozen=True)
class LakeCost:
    """The cost of ingesting one lake, and the references found."""

    tables: int
    columns: int
    mebibytes: float
    relationships: int
    """Number of join relationships in the file."""

    references: int
    """Number of references in the lake."""

    found: int
    """Number of the lake's references that the run wrote to the file of joins."""

    one_to_one: int
    """Number of the lake's references that the run wrote as joins one-to-one."""

    false: int
    """Number of references in the file that are not in the lake."""

    seconds: dict[str, float]
    """Processor seconds of each stage, and of all stages together."""

    driver: dict[str, float]
    """Peak memory of the driver in each stage, and in all stages together, in MiB."""

    java: float
    """Peak memory of Java in MiB; 0 if the run was too small for Spark."""

    worker: float
    """Peak memory of the largest Python worker, in MiB."""


def measure(folder: Path) -> LakeCost:
    """Ingest the lake of a folder in this process.

    Args:
        folder: Has the lake in its folder `lake`; receives the profile store and the joins.
    """
    files = sorted((folder / "lake").rglob("*.parquet"))
    driver: dict[str, float] = {}

    @contextmanager
    def observe(stage: str) -> Iterator[None]:
        with measured() as cost:
            yield
        driver[stage] = cost.megabytes

    def ended(stage: str, seconds: float) -> None:
        memory = f"{driver[stage]:,.0f} MiB, Java {peaks[0]:,.0f}, largest worker {peaks[1]:,.0f}"
        print(f"{stage}: {seconds:,.1f} CPU s, {memory}", file=sys.stderr, flush=True)

    with _watched_peaks() as peaks:
        seconds = ingest(folder, observe, ended)
    written, joins = written_references(folder / "lake"), folder / "joins.json"
    published = published_references(joins)
    return LakeCost(
        tables=len(files),
        columns=sum(len(parquet.read_schema(file)) for file in files),
        mebibytes=sum(file.stat().st_size for file in files) / MIB,
        relationships=sum(1 for _ in written_relationships(joins)),
        references=len(written),
        found=len(written & published),
        one_to_one=len(written & published_references(joins, "one-to-one")),
        false=len(published - written),
        seconds={**seconds, _TOTAL: sum(seconds.values())},
        driver={**driver, _TOTAL: max(driver.values())},
        java=peaks[0],
        worker=peaks[1],
    )


@contextmanager
def _watched_peaks() -> Iterator[list[float]]:
    """Within a `with` block, watch the peak memory of Java and of the largest worker, in MiB."""
    peaks, ended = [0.0, 0.0], threading.Event()

    def watch() -> None:
        while not ended.wait(1.0):
            peaks[:] = (max(both) for both in zip(peaks, map(_in_mib, peaks_below()), strict=True))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield peaks
    finally:
        ended.set()
        watcher.join()


def _in_mib(size: float) -> float:
    return size / MIB


def exponent(sizes: Sequence[float], costs: Sequence[float]) -> float:
    """Fit a power law of the sizes to the costs, and return its exponent.

    Args:
        sizes: At least two sizes of lakes.
        costs: The cost of each; positive.

    >>> round(exponent([1, 10, 100], [3, 300, 30_000]), 6)
    2.0
    """
    return float(np.polyfit(np.log(sizes), np.log(costs), 1)[0])


def measure_in_process(tables: int, parent: Path | None) -> LakeCost:
    """Write a lake, and ingest it in a new process.

    Args:
        tables: Number of tables.
        parent: Where to write the lake, which is deleted afterwards; None for the usual place of
            temporary files.
    """
    folder = Path(tempfile.mkdtemp(dir=parent))
    try:
        write_areas(folder / "lake", tables)
        command = [sys.executable, "-m", "benchmarks.bench_lake", "--ingest", str(folder)]
        output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
        return LakeCost(**json.loads(output.splitlines()[-1]))
    finally:
        shutil.rmtree(folder)


def _rows(costs: Sequence[LakeCost]) -> Iterator[list[str]]:
    columns = [cost.columns for cost in costs]
    yield ["tables", *(f"{cost.tables:,}" for cost in costs)]
    yield ["MiB of files", *(f"{cost.mebibytes:,.0f}" for cost in costs)]
    yield ["relationships", *(f"{cost.relationships:,}" for cost in costs)]
    yield ["references", *(f"{cost.references:,}" for cost in costs)]
    yield ["references found", *(f"{cost.found / cost.references:.1%}" for cost in costs)]
    yield ["one-to-one", *(f"{cost.one_to_one / cost.references:.1%}" for cost in costs)]
    yield ["false references", *(f"{cost.false:,}" for cost in costs)]
    for stage in costs[-1].seconds:
        seconds = [cost.seconds.get(stage, 0.0) for cost in costs]
        row = [f"{stage}, CPU s", *(f"{each:,.1f}" for each in seconds)]
        long = [at for at, each in enumerate(seconds) if each >= _LEAST_SECONDS]
        if len(long) > 1:
            row.append(
                f"{exponent([columns[at] for at in long], [seconds[at] for at in long]):.2f}"
            )
        yield row
    for stage in costs[-1].driver:
        yield [f"{stage}, MiB", *(f"{cost.driver.get(stage, 0.0):,.0f}" for cost in costs)]
    yield ["Java, MiB", *(f"{cost.java:,.0f}" for cost in costs)]
    yield ["worker, MiB", *(f"{cost.worker:,.0f}" for cost in costs)]


def main() -> None:
    """Measure one lake after another, and print all results so far after each lake."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, nargs="+", default=SIZES, help="sizes of lakes")
    parser.add_argument("--folder", type=Path, help="where to write the lakes")
    parser.add_argument("--ingest", type=Path, help="only ingest this folder's lake")
    options = parser.parse_args()
    if options.ingest:
        # The run logs its estimate of memory and time, to be compared with what is measured.
        logging.basicConfig(format="%(message)s")
        logging.getLogger("datahub.hyperjoin").setLevel(logging.INFO)
        print(json.dumps(asdict(measure(options.ingest))))
        return
    costs: list[LakeCost] = []
    for tables in options.tables:
        costs.append(measure_in_process(tables, options.folder))
        headers = ["", *(f"{cost.columns:,} columns" for cost in costs), "exponent"]
        print(tabulate(_rows(costs), headers, disable_numparse=True), "\n", flush=True)


if __name__ == "__main__":
    main()
