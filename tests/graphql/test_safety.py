"""Test which joins count as safe, and which reasons are given for doubting the others."""

from dataclasses import replace

import pytest
from chains import N_1, N_N, ONE_1, ONE_N, domain, join

from datahub_hyperjoin.graphql import CatalogJoin
from datahub_hyperjoin.graphql.safety import MIN_SCORE, reasons_unsafe, reasons_unsafe_in_path
from datahub_hyperjoin.joins import Role, Verdict
from datahub_hyperjoin.metadata.confidence_bands import UNVERIFIED

GOOD = join("orders", "customers", 0.9)
DIRTY = replace(
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
    replace(domain("orders", "customers", 0.1), verdicts=(Verdict.ACCEPTED,)),
    replace(GOOD, band=UNVERIFIED, declared=True),
    join("employees", "employees", 0.9, key="manager"),
])  # fmt: skip
def test_a_join_is_safe_if_a_person_or_the_data_confirms_it(safe: CatalogJoin) -> None:
    assert reasons_unsafe(safe, min_score=MIN_SCORE) == []


@pytest.mark.parametrize(("unsafe", "reasons"), [
    (join("a", "b", 0.6), [LOW]),
    (replace(GOOD, band=UNVERIFIED), [NAMES_ONLY]),
    (replace(join("a", "b", 0.6), band=UNVERIFIED), [NAMES_ONLY, LOW]),
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
def test_every_doubt_is_named_in_both_directions(unsafe: CatalogJoin, reasons: list[str]) -> None:
    assert reasons_unsafe(unsafe, min_score=MIN_SCORE) == reasons
    assert reasons_unsafe(unsafe.reversed, min_score=MIN_SCORE) == reasons


def test_the_user_sets_the_lowest_joinability() -> None:
    assert reasons_unsafe(join("a", "b", 0.6), min_score=0.6) == []
    assert reasons_unsafe(GOOD, min_score=0.95) == [
        "nobody confirmed it, and its joinability 0.90 is below 0.95"
    ]


def test_a_join_that_repeats_rows_may_be_right_all_the_same() -> None:
    assert reasons_unsafe_in_path(DIRTY, min_score=MIN_SCORE) == []
    assert reasons_unsafe_in_path(join("a", "b", 0.9, cardinality=ONE_N), min_score=MIN_SCORE) == []
    assert reasons_unsafe_in_path(join("a", "b", 0.6, cardinality=N_1), min_score=MIN_SCORE) == [
        LOW
    ]
