"""Test that answers to agents are compared with right ones, and what counts as wrong."""

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.agents.judge import Judged, judge, read_pairs

CREATED, APPROVED = "orders.created_by → users.id", "orders.approved_by → users.id"
CALL = {"tool": "suggest_joins", "dataset": "orders", "other": "users"}
EXPECTED = {"call": CALL, "answer": ["safe"], "joins": [CREATED], "grain": "orders"}
SAFE: dict[str, Any] = {
    "answer": "1 safe join",
    "joins": [
        {"join": CREATED, "grain": "one row for each row of shop/orders.csv that matches"},
    ],
}


def judged(said: dict[str, Any], tmp_path: Path, **changes: object) -> Judged:
    return judge(json.dumps(said), {**EXPECTED, **changes}, tmp_path)


def test_a_right_answer_has_no_fault(tmp_path: Path) -> None:
    assert judged(SAFE, tmp_path).is_right
    either = [f"orders.created_by = staff.id or {CREATED}"]
    assert judged(SAFE, tmp_path, joins=either).is_right


@pytest.mark.parametrize(("changes", "fault"), [
    ({"joins": [CREATED, APPROVED]}, "orders.approved_by = users.id is not named"),
    ({"answer": ["choose"]}, "it says '1 safe join'"),
    ({"joins": [APPROVED]}, "orders.created_by = users.id is called safe"),
    ({"grain": "users"}, "its grain is"),
])  # fmt: skip
def test_a_wrong_safe_join_is_confidently_wrong(
    tmp_path: Path, changes: dict[str, Any], fault: str
) -> None:
    found = judged(SAFE, tmp_path, **changes)
    assert found.is_confidently_wrong
    assert any(each.startswith(fault) for each in found.faults)


def test_sql_has_to_run(tmp_path: Path) -> None:
    (entry,) = SAFE["joins"]
    for sql, runs in (("SELECT 1", True), ("SELECT * FROM 'nothing.csv'", False)):
        answer = {**SAFE, "joins": [{**entry, "sql": sql}]}
        assert judged(answer, tmp_path).is_right is runs


def test_a_needless_refusal_is_wrong_but_not_confident(tmp_path: Path) -> None:
    refusal = {"answer": "no safe join known", "unsafe": [{"join": CREATED, "unsafe": "so"}]}
    found = judged(refusal, tmp_path)
    assert (found.is_right, found.is_confidently_wrong) == (False, False)
    assert judged(refusal, tmp_path, answer=["none"], mentions=["so"]).is_right
    assert judged(refusal, tmp_path, answer=["none"], mentions=["x"]).faults


def test_an_undecided_rival_counts_as_named_and_not_as_safe(tmp_path: Path) -> None:
    (entry,) = SAFE["joins"]
    answer = {**SAFE, "joins": [{**entry, "also": [f"{APPROVED}, 0.63, undecided"]}]}
    assert judged(answer, tmp_path, joins=[CREATED, APPROVED]).is_right


def test_the_order_and_the_folders_of_columns_do_not_count() -> None:
    assert read_pairs("b/t.csv.park.key ← u.parquet.k and t.x = u.y") == read_pairs(
        "u.y = t.x and u.k = t.park.key"
    )
