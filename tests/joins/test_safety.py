"""Test which joins count as safe, and which reasons are given for doubting the others."""

import pytest

from datahub_hyperjoin.joins import (
    MIN_SCORE,
    UNVERIFIED,
    Join,
    Role,
    Verdict,
    doubts,
    is_safe,
    reasons_unsafe,
)
from datahub_hyperjoin.joins.paths import JoinPath, Step
from lakes.chains import N_1, N_N, ONE_1, ONE_N, changed, domain, join

GOOD = join("orders", "customers", 0.9)
DIRTY = changed(
    GOOD, cardinality=N_N, left_fan_out=1.01, right_fan_out=3.0, left_containment=1.0
)  # fmt: skip
LOW = "nobody confirmed it, and its joinability 0.60 is below 0.65"
MANY = "many-to-many: rows of both tables repeat, so sums over the result are wrong"
NAMES_ONLY = "not verified on data: only names and types suggest it"
SAME_KEY = "both columns refer to the same key of another table, and neither is that key"
ONE_KIND = "the columns hold values of one kind, but neither is a key of the other"


@pytest.mark.parametrize("safe", [
    GOOD,
    GOOD.reversed,
    join("orders", "customers", 0.65),
    join("orders", "notes", 0.9, role=Role.ONE_TO_ONE, cardinality=ONE_1),
    join("orders", "customers", 0.1, Verdict.ACCEPTED),
    join("orders", "customers", 0.1, declared=True),
    join("orders", "customers", None, role=None),
    changed(domain("orders", "customers", 0.1), verdicts=(Verdict.ACCEPTED,)),
    changed(GOOD, band=UNVERIFIED, declared=True),
    join("employees", "employees", 0.9, key="manager"),
])  # fmt: skip
def test_a_join_is_safe_if_a_person_or_the_data_confirms_it(safe: Join) -> None:
    assert reasons_unsafe(safe, min_score=MIN_SCORE) == []


@pytest.mark.parametrize(("unsafe", "reasons"), [
    (join("a", "b", 0.6), [LOW]),
    (changed(GOOD, band=UNVERIFIED), [NAMES_ONLY]),
    (changed(join("a", "b", 0.6), band=UNVERIFIED), [NAMES_ONLY, LOW]),
    (join("a", "b", 0.9, role=Role.SIBLING, cardinality=N_N), [SAME_KEY]),
    (domain("a", "b", 0.9), [ONE_KIND]),
    (join("a", "b", 0.9, cardinality=N_N), [MANY]),
    (join("a", "b", 0.9, Verdict.ACCEPTED, cardinality=N_N), [MANY]),
    (join("a", "b", None, role=None, cardinality=N_N), [MANY]),
    (DIRTY, ["the key has duplicates, so some rows of orders repeat"]),
    (join("a", "b", 0.9, Verdict.ACCEPTED, Verdict.REJECTED), ["a person rejected it"]),
    (join("a", "b", 0.9, Verdict.REJECTED, removed=True), ["a person rejected it"]),
    (join("a", "b", 0.9, removed=True), ["it is hidden in DataHub"]),
])  # fmt: skip
def test_every_doubt_is_named_in_both_directions(unsafe: Join, reasons: list[str]) -> None:
    assert reasons_unsafe(unsafe, min_score=MIN_SCORE) == reasons
    assert reasons_unsafe(unsafe.reversed, min_score=MIN_SCORE) == reasons


def test_the_user_sets_the_lowest_joinability() -> None:
    assert reasons_unsafe(join("a", "b", 0.6), min_score=0.6) == []
    assert reasons_unsafe(GOOD, min_score=0.95) == [
        "nobody confirmed it, and its joinability 0.90 is below 0.95"
    ]


def test_a_join_that_repeats_rows_may_be_right_all_the_same() -> None:
    assert doubts(DIRTY, min_score=MIN_SCORE) == []
    assert doubts(join("a", "b", 0.9, cardinality=ONE_N), min_score=MIN_SCORE) == []
    assert doubts(join("a", "b", 0.6, cardinality=N_1), min_score=MIN_SCORE) == [LOW]


def test_a_chain_of_joins_needs_the_joinability_of_a_safe_join() -> None:
    first, second = join("a", "b", 0.8), join("b", "c", 0.8)
    assert is_safe(first)
    assert is_safe(second)
    assert not is_safe(first, second)
    assert is_safe(first, second, min_score=0.64)
    assert is_safe(first, changed(second, verdicts=(Verdict.ACCEPTED,)))
    assert not is_safe(DIRTY)


def test_a_path_is_safe_by_the_same_rule() -> None:
    good, weak = join("a", "b", 0.9), join("b", "d", 0.6)
    assert JoinPath(steps=(Step(join=good),)).is_safe
    path = JoinPath(steps=(Step(join=good), Step(join=weak)))
    assert (path.keeps_grain, path.is_safe) == (True, False)
