"""Test that the results of a run show names so that none is a command."""

import csv
import io
import json
from pathlib import Path

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from datahub_hyperjoin import FoundJoins, find_joins
from datahub_hyperjoin.discovery.progress import LineProgress
from datahub_hyperjoin.discovery.records import records_as_csv, records_as_json, records_as_sql
from datahub_hyperjoin.visible import visible, visible_lines

NAMES = (
    *("id\n; DROP TABLE victims; --", "id\r; DROP TABLE victims; --", '"; DROP TABLE victims; --'),
    *("\x1b[31mid", "\u202eid", "<b>id</b>", "id\\", "'; DROP TABLE victims; --"),
)
KEYS = {name: [f"K{at}-{row}" for row in range(30)] for at, name in enumerate(NAMES)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lake")
    for at, (name, values) in enumerate(KEYS.items()):
        pq.write_table(pa.table({name: values}), folder / f"hub{at}.parquet")
    facts = {name: values * 2 for name, values in KEYS.items()}
    pq.write_table(pa.table(facts), folder / "facts\n; DROP TABLE victims; --.parquet")
    return folder


@pytest.fixture(scope="module")
def found(folder: Path) -> FoundJoins:
    return find_joins(folder)


def test_only_the_statements_of_joins_run(
    found: FoundJoins, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = found.records()
    assert {record["left_column"] for record in records} >= {*NAMES}
    monkeypatch.chdir(folder)
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE victims AS SELECT 1")
        statements = connection.extract_statements(records_as_sql(records))
        assert len(statements) == len(records)
        for statement in statements:
            assert statement.type == duckdb.StatementType.SELECT
            assert connection.execute(statement).fetchall()


def test_json_and_csv_read_back_equal(found: FoundJoins) -> None:
    records = found.records()
    written = records_as_json(records)
    assert json.loads(written) == records
    assert visible_lines(written) == written
    rows = [*csv.DictReader(io.StringIO(records_as_csv(records), newline=""))]
    assert rows == [{name: str(cell) for name, cell in one.items()} for one in records]


def test_the_list_keeps_its_columns(found: FoundJoins) -> None:
    text = str(found)
    assert visible_lines(text) == text
    _, header, rule, *rows = text.splitlines()
    at = header.index("role")
    assert rule[at - 2 : at] == "  "
    assert len(rows) == min(len(found), 25)
    assert {row[at - 2 : at] for row in rows} == {"  "}


def test_a_notebook_shows_names_as_text(found: FoundJoins) -> None:
    with pd.option_context("display.max_colwidth", None):
        shown = found._repr_html_()
    assert visible_lines(shown) == shown
    assert "&lt;b&gt;id&lt;/b&gt;" in shown
    assert "<b>id" not in shown


def test_warnings_and_progress_are_single_lines(capsys: pytest.CaptureFixture[str]) -> None:
    progress = LineProgress()
    progress.warn("Table skipped", "Correct it", "id\n\x1b[2J")
    progress.say("Reading id\n\x1b[2J")
    [warning] = progress.warnings
    assert warning.context == r"id\n\u001b[2J" == visible(warning.context)
    assert capsys.readouterr().err == "Reading id\\n\\u001b[2J\n"
