"""Test that copies of the lakes that judge are refused, and that sources are counted."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmarks.school import fingerprints
from benchmarks.school.database import Database, Reference
from benchmarks.school.errors import ForbiddenSourceError
from benchmarks.school.fingerprints import check_unknown, main
from benchmarks.school.read import read_databases
from benchmarks.school.sources import read_sources
from benchmarks.school.survey import alike, table_of
from datahub_hyperjoin.evaluate.labelled_lake import ColumnName
from lakes.schooling import commit, dataset, sources

ROWS = 400


def database(name: str, *, tables: int = 3) -> Database:
    frames = {
        f"{name}_{number}": pd.DataFrame(
            {
                f"{name} key {number}": [f"{name}-{row}" for row in range(ROWS)],
                **{
                    f"{name} {kind}": [f"{kind} {row} of {name}" for row in range(ROWS)]
                    for kind in ("title", "place", "note")
                },
            }
        )
        for number in range(tables)
    }
    ends = [ColumnName(table, str(frame.columns[0])) for table, frame in frames.items()]
    return Database(name, frames, tuple(Reference(one, ends[0]) for one in ends[1:]))


@pytest.fixture
def judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Database]:
    """Hash the tables of a database that judges, and return it."""
    monkeypatch.setattr(fingerprints, "HASHES", tmp_path / "hashes.bin")
    fingerprints.known_hashes.cache_clear()
    (tmp_path / "lake" / "tables").mkdir(parents=True)
    shown = database("judge")
    for table, frame in shown.tables.items():
        frame.to_csv(tmp_path / "lake" / "tables" / f"{table}.csv", index=False)
    main([str(tmp_path)])
    yield shown
    fingerprints.known_hashes.cache_clear()


def test_a_copy_is_refused_by_its_headers(judged: Database) -> None:
    empty = {table: frame.iloc[:0] for table, frame in judged.tables.items()}
    with pytest.raises(ForbiddenSourceError, match=r"^judge must not .* have 3 headers of it\."):
        check_unknown(Database("judge", empty, ()))


def test_a_renamed_part_is_refused_by_its_rows(judged: Database) -> None:
    part = judged.tables["judge_0"][100:].set_axis([*"abcd"], axis=1)
    with pytest.raises(ForbiddenSourceError, match=r"^copy must not be trained on: .* rows of it"):
        check_unknown(Database("copy", {"other": part}, ()))


def test_other_tables_are_no_copies(judged: Database) -> None:
    check_unknown(database("mine"))
    few = {"judge_0": judged.tables["judge_0"][:3], **database("mine").tables}
    check_unknown(Database("mine", few, ()))


def test_the_shipped_hashes_are_many() -> None:
    assert len(np.fromfile(fingerprints.HASHES, dtype="<u8")) > 5_000


def test_small_databases_are_left_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    ddl = "CREATE TABLE a (x int PRIMARY KEY); CREATE TABLE b (x int REFERENCES a);"
    made = commit(tmp_path / "m" / "o+s", {"all.sql": f"{ddl} INSERT INTO a VALUES (1);"})
    listed = read_sources(sources(tmp_path, f"o/s,{made},MIT,sql,all.sql,train"))
    (tmp_path / "m" / "o+s" / ".git").rename(tmp_path / "m" / "o+s" / "repo")
    assert not read_databases(listed, cache=tmp_path, mirror=tmp_path / "m")
    [message] = caplog.messages
    assert message.startswith("o/s/all has 1 tables and 1 declared keys that could be read. Remove")


def test_the_survey_counts_what_holds(tmp_path: Path) -> None:
    made = commit(tmp_path / "m" / "o+s" / "repo", dataset())
    listed = read_sources(sources(tmp_path, f"o/s,{made},CC0-1.0,cldf,cldf/*-metadata.json,train"))
    [read] = read_databases(listed, cache=tmp_path, mirror=tmp_path / "m")
    lines = [*table_of([read], {"o/s": listed[0]})]
    assert lines[0].startswith("| | databases | authors | tables |")
    assert "| cldf | 1 | 1 | 5 | 12 | 262 | 4 | 4 |" in lines


def test_databases_with_the_same_headers_are_named() -> None:
    one, other = database("mine"), database("mine")
    lines = [*alike([one, Database("again", other.tables, ()), database("else")])]
    assert lines == ["mine and again share 3 headers. Remove one of them from the list"]
