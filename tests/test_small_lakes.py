"""Test that lakes with hardly any tables, columns, rows or values end well."""

import sqlite3
import tempfile
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pandas as pd
import pytest
from datahub.ingestion.api.common import PipelineContext
from hypothesis import given, settings
from hypothesis import strategies as st

from datahub_hyperjoin import find_joins
from datahub_hyperjoin.discovery.sources import Source
from datahub_hyperjoin.errors import HyperJoinError
from datahub_hyperjoin.source import HyperJoinSource

Columns = dict[str, Sequence[str | None]]

KEYS = [f"{at}" for at in range(40)]
NAMES = st.sampled_from(["id", "name", "code", "parent_id", "t0_id"])
VALUES = st.sampled_from(
    [(None,), ("1", "2", "3"), ("a", "b", None), ("US", "FR", "DE"), ("France", "Chile", "Peru")]
)


@st.composite
def columns(draw: st.DrawFn) -> Columns:
    """Draw a table with up to three columns and few rows, or enough to join by their values."""
    rows = draw(st.sampled_from([0, 1, 2, 3, 40]))
    table: Columns = {}
    for name in draw(st.lists(NAMES, max_size=3, unique=True)):
        values = KEYS if draw(st.booleans()) else draw(VALUES)
        table[name] = [values[at % len(values)] for at in range(rows)]
    return table


LAKES = st.lists(columns(), max_size=3)


def has_values(tables: Sequence[Columns]) -> bool:
    return any(any(column) for table in tables for column in table.values())


def write(tables: Sequence[Columns], folder: Path) -> None:
    for at, table in enumerate(tables):
        rows = [table, *zip(*table.values(), strict=True)]
        lines = (",".join(cell or "" for cell in row) for row in rows)
        folder.joinpath(f"t{at}.csv").write_text("\n".join(lines) if table else "")


def check_end(source: Source, tables: Sequence[Columns]) -> None:
    """Check that a run finds joins, or says why there is nothing to search."""
    reason = ""
    try:
        found = find_joins(source)
    except HyperJoinError as error:
        reason = str(error)
    else:
        assert str(found)
        assert found.to_html()
    assert not reason or not has_values(tables)
    assert not reason or "no column has values" in reason or "contains no table" in reason


def run_recipe(folder: Path) -> list[str]:
    """Run a recipe that writes all there is, and return why it failed, if it did."""
    layers = dict.fromkeys(("queries", "documents", "glossary_terms", "lineage"), True)
    source = HyperJoinSource.create(
        {"catalog": {"folder": str(folder)}, "emit": layers, "page": str(folder / "joins.html")},
        PipelineContext(run_id="run", pipeline_name="joins"),
    )
    list(source.get_workunits())
    return [text for failure in source.get_report().failures for text in failure.context]


@pytest.mark.parametrize(
    "table",
    [
        {"id": KEYS},
        {"id": KEYS, "name": [f"N{key}" for key in KEYS]},
        {"name": ["Ann", "Bo"]},
        {"country": ["France"]},
    ],
)
def test_one_table_has_no_joins_and_that_is_no_fault(table: Columns, tmp_path: Path) -> None:
    write([table], tmp_path)
    tmp_path.joinpath("orders.parquet").write_bytes(b"PAR1")
    found = find_joins(tmp_path)
    assert found.records() == []
    assert str(found) == "No joins found."
    assert found.tables == ("t0.csv",)
    assert [*found.not_read] == ["orders.parquet"]
    assert run_recipe(tmp_path) == []


@settings(max_examples=10)
@given(LAKES)
def test_few_files_end_with_joins_or_a_sentence(tables: list[Columns]) -> None:
    with tempfile.TemporaryDirectory() as name:
        write(tables, Path(name))
        check_end(name, tables)


@settings(max_examples=10)
@given(LAKES)
def test_a_recipe_of_few_files_ends_with_joins_or_a_sentence(tables: list[Columns]) -> None:
    with tempfile.TemporaryDirectory() as name:
        write(tables, Path(name))
        reasons = run_recipe(Path(name))
    assert not reasons or not has_values(tables)
    assert all("no column has values" in each or "has 0 files" in each for each in reasons)


@settings(max_examples=5)
@given(LAKES)
def test_few_frames_end_with_joins_or_a_sentence(tables: list[Columns]) -> None:
    check_end({f"t{at}": pd.DataFrame(table) for at, table in enumerate(tables)}, tables)


@settings(max_examples=5)
@given(LAKES)
def test_few_tables_of_a_database_end_with_joins_or_a_sentence(tables: list[Columns]) -> None:
    with tempfile.TemporaryDirectory() as name:
        file = Path(name, "lake.sqlite")
        with closing(sqlite3.connect(file)) as connection:
            connection.execute("PRAGMA user_version = 1")  # so that it is a database, if empty
            for at, table in enumerate(filter(None, tables)):
                pd.DataFrame(table).to_sql(f"t{at}", connection, index=False)
        check_end(file, tables)
