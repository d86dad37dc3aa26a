"""Test that columns are found by name, and that people learn why a column is not a key column."""

from dataclasses import replace

import pytest

from browser.pages import column, profile, profiles
from datahub_hyperjoin.explain import as_record, describe_column, explain_column, find_profile
from datahub_hyperjoin.explain.errors import UnknownColumnError
from datahub_hyperjoin.tables import DataType
from lakes.explained import Run

PARKS, TEAMS, OTHER_TEAMS = (
    column(f"{name}.id") for name in ("lahman/Parks", "lahman/Teams", "retro/Teams")
)
TABLES = profiles(PARKS, TEAMS, OTHER_TEAMS)


@pytest.mark.parametrize(
    "name", ["lahman/Parks.csv.id", "lahman/Parks.id", "Parks.id", "Parks.csv.id"]
)
def test_a_column_is_found_by_its_name_its_title_and_the_end_of_its_name(name: str) -> None:
    assert find_profile(name, TABLES).id == PARKS


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "Teams.id",
            (
                "'Teams.id' fits lahman/Teams.csv.id, retro/Teams.csv.id. Write more of the "
                "table's name, so that it fits one column"
            ),
        ),
        (
            "lake/lahman/Teams.id",
            (
                "no table that was read has the column 'lake/lahman/Teams.id'. Did you mean "
                "lahman/Teams.csv.id?"
            ),
        ),
        (
            "Prks.id",
            "no table that was read has the column 'Prks.id'. Did you mean lahman/Parks.csv.id?",
        ),
        (
            "Parks.csv.idx",
            "the table 'lahman/Parks.csv' has no column 'idx'. Did you mean 'id'?",
        ),
        ("Parks.town", "the table 'lahman/Parks.csv' has no column 'town'. Did you mean 'id'?"),
        ("x", "no table that was read has the column 'x'. Write it as table.column"),
        *(
            (name, f"the table of {name!r} was not read: is empty. Mend the table and run again")
            for name in ("broken.id", "in/broken.csv.id", "broken.csv.id")
        ),
    ],
)
def test_a_name_that_fits_no_column_or_several_is_an_error(name: str, message: str) -> None:
    broken = profile(replace(PARKS.table, name="drop/in/broken.csv"), fault="is empty")
    with pytest.raises(UnknownColumnError) as caught:
        find_profile(name, [*TABLES, broken])
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("name", "obstacle"),
    [
        ("notes.flag", "it has 2 of at least 3 distinct values"),
        ("notes.text", "its texts have 99 characters on average, and a key column's at most 64"),
        (
            "shops.size",
            (
                "its whole numbers repeat (uniqueness 0.07 is below `model.keys.min_uniqueness` "
                "0.9), and its name has no word such as `id`"
            ),
        ),
    ],
)
def test_a_column_that_is_no_key_column_says_why(shop: Run, name: str, obstacle: str) -> None:
    account = shop.column(name)
    assert (account.is_key, account.obstacle) == (False, obstacle)
    assert f"{name} is no key column: {obstacle} (" in describe_column(account)


def test_a_column_whose_values_are_never_compared_says_so(shop: Run) -> None:
    """Use a nested column: the lake index omits it, so only its profile is known."""
    dates = replace(shop.profile("orders.id"), id=column("a.b"), type=DataType.NESTED)
    account = explain_column(dates, shop.comparison, shop.config)
    assert account.obstacle == "its type is nested, and such values are not compared"


def test_an_estimated_number_of_values_is_marked(shop: Run) -> None:
    many = replace(shop.profile("orders.id"), distinct=59_817, rows=60_000)
    account = explain_column(many, shop.comparison, shop.config)
    assert "(integer, about 59,800 distinct values in 60,000 rows," in describe_column(account)
    record = as_record(account)
    assert (record["distinct"], record["distinct_is_estimated"]) == (59_817, True)
    assert as_record(shop.column("orders.id"))["distinct_is_estimated"] is False


def test_a_key_column_lists_its_suggestions(shop: Run) -> None:
    lines = describe_column(shop.column("orders.customer_id")).splitlines()
    assert lines[0] == (
        "orders.customer_id is a key column (integer, 60 distinct values in 200 rows, filled in "
        "100%, uniqueness 0.30)"
    )
    assert lines[-1].split() == ["1", "customers.id", "1.00"]
    assert describe_column(shop.column("notes.code")).endswith("\nNo suggestions.")
    assert describe_column(shop.column("notes.flag")).endswith(
        "\nNo suggestions, since it is no key column."
    )
