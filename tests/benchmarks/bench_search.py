"""Measure what the approximate search for similar cells finds, against the exact search.

Run it from a checkout: `PYTHONPATH=tests python -m benchmarks.bench_search --lakes FOLDER...`. The
tables of all folders make one lake. With `--copies N`, it has N variants of each table, whose
columns keep half of their sampled cells, drawn anew, so that few labelled lakes make a large one.

The recall is the share of the 50 columns of the exact search that the approximate search finds.
Vectors are random projections, whose cosines are wrong by about 0.03; where hundreds of columns are
equally similar, the error decides which of them are the nearest 50, in the exact search, too. So
`within 0.03` compares the cosines of both searches at each rank, and counts the ranks at which the
approximate search loses no more than 0.03.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from time import process_time
from unittest import mock

import numpy as np
from tabulate import tabulate

from datahub_hyperjoin.catalog_facts import CatalogFacts
from datahub_hyperjoin.discovery.inputs import list_sources
from datahub_hyperjoin.discovery.progress import RunProgress
from datahub_hyperjoin.model.config import ModelConfig
from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.ranking import nearest
from datahub_hyperjoin.model.ranking.nearest import ColumnIndex
from datahub_hyperjoin.model.signals.cells import CellSimilarity
from datahub_hyperjoin.model.signals.keys import find_keys
from datahub_hyperjoin.model.signals.priors import CatalogPriors
from datahub_hyperjoin.model.signals.stored_vectors import StoredVectors
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.stages.profiling import read_profiles
from datahub_hyperjoin.temporary import temporary_folder

NEAREST, QUERIES, TOLERANCE = 50, 2_000, 0.03


def read_lake(folders: Sequence[str]) -> Lake:
    """Profile the tables of all folders, without Spark."""
    progress = RunProgress()
    with temporary_folder() as copies:
        tables = list_sources(folders, Path(copies), progress)
        return Lake.from_tables(read_profiles(tables, lambda: None, ProfileConfig(), progress))


def samples(lake: Lake, copies: int) -> list[Sequence[str]]:
    """Return the sampled cells of each column; of several copies, a random half of them each."""
    if copies == 1:
        return [profile.sample for profile in lake.profiles]
    random, cells = np.random.default_rng(0), [profile.sample for profile in lake.profiles]
    return [
        tuple(random.permutation(each)[: -(-len(each) // 2)].tolist())
        for _ in range(copies)
        for each in cells
    ]


def search(
    vectors: StoredVectors, tables: np.ndarray, columns: np.ndarray, most_exact: int
) -> tuple[np.ndarray, float]:
    """Return the nearest columns of each given column, and the processor seconds."""
    began = process_time()
    with mock.patch.object(nearest, "MOST_EXACT", most_exact):
        near = ColumnIndex(vectors, tables).neighbours(columns, NEAREST)
    return near, process_time() - began


def compare(lake: Lake, copies: int) -> Sequence[str]:
    """Search a lake in both ways, exactly for 2,000 key columns only; return a printed row."""
    keys = find_keys(lake, ModelConfig().keys, CatalogPriors.from_facts(lake, CatalogFacts()))
    every = np.concatenate([keys + len(lake) * copy for copy in range(copies)])
    tables = np.concatenate([lake.table_of + len(lake.titles) * copy for copy in range(copies)])
    vectors = CellSimilarity(samples(lake, copies)).vectors
    some = np.random.default_rng(0).permutation(len(every))[:QUERIES]
    exact, exact_seconds = search(vectors, tables, every[some], len(vectors))
    found, seconds = search(vectors, tables, every, 1)
    cosines = [
        -np.sort(-np.einsum("ij,ikj->ik", vectors.at(every[some]), vectors.at(near)))
        for near in (exact, found[some])
    ]
    shared = [len(np.intersect1d(*rows)) for rows in zip(exact, found[some], strict=True)]
    within = np.mean(cosines[1] >= cosines[0] - TOLERANCE)
    exact_seconds *= len(every) / len(some)
    recall = np.mean(shared) / NEAREST
    times = [f"{each:,.1f}" for each in (exact_seconds, seconds)]
    return f"{len(vectors):,}", f"{len(every):,}", *times, f"{recall:.3f}", f"{within:.4f}"


def main() -> None:
    """Run the benchmark, and print a row for each number of copies."""
    parser = argparse.ArgumentParser(prog="benchmarks.bench_search", description=__doc__)
    parser.add_argument("--lakes", nargs="+", required=True, help="folders of tables")
    parser.add_argument(
        "--copies", type=int, nargs="+", default=(1,), help="variants of each table"
    )
    options = parser.parse_args()
    lake = read_lake(options.lakes)
    headers = ["columns", "keys", "exact, CPU s", "in parts, CPU s", "recall", "within 0.03"]
    for copies in options.copies:
        row = compare(lake, copies)
        print(tabulate([row], headers, disable_numparse=True), "\n", flush=True)


if __name__ == "__main__":
    main()
