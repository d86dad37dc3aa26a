"""Test that a sentence about the rows of a join agrees with what SQL returns."""

import pytest

from datahub_hyperjoin.joins import Cardinality, Join, Role, RowCounts
from datahub_hyperjoin.joins.describe import describe_rows
from datahub_hyperjoin.tables import ColumnId
from lakes.chains import N_1, N_N, ONE_1, changed, join

TITLES = ("deals.csv", "firms.csv")
TURNED = (TITLES[1], TITLES[0])


def deals(
    total: int,
    filled: int,
    matched: int | None,
    *,
    cardinality: Cardinality = N_1,
) -> Join:
    """Make a join of deals with 40 firms, which have deals if there are enough."""
    made = join("deals", "firms", 0.9, key="firm", cardinality=cardinality)
    firms = RowCounts(total=40, filled=40, matched=None if matched is None else min(matched, 40))
    return changed(
        made,
        left_fan_out=(matched or 0) / filled,
        right_fan_out=(matched or 0) / 40,
        left_counts=RowCounts(total=total, filled=filled, matched=matched),
        right_counts=firms,
    )


@pytest.mark.parametrize(
    ("total", "filled", "matched", "forward", "backward"),
    [
        (
            1200, 1000, 1000,
            ("1,000 of 1,200 deals (83%) match one firm; an inner join drops 200 without a "
            "value."),
            "Each firm matches about 25 deals.",
        ),
        (
            1200, 1001, 1000,
            ("1,000 of 1,200 deals (83%) match one firm; an inner join drops 199 without a value "
            "and 1 whose value has no match."),
            "Each firm matches about 25 deals.",
        ),
        (
            1200, 1200, 1000,
            ("1,000 of 1,200 deals (83%) match one firm; an inner join drops 200 whose value has "
            "no match."),
            "Each firm matches about 25 deals.",
        ),
        (1200, 1200, 1200, "Each deal has one firm.", "Each firm matches about 30 deals."),
        (40, 40, 40, "Each deal has one firm.", "Each firm matches one deal."),
        (42, 42, 42, "Each deal has one firm.", "Each firm matches about 1.1 deals."),
        (80, 80, 0, "No deal matches a firm.", "No firm matches a deal."),
        (
            80, 2, 1,
            ("1 of 80 deals (1%) matches one firm; an inner join drops 78 without a value and 1 "
            "whose value has no match."),
            ("1 of 40 firms (2%) matches one deal; an inner join drops 39 whose value has no "
            "match."),
        ),
        (
            6_000_000, 5_000_000, 4_999_000,
            ("83% of the deals match one firm; an inner join drops 17% without a value and <1% "
            "whose value has no match."),
            "Each firm matches about 125,000 deals.",
        ),
    ],
)  # fmt: skip
def test_rows_without_a_partner_are_counted_with_the_reason(
    total: int, filled: int, matched: int, forward: str, backward: str
) -> None:
    made = deals(total, filled, matched)
    assert describe_rows(made, TITLES) == forward
    assert describe_rows(made.reversed, TURNED) == backward


def test_keys_without_referring_rows_are_counted() -> None:
    made = changed(deals(60, 60, 60), right_counts=RowCounts(total=40, filled=40, matched=30))
    assert describe_rows(made.reversed, TURNED) == (
        "30 of 40 firms (75%) match about 2 deals each; an inner join drops 10 whose value has no "
        "match."
    )


def test_of_a_join_that_repeats_rows_the_result_is_told() -> None:
    made = deals(200, 100, None, cardinality=N_N)
    told = changed(made, left_fan_out=6.0, right_fan_out=15.0)
    repeats = "Values repeat on both sides, so joining repeats rows of both"
    assert describe_rows(told, TITLES) == f"{repeats}: 200 deals and 40 firms give 600 rows."
    assert describe_rows(changed(told, rows=1_234_567), TITLES) == (
        f"{repeats}: 200 deals and 40 firms give about 1,230,000 rows."
    )
    uncounted = changed(told, left_counts=None, right_counts=None)
    assert describe_rows(uncounted, TITLES) == f"{repeats}: about 6 firms per deal."
    few = changed(uncounted, left_fan_out=0.0384)
    assert describe_rows(few, TITLES) == f"{repeats}: about 3.8 firms per 100 deals."
    fewer = changed(uncounted, left_fan_out=0.00384)
    assert describe_rows(fewer, TITLES) == f"{repeats}: about 3.8 firms per 1,000 deals."


def test_what_nobody_counted_is_not_told() -> None:
    plain = join("deals", "firms", 0.9, key="firm", fan_outs=(0.965, 3.25))
    assert describe_rows(plain, TITLES) == "96% of the deals with a value match one firm."
    assert describe_rows(plain.reversed, TURNED) == "Each firm matches about 3.2 deals."
    few = changed(plain, right_fan_out=0.25)
    assert describe_rows(few.reversed, TURNED) == "100 firms match about 25 deals."
    assert describe_rows(changed(plain, left_fan_out=1.0), TITLES) == (
        "Each deal with a value matches one firm."
    )
    unknown = join("deals", "firms", None, role=None)
    assert describe_rows(unknown, TITLES) == "Each deal matches at most one firm."
    assert describe_rows(unknown.reversed, TURNED) == "Each firm matches any number of deals."
    many = join("deals", "firms", None, role=None, cardinality=N_N)
    assert describe_rows(many, TITLES) == "Many deals may match many firms."


def test_a_table_that_joins_with_itself_is_named_once() -> None:
    made = deals(9, 9, 9)
    key = ColumnId(made.left.table, "id")
    assert describe_rows(changed(made, pairs=((made.left, key),)), TITLES) == (
        "Each deal has one row of the same table."
    )


@pytest.mark.parametrize(
    ("title", "told"),
    [
        ("sales_pipelines.csv.gz", "Each sales pipeline has one firm."),
        ("StatusCodes", "Each status code has one firm."),
        ("categories", "Each category has one firm."),
        ("addresses", "Each address has one firm."),
        ("series", "Each row of series has one firm."),
        ("t2024", "Each row of t2024 has one firm."),
    ],
)
def test_a_row_has_the_name_of_its_table(title: str, told: str) -> None:
    assert describe_rows(deals(9, 9, 9), (title, "firms")) == told


def test_one_to_one_tables_are_told_from_both_sides() -> None:
    made = join("deals", "firms", 0.9, role=Role.ONE_TO_ONE, cardinality=ONE_1, fan_outs=(0.9, 0.5))
    counted = changed(
        made,
        left_counts=RowCounts(total=110, filled=100, matched=90),
        right_counts=RowCounts(total=180, filled=180, matched=90),
    )
    assert describe_rows(counted, TITLES) == (
        "90 of 110 deals (82%) match one firm; an inner join drops 10 without a value and 10 whose "
        "value has no match."
    )
    assert describe_rows(counted.reversed, TURNED) == (
        "90 of 180 firms (50%) match one deal; an inner join drops 90 whose value has no match."
    )
