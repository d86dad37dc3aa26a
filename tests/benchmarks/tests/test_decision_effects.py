"""Test that joins of which decisions say nothing are told apart, and how their changes count."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.bench_decisions import measure_effects
from benchmarks.decision_effects import Effects, compare, toss
from datahub_hyperjoin.findings import Findings
from datahub_hyperjoin.joins import Join, Role, Verdict
from datahub_hyperjoin.tables import pair_of
from lakes.handmade import column, draw, numbers

DECIDED, SIBLING, SHARING, OTHER = (
    ("orders.year", "sales.year"),
    ("stocks.year", "sales.year"),
    ("orders.year", "books.isbn"),
    ("books.isbn", "loans.book"),
)


def findings(scores: Mapping[tuple[str, str], float]) -> Findings:
    joins = [
        Join(left=left, right=right, joinability=score, evidence=None)
        for ends, score in scores.items()
        for left, right in [pair_of(*map(column, ends))]
    ]
    return Findings(profiles=(), keys=(), suggestions=(), joins=tuple(joins), model_version="1")


def effects(
    before: Mapping[tuple[str, str], float],
    after: Mapping[tuple[str, str], float],
    verdict: Verdict = Verdict.REJECTED,
) -> Effects:
    decisions = {pair_of(*map(column, DECIDED)): verdict}
    return compare(findings(before), findings(after), decisions)


def test_joins_of_the_decided_columns_or_their_names_are_relatives() -> None:
    before = dict.fromkeys([DECIDED, SIBLING, SHARING, OTHER], 0.9)
    found = effects(before, {})
    assert (found.others, found.vanished, found.relatives) == (1, 1, 2)


def test_others_that_move_cross_and_appear_are_counted() -> None:
    more = ("towns.name", "ports.town")
    found = effects({OTHER: 0.7, more: 0.9}, {OTHER: 0.6, more: 0.88, ("a.x", "b.x"): 0.6})
    assert (found.others, found.moved, found.crossed, found.appeared) == (2, 1, 1, 1)
    assert found.relatives == 0


@pytest.mark.parametrize(
    ("verdict", "after", "against"),
    [
        (Verdict.REJECTED, 0.95, 1),
        (Verdict.REJECTED, 0.7, 0),
        (Verdict.ACCEPTED, 0.95, 0),
        (Verdict.ACCEPTED, 0.7, 1),
    ],
)
def test_a_relative_goes_the_way_of_the_decision(
    verdict: Verdict, after: float, against: int
) -> None:
    found = effects({SIBLING: 0.8}, {SIBLING: after}, verdict)
    assert (found.relatives, found.against) == (1, against)


def test_a_column_whose_key_was_accepted_leaves_its_other_keys() -> None:
    before = findings({SHARING: 0.9})
    [join] = before.joins
    directed = replace(join, role=Role.REFERENCE, referenced=column(SHARING[1]))
    before = replace(before, joins=(directed,))
    decisions = {pair_of(*map(column, DECIDED)): Verdict.ACCEPTED}
    assert compare(before, findings({}), decisions).against == 0


def test_a_coin_decides_about_more_joins_in_the_same_way() -> None:
    found = findings({(f"t{at}.x", f"u{at}.x"): 0.9 for at in range(40)})
    few, many = (toss(found, number, seed=3) for number in (5, 30))
    assert few.items() < many.items()
    assert {*many.values()} == {*Verdict}


def write(lake: Path, tables: Mapping[str, Iterable[str]]) -> None:
    for name, lines in tables.items():
        lake.mkdir(parents=True, exist_ok=True)
        (lake / f"{name}.csv").write_text("\n".join(lines) + "\n", "utf-8")


@pytest.mark.parametrize("labelled", [False, True])
def test_whole_runs_are_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], *, labelled: bool
) -> None:
    customers = numbers(101, 161)
    orders = zip(numbers(5000, 5100), draw(customers, 100), strict=True)
    tables = {
        "customer": ["customer_id", *customers],
        "order": ["code,customer_id", *map(",".join, orders)],
    }
    write(tmp_path / "tables" if labelled else tmp_path, tables)
    if labelled:
        head = "draw,size,table_a,column_a,table_b,column_b,decision"
        row = "1,5,order,customer_id,customer,customer_id,accept"
        (tmp_path / "decisions.csv").write_text(f"{head}\n{row}\n", "utf-8")
    measure_effects(tmp_path, draws=1)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"{tmp_path}: 1 joins, 1 draws of decisions"
    assert [line.split() for line in lines[3:]] == [
        [str(size), *["0"] * 7] for size in (1, 5, 11, 30)
    ]
