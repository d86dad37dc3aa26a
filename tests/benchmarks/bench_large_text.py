"""Measure the time to verify joins of a large CSV file, read in ranges and in one piece.

Run it from a checkout: `PYTHONPATH=tests python -m benchmarks.bench_large_text`.

The file has a key, a foreign key, an amount and a quoted text, of which some have line breaks. Both
ways run in the same session and in turn. Before, each has read a small file, because Java is slow
until it has compiled frequent code.
"""

import argparse
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter

import numpy as np
import pyarrow as pa
import pyarrow.csv
from pyspark.sql import SparkSession
from tabulate import tabulate

from benchmarks.bench_catalog import cpu_seconds
from datahub_hyperjoin.joins import Evidence
from datahub_hyperjoin.locations import File
from datahub_hyperjoin.spark.config import ProfileConfig, SessionConfig
from datahub_hyperjoin.spark.session import borrow_session
from datahub_hyperjoin.spark.verification.verify import ColumnKinds, verify_joins
from datahub_hyperjoin.tables import ColumnId, Pair, Table, TableId

_WAYS = {
    "in one piece": ProfileConfig(split_bytes=1 << 50),
    "in ranges": ProfileConfig(split_bytes=1),
}
_ROWS = 1 << 17
"""Number of rows that are generated at a time."""


def write_orders(path: Path, size: int) -> None:
    """Write a CSV file.

    Args:
        path: Path of the file.
        size: Bytes after which it ends.
    """
    random, start = np.random.default_rng(0), 0
    with path.open("wb") as file:
        while file.tell() < size:
            texts = [f'{at} boxes,{chr(10) * (at % 4 == 0)} "fragile"' for at in range(1000)]
            batch = pa.record_batch(
                {
                    "order": np.arange(start, start + _ROWS),
                    "customer": random.integers(100_000, size=_ROWS),
                    "amount": random.integers(10_000, size=_ROWS) / 100,
                    "note": np.array(texts)[random.integers(1000, size=_ROWS)],
                }
            )
            options = pyarrow.csv.WriteOptions(include_header=not start)
            pyarrow.csv.write_csv(batch, file, options)
            start += _ROWS


def _verify(session: SparkSession, path: Path, config: ProfileConfig) -> dict[Pair, Evidence]:
    location = File(uri=str(path), format="csv")
    table = Table(
        id=TableId("file", path.stem), title=path.stem, location=location, size=path.stat().st_size
    )
    order, customer, note = (ColumnId(table.id, name) for name in ("order", "customer", "note"))
    kinds = ColumnKinds(texts=frozenset({note}))
    pairs = [(customer, order), (note, order)]
    return verify_joins(session, [table], pairs, kinds=kinds, config=config)


def main() -> None:
    """Run the benchmark, and print its table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mib", type=int, default=400, help="size of the file")
    parser.add_argument("--turns", type=int, default=3, help="number of measurements")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, borrow_session(SessionConfig()) as session:
        small, large = Path(folder, "small.csv"), Path(folder, "large.csv")
        write_orders(small, 1)
        write_orders(large, options.mib << 20)
        walls, cpus = ({way: list[float]() for way in _WAYS} for _ in range(2))
        for config in _WAYS.values():
            _verify(session, small, config)
        for _ in range(options.turns):
            found = []
            for way, config in _WAYS.items():
                cpu, started = cpu_seconds(), perf_counter()
                found.append(_verify(session, large, config))
                walls[way].append(perf_counter() - started)
                cpus[way].append(cpu_seconds() - cpu)
            assert found[0] == found[1]
    rows = [(way, median(walls[way]), min(walls[way]), median(cpus[way])) for way in _WAYS]
    print(tabulate(rows, ("read", "wall s, median", "wall s, least", "CPU s"), floatfmt=".1f"))
    whole, ranges = walls.values()
    ratios = [b / a for a, b in zip(whole, ranges, strict=True)]
    print("wall time in ranges / in one piece, by turn:", *(f"{ratio:.2f}" for ratio in ratios))


if __name__ == "__main__":
    main()
