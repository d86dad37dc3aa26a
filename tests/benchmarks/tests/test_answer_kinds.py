"""Test that answers are counted by kind, on a lake with four known answers."""

from pathlib import Path

import pytest

from benchmarks.answer_kinds import main

LABELS = """query_table,query_column,candidate_table,candidate_column,kind,bridged
a,code,b,code,exact,0
a,code,c,name,code-name,0
a,code,d,name,code-name,1
x,name,y,code,code-name,0
"""
PREDICTIONS = """query_table,query_column,rank,candidate_table,candidate_column,score
a,code,1,b,code,0.9
a,code,15,d,name,0.5
a,code,16,c,name,0.4
"""


def test_answers_are_counted_by_kind(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "labels.csv").write_text(LABELS, "utf-8")
    predictions = tmp_path / "predictions.csv"
    predictions.write_text(PREDICTIONS, "utf-8")
    main([str(tmp_path), str(predictions)])
    _, _, *rows, last = capsys.readouterr().out.splitlines()
    assert [row.split()[-2:] for row in rows] == [["2", "0.000"], ["1", "1.000"], ["1", "1.000"]]
    assert [row.rsplit(maxsplit=2)[0] for row in rows] == [
        "code-name",
        "code-name, through a third table",
        "exact",
    ]
    assert last == "P@15 of all answers that the lake shows: 0.500 of the ceiling"
