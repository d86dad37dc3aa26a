"""Measure the processor time and memory of whole runs on three lakes: `make bench-costs`.

Each lake is that of `bench_profile`, with 7 columns a table; `--lakes` names folders of tables to
search instead. Each lake is searched in a process of its own, as `hyperjoin find` does. The run's
own estimate, made after profiling, stands beside what was measured.

Processor seconds are those of the process and of all that it starts: processes that read tables,
Java, and Spark's workers. A run that was held up by others takes longer, but hardly more of them.
"""

import argparse
import multiprocessing
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import psutil
from tabulate import tabulate

from benchmarks.bench_profile import MIB, peaks_below, write_lake
from datahub_hyperjoin.discovery.progress import RunProgress
from datahub_hyperjoin.discovery.run import run_discovery
from datahub_hyperjoin.evaluate.run import peak_memory
from datahub_hyperjoin.model.config import ModelConfig
from datahub_hyperjoin.spark.processes import end_processes

SIZES = (143, 1_429, 3_572)
"""Numbers of tables in the lakes, which have about 1,000, 10,000 and 25,000 columns."""


def cpu_seconds() -> float:
    """Return the processor seconds of this process and its descendants, running or finished."""
    process = psutil.Process()
    times = [each.cpu_times() for each in (process, *process.children(recursive=True))]
    return sum(
        each.user + each.system + each.children_user + each.children_system for each in times
    )


@dataclass
class MeasuredProgress(RunProgress):
    """The progress of a run, with the processor time of each stage."""

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

    estimate: dict[str, int]
    """The run's estimate of its own memory in MiB and of the seconds of the stages after profiling.
    """

    total: float
    """Processor seconds of the whole run, with imports and without writing the lake."""

    memory: float
    """Peak memory of this process in MiB."""

    java: float
    """Peak memory of Java in MiB; 0 if the run was too small for Spark."""

    @property
    def estimated_part(self) -> float:
        """Processor seconds of all stages after profiling, which a run's estimate covers."""
        stages = list(self.seconds)
        return sum(self.seconds[name] for name in stages[stages.index("Profiling tables") + 1 :])


def measure(tables: int) -> Cost:
    """Write a lake, and search it."""
    with tempfile.TemporaryDirectory() as folder:
        before = cpu_seconds()
        write_lake(Path(folder), tables)
        return measure_folder(folder, cpu_seconds() - before)


def measure_folder(folder: str, writing: float = 0.0) -> Cost:
    """Search a lake, and return the cost without the `writing` seconds spent on making the lake."""
    progress = MeasuredProgress()
    found = run_discovery([folder], progress, sql=None, model=ModelConfig(max_memory=1 << 30))
    java, _ = peaks_below()
    counts = progress.counts
    cost = Cost(
        counts={
            "columns": counts["columns_profiled"],
            "key columns": counts["key_columns"],
            "expected pairs": counts["expected_pairs"],
            "joins": len(found),
        },
        mebibytes=sum(each.table.size for each in found.findings.profiles) / MIB,
        seconds=dict(progress.seconds),
        estimate={
            "memory, MiB": counts["estimated_memory_mib"],
            "after profiling, CPU s": counts["estimated_cpu_seconds"],
        },
        total=cpu_seconds() - writing,
        memory=peak_memory() / MIB,
        java=java / MIB,
    )
    # Idle processes would keep a process of `in_own_process` from ending for half a minute.
    end_processes()
    return cost


def in_own_process(task: Callable[[], Cost]) -> Cost:
    """Measure in a new process, which has neither memory nor Java of what ran before."""
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=spawn) as pool:
        return pool.submit(task).result()


def _rows(costs: Sequence[Cost]) -> Iterator[list[str]]:
    for name in costs[0].counts:
        yield [name, *(f"{cost.counts[name]:,}" for cost in costs)]
    yield ["MiB of files", *(f"{cost.mebibytes:,.0f}" for cost in costs)]
    for stage in costs[0].seconds:
        yield [f"{stage}, CPU s", *(f"{cost.seconds[stage]:,.1f}" for cost in costs)]
    yield ["after profiling, CPU s", *(f"{cost.estimated_part:,.0f}" for cost in costs)]
    yield ["all, with imports, CPU s", *(f"{cost.total:,.0f}" for cost in costs)]
    per_column = (1000 * cost.total / cost.counts["columns"] for cost in costs)
    yield ["CPU ms a column", *(f"{each:,.1f}" for each in per_column)]
    yield ["memory, MiB", *(f"{cost.memory:,.0f}" for cost in costs)]
    yield ["Java, MiB", *(f"{cost.java:,.0f}" for cost in costs)]
    for name in costs[0].estimate:
        yield [f"estimated {name}", *(f"{cost.estimate[name]:,}" for cost in costs)]


def main() -> None:
    """Measure one lake after another, and print all results so far after each lake."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, nargs="+", default=SIZES, help="sizes of lakes")
    parser.add_argument("--lakes", nargs="+", default=(), help="folders of tables instead")
    chosen = parser.parse_args()
    lakes = [partial(measure_folder, folder) for folder in chosen.lakes]
    costs: list[Cost] = []
    for task in lakes or [partial(measure, tables) for tables in chosen.tables]:
        costs.append(in_own_process(task))
        headers = ["", *(f"{cost.counts['columns']:,} columns" for cost in costs)]
        print(tabulate(_rows(costs), headers, disable_numparse=True), "\n", flush=True)


if __name__ == "__main__":
    main()
