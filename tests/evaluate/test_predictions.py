"""Test that a file of predictions can be read back."""

import csv
from pathlib import Path

from datahub_hyperjoin.evaluate.labelled_lake import ColumnName, RankedColumn
from datahub_hyperjoin.evaluate.metrics import score_rankings
from datahub_hyperjoin.evaluate.report import write_predictions

ONE, OTHER = ColumnName("flights", "carrier"), ColumnName("odd, one", 'say "x"')


def test_answers_come_back_as_they_were(tmp_path: Path) -> None:
    rankings = {
        ONE: [RankedColumn(OTHER, 0.75), RankedColumn(ColumnName("b", "é"), 0.5)],
        OTHER: [RankedColumn(ONE, 1 / 3)],
    }
    path = tmp_path / "made" / "predictions.csv"
    write_predictions(path, rankings)
    with path.open(encoding="utf-8", newline="") as opened:
        rows = list(csv.DictReader(opened))
    assert [row["rank"] for row in rows] == ["1", "2", "1"]
    back: dict[ColumnName, list[RankedColumn]] = {}
    for row in rows:
        query = ColumnName(row["query_table"], row["query_column"])
        candidate = ColumnName(row["candidate_table"], row["candidate_column"])
        back.setdefault(query, []).append(RankedColumn(candidate, float(row["score"])))
    assert back[ONE] == rankings[ONE]
    assert [answer.candidate for answer in back[OTHER]] == [ONE]
    truth = {ONE: frozenset({OTHER}), OTHER: frozenset({ONE, ColumnName("c", "z")})}
    for metric, values in score_rankings(truth, rankings).items():
        assert (values == score_rankings(truth, back)[metric]).all()


def test_the_header_is_the_benchmarks(tmp_path: Path) -> None:
    path = tmp_path / "predictions.csv"
    write_predictions(path, {})
    assert path.read_text() == (
        "query_table,query_column,rank,candidate_table,candidate_column,score\n"
    )
