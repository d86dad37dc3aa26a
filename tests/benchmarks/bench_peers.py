"""Compare the processor time of whole runs with that of polars and DuckDB: `make bench-peers`.

A peer does in an afternoon's code what nearly everyone would write first: it counts the distinct
values of each column and, for each key, how many values of every column are among them. It looks
neither at normal forms nor at names, roles or composite keys, and lists whatever holds 80 %.

Programs take turns on each lake, in processes of their own with one thread a library. Processor
seconds are those of the process and of all that it starts, Java included, also of processes that
outlive it. A table has the median of the turns, and the ratio to polars in the same turn.
"""

import argparse
import csv
import ctypes
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from tabulate import tabulate

from benchmarks.bench_tpch import write_database
from benchmarks.peers import PEERS

_SUBREAPER = 36
"""The option of `prctl` by which orphans become children of this process."""
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "POLARS_MAX_THREADS", "ARROW_NUM_THREADS")
_PEER = (sys.executable, "-m", "benchmarks.peers")
_HYPERJOIN = str(Path(sys.executable).with_name("hyperjoin"))


def adopt_orphans() -> None:
    """Let processes whose parent has ended become children of this one."""
    ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)


def cpu_seconds(command: Sequence[str]) -> float:
    """Run a command, and return the processor seconds of all processes that it starts."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    threads = dict.fromkeys(_THREADS, "1")
    program = subprocess.Popen(
        command, env={**os.environ, **threads}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    if program.wait():
        raise subprocess.CalledProcessError(program.returncode, command)
    # Processes that outlive the program end within seconds, and count, too.
    while _has_children():
        time.sleep(0.1)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _has_children() -> bool:
    try:
        os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return False
    return True


def two_tables(folder: Path) -> None:
    """Write two tiny tables."""
    for name, header, rows in (
        ("customers", ("id", "name"), [(at, f"c{at}") for at in range(20)]),
        ("orders", ("order_id", "customer_id"), [(100 + at, at % 20) for at in range(50)]),
    ):
        with (folder / f"{name}.csv").open("w", newline="") as file:
            csv.writer(file).writerows([header, *rows])


def tpch(kind: str, scale: int) -> Callable[[Path], None]:
    """Return the function that writes the tables of TPC-H."""
    return lambda folder: write_database(folder, scale, kind)


def measure(folder: Path, *, turns: int) -> list[list[object]]:
    """Let the programs take turns on a lake, and return the rows of the table."""
    out = folder.with_name(f"{folder.name}_out")
    commands = {
        "hyperjoin find": [_HYPERJOIN, "find", str(folder)],
        "hyperjoin find --out": [_HYPERJOIN, "find", str(folder), "--out", str(out)],
        **{f"{name}, exact containment": [*_PEER, name, str(folder)] for name in PEERS},
    }
    seconds = [{name: cpu_seconds(each) for name, each in commands.items()} for _ in range(turns)]
    base = next(name for name in commands if name.startswith("polars"))
    return [
        [name, _median(turn[name] for turn in seconds), _median(t[name] / t[base] for t in seconds)]
        for name in commands
    ]


def _median(values: Iterable[float]) -> str:
    return f"{statistics.median(values):.1f}"


def main() -> None:
    """Measure each lake, and print a table for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=3, help="how often each program runs")
    parser.add_argument("--scale", type=int, default=1, help="scale factor of TPC-H")
    parser.add_argument("--lakes", nargs="*", default=[], help="folders to search, too")
    options = parser.parse_args()
    adopt_orphans()
    written = {
        "two tiny tables": two_tables,
        f"TPC-H {options.scale}, Parquet": tpch("parquet", options.scale),
        f"TPC-H {options.scale}, CSV": tpch("csv", options.scale),
    }
    for lake in map(Path, options.lakes):
        _print(lake.name, measure(lake, turns=options.turns))
    for name, write in written.items():
        with tempfile.TemporaryDirectory() as parent:
            folder = Path(parent, "lake")
            folder.mkdir()
            write(folder)
            _print(name, measure(folder, turns=options.turns))


def _print(lake: str, rows: Sequence[Sequence[object]]) -> None:
    print(f"{lake}\n{tabulate(rows, ['program', 'CPU s', 'of polars'], disable_numparse=True)}\n")


if __name__ == "__main__":
    main()
