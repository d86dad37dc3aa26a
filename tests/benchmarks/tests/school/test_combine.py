"""Test that databases become labelled lakes whose rows, keys and columns are varied."""

from pathlib import Path

import pandas as pd

from benchmarks.directed_lake import read_directed_lake
from benchmarks.school.combine import combine
from benchmarks.school.database import Database, Reference
from benchmarks.school.grow import grow
from benchmarks.school.keys import renumber
from benchmarks.school.lake import SchoolLake
from benchmarks.school.sampling import sample
from benchmarks.school.widen import widen
from benchmarks.school.write import write_lake
from datahub_hyperjoin.evaluate.labelled_lake import ColumnName
from lakes.schooling import FORMS, LANGUAGES, named_joins, random


def test_references_become_joins_with_kinds_and_directions(lake: SchoolLake) -> None:
    assert named_joins(lake) == {
        (one, other, kind)
        for pair, kind in (
            (("forms.Language_ID", "languages.ID"), "fk"),
            (("examples.Language_ID", "languages.ID"), "fk"),
            (("forms.Language_ID", "examples.Language_ID"), "closure"),
            (("examples_Form_IDs.examples_ID", "examples.ID"), "fk"),
            (("examples_Form_IDs.Form_IDs", "forms.ID"), "fk"),
        )
        for one, other in (pair, pair[::-1])
    }
    assert {one.direction for one in lake.references} == {"unique"}
    assert ColumnName("forms", "Language_ID") in {one.origin for one in lake.references}


def test_a_written_lake_is_read_as_any_labelled_lake(lake: SchoolLake, tmp_path: Path) -> None:
    write_lake(lake, tmp_path / "lake", "About it.\n")
    read = read_directed_lake(tmp_path / "lake")
    assert sum(len(gold) for gold in read.labelled.truth.values()) == len(lake.truth)
    forms, languages = ColumnName("forms", "Language_ID"), ColumnName("languages", "ID")
    assert read.is_reference((forms, languages))
    assert not read.is_reference((languages, forms))
    assert (tmp_path / "lake" / "README.md").read_text() == "About it.\n"
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_what_is_declared_but_not_asked_for_is_listed_apart(tmp_path: Path) -> None:
    rows = {"id": ["1", "2", "3", "4"], "parent": ["", "1", "1", "2"], "kind": ["a", "b", "a", "b"]}
    tables = {
        "nodes": pd.DataFrame(rows),
        "kinds": pd.DataFrame({"code": ["a", "b"], "name": ["x", "y"]}),
        "leaves": pd.DataFrame({"node": ["1", "2", "3"], "twin": ["1", "2", "3"], "at": [*"789"]}),
        "cells": pd.DataFrame({"leaf": ["1", "2", "3"], "at": ["7", "8", "9"]}),
    }
    keys = (
        reference("leaves.node", "nodes.id"),
        reference("cells.leaf", "leaves.node"),
        reference("nodes.parent", "nodes.id"),  # to its own table
        reference("nodes.kind", "kinds.code"),  # of two values
    )
    parts = (reference("cells.leaf", "leaves.twin"), reference("cells.at", "leaves.at"))
    lake = combine([Database("owner/tree", tables, keys, parts)], random(), folders=True)
    write_lake(lake, tmp_path / "lake", "")
    asked = read(tmp_path / "lake" / "references.csv")
    declared = read(tmp_path / "lake" / "declared.csv")
    names = ["from_table", "from_column", "to_table", "to_column"]
    assert {tuple(row) for row in asked[names].to_numpy()} == placed(keys[:2])
    assert {tuple(row) for row in declared.to_numpy()} == placed((*keys, *parts))
    neutral = read(tmp_path / "lake" / "neutral.csv")
    groups = [set(group.table + "." + group.column) for _, group in neutral.groupby("group")]
    assert {"tree/cells.leaf", "tree/leaves.node", "tree/nodes.id", "tree/nodes.parent"} in groups
    assert {"tree/nodes.kind", "tree/kinds.code"} in groups
    assert (tmp_path / "lake" / "tables" / "tree" / "nodes.csv").is_file()


def reference(origin: str, target: str) -> Reference:
    return Reference(ColumnName(*origin.split(".")), ColumnName(*target.split(".")))


def placed(references: tuple[Reference, ...]) -> set[tuple[str, ...]]:
    return {
        (
            f"tree/{one.origin.table}",
            one.origin.column,
            f"tree/{one.target.table}",
            one.target.column,
        )
        for one in references
    }


def read(path: Path) -> pd.DataFrame:
    return pd.read_csv(path, dtype=str)


def test_the_running_numbers_of_two_copies_are_strangers(database: Database) -> None:
    copies = [renumber(database, random(seed), shuffled=True) for seed in (1, 2)]
    both = combine(copies, random())
    assert set(both.tables) >= {"forms", "forms_2"}
    assert all(
        one.query.table.endswith("_2") == one.candidate.table.endswith("_2") for one in both.truth
    )


def test_keys_of_two_databases_that_mean_the_same_join(database: Database) -> None:
    joined = named_joins(combine([database, database], random()))
    assert ("languages.ID", "languages_2.ID", "closure") in joined
    assert ("forms.ID", "forms_2.ID", "closure") not in joined  # f0, f1, ... say nothing


def test_keys_in_doubt_are_not_asked_for(database: Database) -> None:
    names = {f"lang{chr(97 + n)}": f"other{chr(97 + n)}" for n in range(5, LANGUAGES)}
    tables = {
        name: frame.replace({"ID": names, "Language_ID": names}).infer_objects()
        for name, frame in database.tables.items()
    }
    asked = {
        str(one.query)
        for one in combine([database, Database("b", tables, database.references)], random()).truth
    }
    assert not {"languages.ID", "forms.Language_ID", "languages_2.ID"} & asked
    assert "forms.ID" in asked


def test_renumbered_keys_are_the_same_in_all_columns(database: Database) -> None:
    new = renumber(database, random())
    for one in database.references:
        keys, cells = new.values(one.target), new.values(one.origin)
        assert cells <= keys
        assert all(value.isdecimal() for value in keys)
        assert len(keys) == len(database.values(one.target))


def test_a_sample_keeps_the_rows_that_others_refer_to(database: Database) -> None:
    part = sample(database, 8, random())
    assert {name: len(frame) for name, frame in part.tables.items()} == {
        "languages": 11,  # eight drawn, and those that forms and examples refer to
        "forms": 12,  # as many as a table may have
        "examples": 12,
        "examples_Form_IDs": 8,
        "senses": 8,
    }
    languages = part.values(ColumnName("languages", "ID"))
    for table in ("forms", "examples"):
        assert part.values(ColumnName(table, "Language_ID")) <= languages


def test_a_toy_grows_and_its_references_still_lead_somewhere(database: Database) -> None:
    big = grow(renumber(database, random()), 400, random(3))
    assert max(map(len, big.tables.values())) > FORMS + 40
    for one in big.references:
        assert big.values(one.origin) <= big.values(one.target)
        assert big.tables[one.target.table][one.target.column].is_unique


def test_keys_in_doubt_are_neutral(database: Database) -> None:
    names = {f"lang{chr(97 + n)}": f"other{chr(97 + n)}" for n in range(5, LANGUAGES)}
    other = {name: frame.replace(names) for name, frame in database.tables.items()}
    both = [database, Database("b", other, database.references)]
    keys = {ColumnName("languages", "ID"), ColumnName("languages_2", "ID")}
    assert any(keys <= {*group} for group in combine(both, random()).neutral)


def test_positions_and_audit_columns_are_as_rare_as_in_applications() -> None:
    frame = pd.DataFrame({"id": [str(n) for n in range(40)]})
    tables = {f"t{n}": frame for n in range(10)}
    positions = {"position", "sort_order", "display_order", "seq", "line_no", "item_no"}
    found, users = 0, 0
    for seed in range(200):
        wide = widen(Database("x", tables, ()), random(seed))
        assert not positions & {one.target.column for one in wide.references}
        assert len({one.target for one in wide.references}) <= 1
        users += len(wide.references)
        found += sum(bool(positions & {*frame}) for frame in wide.tables.values())
    assert 0.02 < found / 2_000 < 0.07
    assert 0.06 < users / 2_000 < 0.16


def test_line_numbers_restart() -> None:
    frame = pd.DataFrame({"id": [str(n) for n in range(400)]})
    wide = [
        widen(Database("x", {f"t{n}": frame for n in range(9)}, ()), random(n)) for n in range(40)
    ]
    lines = [
        frame[name]
        for one in wide
        for frame in one.tables.values()
        for name in ("line_no", "item_no")
        if name in frame
    ]
    assert lines
    for cells in lines:
        assert cells.iloc[0] == "1"
        assert cells.nunique() < len(cells) / 4


def test_users_are_referred_to_and_other_new_columns_are_not(database: Database) -> None:
    wide = next(
        one
        for one in (widen(database, random(seed)) for seed in range(9))
        if len(one.tables) > len(database.tables)
    )
    new = set(wide.references) - set(database.references)
    [users] = set(wide.tables) - set(database.tables)
    assert new
    assert {one.target.table for one in new} == {users}
    for one in wide.references:
        assert wide.values(one.origin) <= wide.values(one.target)
    for name, frame in database.tables.items():
        assert wide.tables[name][list(frame)].equals(frame)
