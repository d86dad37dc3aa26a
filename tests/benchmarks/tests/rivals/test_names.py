"""Test that column names match in different spellings, whatever values the columns have."""

from pathlib import Path

from benchmarks.rivals.choose import choose_rivals
from lakes.rivalry import ask, suite

[NAMES] = choose_rivals(["column names"])


def test_columns_called_alike_are_answers(tmp_path: Path) -> None:
    tables = {
        "orders": {"customerId": ["1"]},
        "people": {"CUSTOMER_ID": ["x"], "customer": ["y"]},
        "planes": {"tailnum": ["1"]},
    }
    # `customer` has 8 trigrams and `id` 2: Dice's coefficient is 2 * 8 / (10 + 8).
    assert ask(NAMES, suite(tmp_path, tables, "orders.customerId")) == {
        "orders.customerId": [("people.CUSTOMER_ID", 1.0), ("people.customer", 2 * 8 / 18)]
    }
