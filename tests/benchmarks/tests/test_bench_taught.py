"""Test how the gain by declared keys is measured, on a lake in which nothing else decides."""

import csv
from pathlib import Path

import numpy as np
import pytest

from benchmarks.bench_taught import SHARES, compare, main, reveal, tally
from benchmarks.directed_lake import DirectedLake, read_directed_lake
from datahub_hyperjoin.catalog_facts import CatalogFacts
from datahub_hyperjoin.evaluate.labelled_lake import ColumnName
from datahub_hyperjoin.model.config import ModelConfig
from datahub_hyperjoin.model.hypergraph.lake_index import LakeIndex, build_lake_index
from lakes.handmade import Tables, draw, lake_of, numbers

KEY = ColumnName("robots", "id")
REFERRING = ("bills", "orders", "trips")
TABLES: Tables = {
    **{table: {"id": numbers(1, 61)} for table in ("people", "robots")},
    **{
        table: {
            "code": numbers(1000 * place, 1000 * place + 200),
            "maker": draw(numbers(1, 61), 200, place),
        }
        for place, table in enumerate(REFERRING, start=7)
    },
}
"""All columns `maker` refer to robots, but the keys of people hold the same numbers."""


def write(file: Path, rows: list[tuple[str, ...]]) -> None:
    with file.open("w", encoding="utf-8", newline="") as lines:
        csv.writer(lines).writerows(rows)


@pytest.fixture
def lake(tmp_path: Path) -> DirectedLake:
    folder = tmp_path / "makers"
    (folder / "tables").mkdir(parents=True)
    for table, columns in TABLES.items():
        rows = [*zip(*columns.values(), strict=True)]
        write(folder / "tables" / f"{table}.csv", [(*columns,), *rows])
    write(folder / "queries.csv", [("table", "column"), *((one, "maker") for one in REFERRING)])
    write(
        folder / "ground_truth.csv",
        [
            ("query_table", "query_column", "candidate_table", "candidate_column", "kind"),
            *((one, "maker", *KEY, "fk") for one in REFERRING),
        ],
    )
    write(
        folder / "references.csv",
        [
            ("from_table", "from_column", "to_table", "to_column", "direction"),
            *((one, "maker", *KEY, "unique") for one in REFERRING),
        ],
    )
    return read_directed_lake(folder)


@pytest.fixture
def index() -> LakeIndex:
    return build_lake_index(lake_of(TABLES), ModelConfig(), CatalogFacts())


def test_a_share_of_the_references_is_drawn_at_random(lake: DirectedLake) -> None:
    assert reveal(lake, 0.5, seed=1) == reveal(lake, 0.5, seed=1)
    draws = [reveal(lake, 0.25, seed) for seed in range(20)]
    assert {len(drawn) for drawn in draws} == {1}
    assert {drawn[0] for drawn in draws} == {*lake.directions}


def test_only_columns_whose_key_is_not_known_count(lake: DirectedLake, index: LakeIndex) -> None:
    known = [(ColumnName("orders", "maker"), KEY)]
    untaught, taught = (tally(lake, index, known, taught=each) for each in (False, True))
    assert untaught.keys() == taught.keys() == {"bills", "trips"}
    # Both keys are equally likely, until the known one tips the balance.
    assert [count[0] for count in untaught.values()] == [0, 0]
    assert [count.tolist() for count in taught.values()] == [[1, 1, 1]] * 2


def test_a_gain_has_an_interval_over_tables() -> None:
    none, right = np.array([0.0, 1.0, 1.0]), np.array([1.0, 1.0, 1.0])
    before = [{"bills": none, "trips": right}]
    assert compare(before, before) == (
        "F1 0.500 -> 0.500 (+0.000 to +0.000), precision 0.500 -> 0.500, recall 0.500 -> 0.500"
    )
    assert compare(before, [{"bills": right, "trips": right}]).startswith(
        "F1 0.500 -> 1.000 (+0.000 to +1.000), precision 0.500 -> 1.000"
    )


def test_each_share_of_each_lake_has_a_line(
    lake: DirectedLake, capsys: pytest.CaptureFixture[str]
) -> None:
    main([str(lake.labelled.folder), "--draws", "1"])
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in lines] == [f"makers, {one:.0%}" for one in SHARES]
    assert all("F1 0.000 -> 1.000" in line for line in lines[1:])
