"""Test that a sentence about the rows of a join agrees with what SQL returns."""

import pytest

from datahub_hyperjoin.joins import Cardinality, Join, Role, RowCounts
from datahub_hyperjoin.joins.describe import describe_rows
from datahub_hyperjoin.tables import ColumnId, TableId
from lakes.chains import N_1, N_N, ONE_1, changed, join

TITLES = ("deals.csv", "firms.csv")
TURNED = (TITLES[1], TITLES[0])


def deals(
    total: int,
    filled: int,
    matched: int | None,
    *,
    key: str = "firm",
    cardinality: Cardinality = N_1,
) -> Join:
    """Make a join of deals with 40 firms, all of which have deals."""
    made = join("deals", "firms", 0.9, key=key, cardinality=cardinality)
    firms = RowCounts(total=40, filled=40, matched=None if matched is None else 40)
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
            "1,000 of 1,200 deals have one firm; 200 have no value.",
            "Each firm has 25 deals on average; 200 of 1,200 deals have no firm.",
        ),
        (
            1200, 1001, 1000,
            ("1,000 of 1,200 deals have one firm; 199 have no value and 1 has a value that no firm "
            "has."),
            "Each firm has 25 deals on average; 200 of 1,200 deals have no firm.",
        ),
        (
            1200, 1200, 1000,
            "1,000 of 1,200 deals have one firm; 200 have a value that no firm has.",
            "Each firm has 25 deals on average; 200 of 1,200 deals have no firm.",
        ),
        (1200, 1200, 1200, "Each deal has one firm.", "Each firm has 30 deals on average."),
        (
            80, 80, 0,
            "No deal has one firm.",
            "Each firm has 0 deals on average; 80 of 80 deals have no firm.",
        ),
        (
            80, 2, 1,
            "1 of 80 deals has one firm; 78 have no value and 1 has a value that no firm has.",
            "Each firm has 0.025 deals on average; 79 of 80 deals have no firm.",
        ),
        (
            6_000_000, 5_000_000, 4_999_000,
            ("83% of the deals have one firm; 17% have no value and <1% have a value that no firm "
            "has."),
            "Each firm has 124,975 deals on average; 17% of the deals have no firm.",
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
        "Each firm has 1.5 deals on average; 10 of 40 firms have none."
    )


def test_the_means_of_a_join_that_repeats_rows_are_over_all_rows() -> None:
    made = deals(200, 100, None, cardinality=N_N)
    told = changed(made, left_fan_out=6.0, right_fan_out=15.0)
    assert describe_rows(told, TITLES) == (
        "Each deal matches 3 firms on average, and each firm 15 deals, so joining them multiplies "
        "rows."
    )


def test_what_nobody_counted_is_not_told() -> None:
    plain = join("deals", "firms", 0.9, key="firm", fan_outs=(0.965, 3.25))
    assert describe_rows(plain, TITLES) == "96% of the deals with a firm have one firm."
    assert describe_rows(plain.reversed, TURNED) == (
        "Each firm has 3.25 deals on average; 4% of the deals with a firm have no firm."
    )
    assert describe_rows(changed(plain, left_fan_out=1.0), TITLES) == (
        "Each deal with a firm has one firm."
    )
    unknown = join("deals", "firms", None, role=None)
    assert describe_rows(unknown, TITLES) == "Each deal has at most one firm (by key)."
    assert describe_rows(unknown.reversed, TURNED) == (
        "Each firm has any number of deals (by key)."
    )
    many = join("deals", "firms", None, role=None, cardinality=N_N)
    assert describe_rows(many, TITLES) == (
        "Many deals match many firms, so joining them multiplies rows."
    )


def test_a_composite_key_names_the_columns_of_which_one_is_empty() -> None:
    made = deals(100, 90, 90)
    year = ColumnId(TableId("file", "deals"), "year"), ColumnId(TableId("file", "firms"), "year")
    told = "90 of 100 deals have one firm; 10 have no value in firm or year."
    assert describe_rows(changed(made, pairs=(*made.pairs, year)), TITLES) == told
    without = told.replace(" in firm or year", "")
    known = changed(made, pairs=(*made.pairs, year))
    assert describe_rows(known, TITLES, columns=False) == without


@pytest.mark.parametrize(
    ("title", "told"),
    [
        ("sales_pipelines.csv.gz", "Each sales pipeline has one firm (by owner)."),
        ("StatusCodes", "Each status code has one firm (by owner)."),
        ("categories", "Each category has one firm (by owner)."),
        ("addresses", "Each address has one firm (by owner)."),
        ("series", "Each row of series has one firm (by owner)."),
        ("t2024", "Each row of t2024 has one firm (by owner)."),
    ],
)
def test_a_row_has_the_name_of_its_table(title: str, told: str) -> None:
    assert describe_rows(deals(9, 9, 9, key="owner"), (title, "firms")) == told


def test_one_to_one_tables_are_told_from_both_sides() -> None:
    made = join("deals", "firms", 0.9, role=Role.ONE_TO_ONE, cardinality=ONE_1, fan_outs=(0.9, 0.5))
    counted = changed(
        made,
        left_counts=RowCounts(total=110, filled=100, matched=90),
        right_counts=RowCounts(total=180, filled=180, matched=90),
    )
    assert describe_rows(counted, TITLES) == (
        "90 of 110 deals have one firm (by key); 10 have no value and 10 have a value that no firm "
        "has."
    )
    assert describe_rows(counted.reversed, TURNED) == (
        "90 of 180 firms have one deal (by key); 90 have a value that no deal has."
    )
