"""Test that only one query column of each group of joining columns is kept."""

from pathlib import Path

from benchmarks.unanswerable import choose_columns, write_without_answers
from datahub_hyperjoin.evaluate.labelled_lake import ColumnName, LabelledLake

A, B, C, D, E = (ColumnName(name, "key") for name in "abcde")
TRUTH = {A: frozenset({B}), B: frozenset({A, C}), D: frozenset({E})}


def test_one_query_column_of_each_group_is_kept() -> None:
    kept, dropped = choose_columns(TRUTH)
    assert kept == {A, D}
    assert dropped == {B, C, E}


def test_answers_are_cut_from_their_tables(tmp_path: Path) -> None:
    tables, out = tmp_path / "tables", tmp_path / "out"
    tables.mkdir()
    out.mkdir()
    for name in "abcdef":
        (tables / f"{name}.csv").write_text('key,text\n1,"x,y"\n2\n')
    lake = LabelledLake(tmp_path, {name: frozenset({"key", "text"}) for name in "abcdef"}, TRUTH)
    assert write_without_answers(lake, tables, out) == {A, D}
    lines = {path.stem: path.read_text().splitlines() for path in out.iterdir()}
    whole, cut = ["key,text", '1,"x,y"', "2"], ["text", '"x,y"', ""]
    assert lines == dict.fromkeys("adf", whole) | dict.fromkeys("bce", cut)
