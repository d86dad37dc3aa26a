"""Measure what the approximate search for similar cells finds, against the exact search.

Run it from a checkout: `PYTHONPATH=tests python -m benchmarks.bench_search --lakes FOLDER...`. The
tables of all folders make one lake; `--areas N` takes N tables of `area_lake` instead. With
`--copies N`, the lake has N variants of each table, whose columns keep half of their sampled cells,
drawn anew, so that few labelled lakes make a large one.

As in large lakes, texts are searched among texts, and other columns among each other. The recall is
the share of the 50 columns of the exact search that the approximate search finds. Vectors are
random projections, whose cosines are wrong by about 0.03; where hundreds of columns are equally
similar, the error decides which of them are the nearest 50, in the exact search, too. So `within
0.03` compares the cosines of both searches at each rank, and counts the ranks at which the
approximate search loses no more than 0.03.

The exact search compares only 2,000 key columns, and its time is multiplied. With `--few`, the
approximate search has the same key columns, and no time, since fewer of them share a list. A GPU
compares all key columns, if there is one, and its seconds are those of the clock.
"""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from time import perf_counter, process_time
from unittest import mock

import numpy as np
import torch
from tabulate import tabulate

from benchmarks.area_profiles import profile_areas
from datahub_hyperjoin.catalog_facts import CatalogFacts
from datahub_hyperjoin.discovery.progress import RunProgress
from datahub_hyperjoin.discovery.sources import list_sources
from datahub_hyperjoin.model.config import ModelConfig
from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.ranking import nearest
from datahub_hyperjoin.model.ranking.nearest import COMPARED_CELLS, ColumnIndex
from datahub_hyperjoin.model.signals.cells import CellSimilarity, StoredVectors
from datahub_hyperjoin.model.signals.priors import CatalogPriors, find_keys
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.stages.profiling import read_profiles
from datahub_hyperjoin.storage import temporary_folder

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
    with (
        mock.patch.object(nearest, "most_exact", return_value=most_exact),
        mock.patch.object(nearest, "find_gpu", return_value=None),
    ):
        near = ColumnIndex(vectors, tables, COMPARED_CELLS).neighbours(columns, NEAREST)
    return near, process_time() - began


def search_on_gpu(
    vectors: StoredVectors, tables: np.ndarray, columns: np.ndarray
) -> tuple[np.ndarray, float]:
    """Return the nearest columns of each given column, and the seconds of the clock."""
    began = perf_counter()
    with mock.patch.object(nearest, "_MANY", 0):
        near = ColumnIndex(vectors, tables).neighbours(columns, NEAREST)
    return near, perf_counter() - began


def recall(found: np.ndarray, exact: np.ndarray) -> str:
    """Return the share of the exact search's columns that were found."""
    shared = [len(np.intersect1d(*rows)) for rows in zip(exact, found, strict=True)]
    return f"{np.mean(shared) / NEAREST:.3f}"


def compare(lake: Lake, copies: int, *, few: bool) -> Iterator[Sequence[str]]:
    """Search a lake in all ways, exactly for 2,000 key columns only.

    Yields:
        A row to print for each kind of columns: texts and others.
    """
    keys = find_keys(lake, ModelConfig().keys, CatalogPriors.from_facts(lake, CatalogFacts()))
    every = np.concatenate([keys + len(lake) * copy for copy in range(copies)])
    tables = np.concatenate([lake.table_of + len(lake.titles) * copy for copy in range(copies)])
    vectors = CellSimilarity(samples(lake, copies)).vectors
    is_text = np.tile(lake.is_text, copies)
    for name, kind in (("texts", is_text), ("others", ~is_text)):
        members, asked = np.flatnonzero(kind), every[kind[every]]
        of_kind = vectors.select(members), tables[members], np.searchsorted(members, asked)
        yield [name, *_compare_kind(*of_kind, few=few)]


def _compare_kind(
    vectors: StoredVectors, tables: np.ndarray, every: np.ndarray, *, few: bool
) -> Sequence[str]:
    some = np.random.default_rng(0).permutation(len(every))[:QUERIES]
    exact, exact_seconds = search(vectors, tables, every[some], len(vectors))
    found, seconds = search(vectors, tables, every[some] if few else every, 1)
    if not few:
        found = found[some]
    cosines = [
        -np.sort(-np.einsum("ij,ikj->ik", vectors.at(every[some]), vectors.at(near)))
        for near in (exact, found)
    ]
    within = np.mean(cosines[1] >= cosines[0] - TOLERANCE)
    exact_seconds *= len(every) / len(some)
    times = f"{exact_seconds:,.1f}", "" if few else f"{seconds:,.1f}"
    row = [f"{len(vectors):,}", f"{len(every):,}", *times, recall(found, exact), f"{within:.4f}"]
    if torch.cuda.is_available():
        on_gpu, gpu_seconds = search_on_gpu(vectors, tables, every)
        row += [f"{gpu_seconds:,.1f}", recall(on_gpu[some], exact)]
    return row


def main() -> None:
    """Run the benchmark, and print a row for each number of copies."""
    parser = argparse.ArgumentParser(prog="benchmarks.bench_search", description=__doc__)
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--lakes", nargs="+", help="folders of tables")
    source.add_argument("--areas", type=int, help="tables of `area_lake`")
    parser.add_argument(
        "--copies", type=int, nargs="+", default=(1,), help="variants of each table"
    )
    parser.add_argument("--few", action="store_true", help="search 2,000 key columns only")
    options = parser.parse_args()
    lake = (
        Lake.from_tables([*profile_areas(options.areas)])
        if options.areas
        else read_lake(options.lakes)
    )
    headers = [
        "kind",
        "columns",
        "keys",
        "exact, CPU s",
        "in lists, CPU s",
        "recall",
        "within 0.03",
    ]
    headers += ["GPU, s", "recall of the GPU"] if torch.cuda.is_available() else []
    for copies in options.copies:
        rows = compare(lake, copies, few=options.few)
        print(tabulate([*rows], headers, disable_numparse=True), "\n", flush=True)


if __name__ == "__main__":
    main()
