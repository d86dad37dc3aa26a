"""Test how the gain by a language model's answers is measured."""

import json
from pathlib import Path

import pytest

from benchmarks.bench_adjudication import Recorded, count_references, main
from benchmarks.reference_trees.examples import Truth
from services.endpoint import Request

TABLES = {
    "customers": ["id,name", *(f"{at},Name {at}" for at in range(1, 41))],
    "suppliers": ["id,city", *(f"{at},Town {at}" for at in range(1, 41))],
    "orders": ["no,buyer", *(f"{at + 500},{at % 37 + 1}" for at in range(1, 91))],
}
TRUTH = "from_table,from_column,to_table,to_column\norders,buyer,suppliers,id\n"


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """Write a lake in which names do not tell which of two keys the buyers are."""
    (tmp_path / "tables").mkdir()
    for table, lines in TABLES.items():
        (tmp_path / "tables" / f"{table}.csv").write_text("\n".join(lines))
    for file in ("references.csv", "declared_all.csv"):
        (tmp_path / file).write_text(TRUTH)
    return tmp_path


def request(column: str, *keys: str) -> Request:
    asked = {
        "column": {"table": "orders", "column": column},
        "keys": [{"number": at, "table": key, "column": "id"} for at, key in enumerate(keys, 1)],
    }
    return {"messages": [{}, {"content": json.dumps(asked)}]}


@pytest.mark.parametrize(("chosen", "right"), [(1, 0), (2, 1), (0, 0)])
def test_an_answer_is_right_if_the_truth_says_so(lake: Path, chosen: int, right: int) -> None:
    question = request("buyer", "customers", "suppliers")
    unknown = Recorded({})
    refused = unknown(question)
    assert refused is not None
    assert refused.status == 413
    assert len(unknown.unanswered()) == 1
    [key] = unknown.asked
    known = Recorded({key: chosen})
    answered = known(question)
    assert answered is not None
    assert f'\\"key\\": {chosen}' in answered.body.decode()
    assert known.unanswered() == []
    assert known.count_right(Truth(lake)) == (right, 1)


def test_no_key_is_right_where_there_is_none(lake: Path) -> None:
    question = request("no", "customers")
    asked = Recorded({})
    asked(question)
    known = Recorded(dict.fromkeys(asked.asked, 0))
    known(question)
    assert known.count_right(Truth(lake)) == (1, 1)


def test_a_run_with_answers_is_compared_with_one_without(
    lake: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answers, questions = lake / "answers.csv", lake / "questions.jsonl"
    answers.write_text("question,key\n")
    main([str(lake), str(answers), "--questions", str(questions)])
    shown = capsys.readouterr().out
    assert "without" in shown
    assert "with answers" in shown
    assert "0 of 0 answers right" in shown
    for line in questions.read_text().splitlines():
        assert {*json.loads(line)} == {"column", "keys"}


def test_what_is_missed_counts(lake: Path) -> None:
    counts = count_references(Truth(lake), [])
    assert (counts.declared.tolist(), counts.right.tolist()) == ([1.0], [0.0])
