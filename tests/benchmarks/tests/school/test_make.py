"""Test that generated lakes have the right joins and are reproducible."""

import csv
import io
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pandas as pd
import pytest

from benchmarks.school.__main__ import main
from benchmarks.school.codes import make_codes_lake
from benchmarks.school.database import Database, Reference
from benchmarks.school.lake import SchoolLake, Truth
from benchmarks.school.pieces import make_pieces
from benchmarks.school.plan import LakeKind, Layout, draw_draft, make_lake
from benchmarks.school.sources import read_sources
from datahub_hyperjoin.evaluate.labelled_lake import ColumnName
from lakes.schooling import commit, dataset, random, sources


def public_table(letter: str) -> Database:
    names = [f"{letter}{chr(97 + n % 26)}{chr(97 + n // 26)} Street" for n in range(120)]
    frame = pd.DataFrame(
        {
            "street": names,
            "ward": [f"Ward {chr(97 + n % 26)}" for n in range(120)],
            "length": [str(n * 7) for n in range(120)],
        }
    )
    return Database(f"city {letter}", {f"streets {letter}": frame}, ())


def test_pieces_of_one_column_join_though_their_cells_differ() -> None:
    lake, used = make_pieces([public_table("K"), public_table("M")], 30, random())
    assert used == ["city K", "city M"]
    assert lake.truth
    assert {one.kind for one in lake.truth} <= {"split", "cross"}
    differ = [one for one in lake.truth if one.kind == "split" and not overlap(lake, one)]
    assert differ
    for one in lake.truth:
        if one.kind == "split":
            assert lake.origins[one.query.table] == lake.origins[one.candidate.table]


def test_codes_join_with_the_names_of_their_things() -> None:
    lake, _ = make_codes_lake([public_table("K")], 20, random())
    kinds = {one.kind for one in lake.truth}
    assert kinds & {"code-name", "name-code"}
    apart = [one for one in lake.truth if one.kind == "code-name"]
    assert not any(overlap(lake, one) for one in apart)


def test_two_tables_of_the_same_things_are_no_two_systems() -> None:
    one = public_table("K")
    other = Database("other city", {"streets": one.tables["streets K"][60:]}, ())
    lake, used = make_codes_lake([one, other, public_table("M")], 200, random())
    assert len(used) == 2
    assert "city M" in used
    assert len(lake.tables) >= 8


def test_databases_of_a_standard_are_a_tenth() -> None:
    frame = pd.DataFrame({"id": [str(n) for n in range(90)]})
    key = Reference(ColumnName("a", "id"), ColumnName("b", "id"))
    pool = [
        Database(f"{n}", {"a": frame, "b": frame}, (key,), standard=n >= 36) for n in range(120)
    ]
    used = [name for _, names in mixed_lakes(pool, 40) for name in names]
    assert 0.05 < sum(int(name) >= 36 for name in used) / len(used) < 0.15


def mixed_lakes(pool: list[Database], count: int) -> Iterator[tuple[SchoolLake, list[str]]]:
    drafts = (draw_draft(number, random(number), most=1_000) for number in range(9 * count))
    several = (Layout.MIXED, Layout.FOLDERS)
    mixed = (one for one in drafts if one.kind == LakeKind.RELATIONAL and one.layout in several)
    for draft in islice(mixed, count):
        yield make_lake(draft, pool, random(draft.number))


def test_a_mixed_lake_has_ten_to_twenty_databases_of_different_authors() -> None:
    frame = pd.DataFrame({"id": [str(n) for n in range(90)]})
    key = Reference(ColumnName("a", "id"), ColumnName("b", "id"))
    pool = [Database(f"author{n % 40}/{n}", {"a": frame, "b": frame}, (key,)) for n in range(400)]
    layouts = set()
    for lake, used in mixed_lakes(pool, 20):
        assert 10 <= len(used) <= 20
        assert len({name.partition("/")[0] for name in used}) == len(used)
        folders = {table.rpartition("/")[0] for table in lake.tables}
        layouts.add(folders == {""})
        assert folders == {""} or len(folders) >= len(used)  # copies have their own
    assert layouts == {True, False}


def test_tables_of_one_database_may_lie_in_several_folders() -> None:
    frame = pd.DataFrame({"id": [str(n) for n in range(90)]})
    key = Reference(ColumnName("a", "id"), ColumnName("b", "id"))
    pool = [Database(f"author{n}/x", {"a": frame, "b": frame}, (key,)) for n in range(20)]
    drafts = (draw_draft(number, random(number), most=200) for number in range(200))
    scattered = (
        one for one in drafts if (one.kind, one.layout) == (LakeKind.RELATIONAL, Layout.SCATTERED)
    )
    apart = 0
    for draft in islice(scattered, 9):
        lake, _ = make_lake(draft, pool, random(draft.number))
        assert all("/" in table for table in lake.tables)
        ends = ((one.origin.table, one.target.table) for one in lake.references)
        apart += sum(a.split("/")[0] != b.split("/")[0] for a, b in ends)
    assert apart


def overlap(lake: SchoolLake, one: Truth) -> frozenset[str]:
    cells = [lake.tables[column.table][column.column] for column in (one.query, one.candidate)]
    return frozenset(cells[0]) & frozenset(cells[1])


def test_the_school_is_the_same_each_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mirror = tmp_path / "mirror"
    lines = []
    for split in ("train", "validation"):
        made = commit(mirror / f"{split}+data" / "work", dataset())
        (mirror / f"{split}+data" / "work" / ".git").rename(mirror / f"{split}+data" / "repo")
        lines.append(f"{split}/data,{made},CC0-1.0,cldf,cldf/*-metadata.json,{split}")
    listed = read_sources(sources(tmp_path, *lines))
    monkeypatch.setattr("benchmarks.school.make.read_sources", lambda: listed)
    written = []
    for out in (tmp_path / "one", tmp_path / "two"):
        main([str(out), "--mirror", str(mirror), "--train", "3", "--validation", "1"])
        written.append(
            {path.relative_to(out): path.read_bytes() for path in out.rglob("*") if path.is_file()}
        )
    assert written[0] == written[1]
    assert len({path.parts[:2] for path in written[0]}) == 4
    for path, content in written[0].items():
        if path.name == "provenance.csv":
            origins = {row["database"] for row in csv.DictReader(io.StringIO(content.decode()))}
            assert origins == {f"{path.parts[0]}/data"}
