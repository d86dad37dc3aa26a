"""Measure the cost of later runs as a share of the first run's: `make bench-incremental`.

Each run is a whole ingestion in its own process: it reads, profiles, ranks and verifies a lake, and
writes the joins to a file. The first run finds an empty profile store. Before the second, rows
are removed from a few tables. Before the third, nothing changes. Before the last, all files are
written again with the same content, as exports often do.

The cost is processor time, of the process and of all that it starts, such as Java and its workers.
Compare machines by the shares of the first run.
"""

import argparse
import compileall
import json
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from time import process_time
from unittest import mock

import psutil
from datahub.ingestion.run.pipeline import Pipeline
from tabulate import tabulate

import datahub_hyperjoin
from datahub_hyperjoin import model, spark
from datahub_hyperjoin.report import HyperJoinReport

SIZES = (250, 500)
_REST = "imports, start and end"


def main() -> None:
    """Run the benchmark, and print a table for each size of lake."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, nargs="+", default=SIZES, help="sizes of lakes")
    parser.add_argument("--scale", type=int, default=1, help="times the usual number of rows")
    parser.add_argument("--changed", type=int, default=3, help="tables that change")
    parser.add_argument("--ingest", type=Path, help="only ingest this folder's lake")
    options = parser.parse_args()
    if options.ingest:
        print(json.dumps(ingest(options.ingest)))
        return
    # As pip does when it installs the package, which may be imported from its sources here.
    for module in (datahub_hyperjoin, model, spark):
        compileall.compile_dir(Path(module.__path__[0]).resolve(), quiet=1)
    # It imports torch, which a run of its own imports only if it ranks.
    from benchmarks.bench_profile import write_lake  # noqa: PLC0415

    for tables in options.tables:
        with tempfile.TemporaryDirectory() as folder:
            write_lake(Path(folder, "lake"), tables, scale=options.scale)
            first = run(Path(folder))
            change(Path(folder, "lake"), options.changed)
            runs = [first, run(Path(folder)), run(Path(folder))]
            write_again(Path(folder, "lake"))
            runs.append(run(Path(folder)))
        headers = ["stage", "first run, s", f"{options.changed} of {tables} changed, s", "share"]
        headers += ["nothing changed, s", "share", "written again, s", "share"]
        print(tabulate(_rows(*runs), headers, floatfmt=".1f"), "\n", flush=True)


def change(lake: Path, tables: int) -> None:
    """Remove the last tenth of the rows from each of the first `tables` tables.

    The first of these tables is long.
    """
    for at in range(tables):
        [file] = lake.rglob(f"t{at}.csv")
        lines = file.read_text("utf-8").splitlines(keepends=True)
        file.write_text("".join(lines[: -len(lines) // 10]), "utf-8")


def write_again(lake: Path) -> None:
    """Write each file again, with the same content."""
    for file in lake.rglob("*.csv"):
        file.write_bytes(file.read_bytes())


def run(folder: Path) -> dict[str, float]:
    """Ingest the lake of a folder in a new process, and measure each stage's processor time."""
    command = [sys.executable, "-m", "benchmarks.bench_incremental", "--ingest", str(folder)]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    costs: dict[str, float] = json.loads(output.splitlines()[-1])
    return {**costs, "total": sum(costs.values())}


def ingest(
    folder: Path,
    observe: Callable[[str], AbstractContextManager[object]] = nullcontext,
    ended: Callable[[str, float], object] = lambda _stage, _seconds: None,
) -> dict[str, float]:
    """Ingest the lake of a folder in this process, and measure each stage's processor time.

    Args:
        folder: Has the lake in its folder `lake`; receives the profile store and the joins.
        observe: Called with the name of each stage, for a context in which the stage runs.
        ended: Called with the name and the seconds of each stage when it has ended.
    """
    costs: dict[str, float] = defaultdict(float)

    @contextmanager
    def stage(_: HyperJoinReport, name: str) -> Iterator[None]:
        started, here = _processor_time(), process_time()
        with observe(name):
            yield
        own = process_time() - here
        # The time of a worker that ends counted when it worked, but is no longer in the sum.
        costs[name] += max(own, _processor_time() - started)
        costs[_REST] -= own
        ended(name, costs[name])

    source = {
        "catalog": {"folder": str(folder / "lake")},
        "profile": {"store": str(folder / "store")},
        # What a large lake needs is measured, also if the run's estimate would stop it.
        "model": {"max_memory": 1 << 30},
    }
    pipeline = Pipeline.create(
        {
            "source": {"type": "hyperjoin", "config": source},
            "sink": {
                "type": "benchmarks.streaming_sink.StreamingFileSink",
                "config": {"filename": str(folder / "joins.json")},
            },
        }
    )
    with mock.patch.object(HyperJoinReport, "stage", stage):
        pipeline.run()
    pipeline.raise_from_status()
    costs[_REST] += process_time()
    return costs


def _processor_time() -> float:
    this = psutil.Process()
    return sum(sum(process.cpu_times()[:4]) for process in [this, *this.children(recursive=True)])


def _rows(*runs: dict[str, float]) -> Iterator[tuple[str | float, ...]]:
    first, *later = runs
    for stage, cost in first.items():
        # If nothing has changed, most stages are left out.
        own = [run.get(stage, 0.0) for run in later]
        # On small lakes a stage may round to 0 seconds.
        shares = [f"{seconds / cost:.0%}" if cost else "-" for seconds in own]
        yield stage, cost, *(cell for pair in zip(own, shares, strict=True) for cell in pair)


if __name__ == "__main__":
    main()
