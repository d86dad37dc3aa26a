"""Measure the time and memory of comparing and ranking the columns of very large lakes.

Run it from a checkout: `PYTHONPATH=tests python -m benchmarks.bench_columns --tables 15000 50000`.
The lakes are the synthetic profiles of `bench_overlap`, seven columns a table. Each size runs in a
process of its own, without files, verification and writing, so that it shows what one process
needs for more columns than a benchmark can read.

Those profiles are unkinder than any lake: all columns are unique, so that each is a key, and
every table may be a crosswalk. With `--areas`, the lakes are those of `area_lake`, which resemble
those of companies; their tables are profiled in memory first.

The peak of a stage is the memory of the process in this stage, with the profiles. The seconds of
the search are a part of those with ranking.
"""

import argparse
import multiprocessing
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from time import process_time
from unittest import mock

from tabulate import tabulate

from benchmarks.area_profiles import profile_areas
from benchmarks.bench_overlap import make_profiles
from datahub_hyperjoin.catalog_facts import CatalogFacts
from datahub_hyperjoin.evaluate.run import measured
from datahub_hyperjoin.model.config import ModelConfig
from datahub_hyperjoin.model.encode import encode
from datahub_hyperjoin.model.hypergraph.lake_index import build_lake_index
from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.ranking import rank as ranking
from datahub_hyperjoin.model.ranking.candidates import find_candidates

SIZES = (15_000, 50_000)


class Stages:
    """The processor seconds and the peak memory in MiB of each stage, in their order."""

    def __init__(self) -> None:
        self.costs: dict[str, tuple[float, float]] = {}

    @contextmanager
    def measure(self, name: str) -> Iterator[None]:
        """Measure a stage, and print its cost, which is known of a run without an end, too."""
        began = process_time()
        with measured() as cost:
            yield
        seconds = process_time() - began
        self.costs[name] = seconds, cost.megabytes
        print(f"{name}: {seconds:,.1f} CPU s, {cost.megabytes:,.0f} MiB", file=sys.stderr)


def measure(tables: int, *, areas: bool = False) -> dict[str, tuple[float, float]]:
    """Compare and rank the columns of a synthetic lake.

    Returns:
        The processor seconds and the peak memory of each stage.
    """
    stages, config = Stages(), ModelConfig()
    with stages.measure("making the profiles"):
        lake = Lake.from_tables([*profile_areas(tables)] if areas else make_profiles(tables))
    with stages.measure("overlap"):
        index = build_lake_index(lake, config, CatalogFacts())
    encoding = encode(index, config, lambda _: None)

    search = stages.measure("search")(find_candidates)
    with mock.patch.object(ranking, "find_candidates", search), stages.measure("with ranking"):
        suggestions = sum(1 for _ in ranking.rank(index, encoding.embeddings, config))
    print(
        f"{len(lake):,} columns, {len(index.keys):,} of them keys, {len(index.overlap.left):,} "
        f"pairs, {suggestions:,} suggestions",
        file=sys.stderr,
    )
    return stages.costs


def main() -> None:
    """Run the benchmark, and print a table for each size of lake."""
    parser = argparse.ArgumentParser(prog="benchmarks.bench_columns", description=__doc__)
    parser.add_argument("--tables", type=int, nargs="+", default=SIZES, help="sizes of lakes")
    parser.add_argument("--areas", action="store_true", help="lakes of `area_lake`")
    options = parser.parse_args()
    for tables in options.tables:
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process:
            costs = process.submit(measure, tables, areas=options.areas).result()
        rows = [(name, *cost) for name, cost in costs.items()]
        headers = [f"{tables:,} tables", "CPU s", "peak, MiB"]
        print(tabulate(rows, headers, floatfmt=",.0f"), "\n", flush=True)


if __name__ == "__main__":
    main()
