"""Measure the processor time and memory of whole runs on three lakes: `make bench-costs`.

Each lake is that of `bench_profile`, with 7 columns a table. Each size is searched in a process of
its own, as `hyperjoin find` does. Processor seconds are those of the process and of all that it
starts: processes that read tables, Java, and Spark's workers. A run that was held up by others
takes longer, but hardly more of them.
"""

import argparse
import multiprocessing
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psutil
from tabulate import tabulate

from benchmarks.bench_profile import MIB, peaks_below, write_lake
from datahub_hyperjoin.discovery.progress import RunProgress
from datahub_hyperjoin.discovery.run import run_discovery
from datahub_hyperjoin.evaluate.cost import peak_memory

SIZES = (143, 1_429, 3_572)
"""Tables, for about 1,000, 10,000 and 25,000 columns."""


def cpu_seconds() -> float:
    """Return the processor seconds of this process and all processes below it, also ended ones."""
    process = psutil.Process()
    times = [each.cpu_times() for each in (process, *process.children(recursive=True))]
    return sum(
        each.user + each.system + each.children_user + each.children_system for each in times
    )


@dataclass
class MeasuredProgress(RunProgress):
    """Measures the processor time of each stage."""

    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Measure one stage."""
        before = cpu_seconds()
        yield
        self.seconds[name] = cpu_seconds() - before


@dataclass(frozen=True)
class Cost:
    """The cost of one run."""

    counts: dict[str, int]
    mebibytes: float
    seconds: dict[str, float]
    """Processor seconds of each stage."""

    total: float
    """Those of the whole run, with imports and without writing the lake."""

    memory: float
    """Peak memory of this process in MiB."""

    java: float
    """That of Java, if the run was large enough for Spark."""


def measure(tables: int) -> Cost:
    """Search one lake."""
    with tempfile.TemporaryDirectory() as folder:
        before = cpu_seconds()
        write_lake(Path(folder), tables)
        writing = cpu_seconds() - before
        progress = MeasuredProgress()
        found = run_discovery([folder], progress, sql=False)
        assert not found.not_read
        java, _ = peaks_below()
        return Cost(
            counts={
                "columns": progress.counts["columns_profiled"],
                "key columns": progress.counts["key_columns"],
                "joins": len(found),
            },
            mebibytes=sum(each.table.size for each in found.findings.profiles) / MIB,
            seconds=dict(progress.seconds),
            total=cpu_seconds() - writing,
            memory=peak_memory() / MIB,
            java=java / MIB,
        )


def _rows(costs: Sequence[Cost]) -> Iterator[list[str]]:
    for name in costs[0].counts:
        yield [name, *(f"{cost.counts[name]:,}" for cost in costs)]
    yield ["MiB of files", *(f"{cost.mebibytes:,.0f}" for cost in costs)]
    for stage in costs[0].seconds:
        yield [f"{stage}, CPU s", *(f"{cost.seconds[stage]:,.1f}" for cost in costs)]
    yield ["all, with imports, CPU s", *(f"{cost.total:,.0f}" for cost in costs)]
    yield [
        "CPU ms a column",
        *(f"{1000 * cost.total / cost.counts['columns']:,.1f}" for cost in costs),
    ]
    yield ["memory, MiB", *(f"{cost.memory:,.0f}" for cost in costs)]
    yield ["Java, MiB", *(f"{cost.java:,.0f}" for cost in costs)]


def main() -> None:
    """Measure, and print a table that grows with each size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, nargs="+", default=SIZES, help="sizes of lakes")
    costs: list[Cost] = []
    for tables in parser.parse_args().tables:
        spawn = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(1, mp_context=spawn) as pool:
            costs.append(pool.submit(measure, tables).result())
        headers = ["", *(f"{cost.counts['columns']:,} columns" for cost in costs)]
        print(tabulate(_rows(costs), headers, disable_numparse=True), "\n", flush=True)


if __name__ == "__main__":
    main()
