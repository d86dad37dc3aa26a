"""Test that columns of one name in many folders together choose the key to which they refer."""

from dataclasses import replace

import pytest

from datahub_hyperjoin.model.roles.pair_scores import DEFAULT_WEIGHTS
from lakes.handmade import Tables, draw, lake_of, numbers
from lakes.referring import Named, name, references_of

ALONE = replace(DEFAULT_WEIGHTS, common_key=0.0)
KEY, LARGER = "core/customer.customer_id", "other/customer.customer_id"
KEYS: Tables = {
    "core/customer": {"customer_id": numbers(1, 61)},
    "other/customer": {"customer_id": numbers(1, 71)},
}


def orders(folders: int, last: int = 60, first: int = 0) -> Tables:
    """Return a table with a customer in each folder, whose numbers are at most `last`."""
    return {
        f"f{number}/order": {
            "code": numbers(1000 * (number + 1), 1000 * (number + 1) + 100),
            "customer_id": draw(numbers(1, last + 1), 100, number),
        }
        for number in range(first, first + folders)
    }


def probabilities(tables: Tables, *, together: bool = True) -> Named:
    lake = lake_of(tables)
    lake = replace(lake, titles=tuple(title.rsplit("/", 1)[1] for title in lake.titles))
    weights = DEFAULT_WEIGHTS if together else ALONE
    return name(lake, references_of(lake, weights=weights))


def test_columns_of_many_folders_agree_on_one_of_two_keys() -> None:
    tables = {**KEYS, **orders(6)}
    alone, together = probabilities(tables, together=False), probabilities(tables)
    for folder in range(6):
        column = f"f{folder}/order.customer_id"
        assert together[column, KEY] > max(0.7, alone[column, KEY])
        assert together[column, LARGER] < alone[column, LARGER]


def test_two_folders_are_too_few_to_agree() -> None:
    tables = {**KEYS, **orders(2)}
    assert probabilities(tables) == probabilities(tables, together=False)


def test_a_key_of_the_own_folder_is_not_given_up() -> None:
    own: Tables = {"f9/customer": {"customer_id": numbers(1, 61)}}
    tables = {**KEYS, **orders(6), **own, **orders(1, first=9)}
    alone, together = probabilities(tables, together=False), probabilities(tables)
    pair = "f9/order.customer_id", "f9/customer.customer_id"
    assert together != alone
    assert together[pair] == pytest.approx(alone[pair]) == max(alone[pair], 0.5)


def test_a_key_that_fits_only_half_of_the_columns_is_not_common() -> None:
    keys: Tables = {
        "core/customer": {"customer_id": [f"a{number}" for number in range(60)]},
        "other/customer": {"customer_id": [f"b{number}" for number in range(60)]},
    }
    rows: Tables = {
        f"f{number}/order": {
            "customer_id": draw([f"{'ab'[number % 2]}{at}" for at in range(60)], 100, number)
        }
        for number in range(6)
    }
    tables = {**keys, **rows}
    assert probabilities(tables) == probabilities(tables, together=False)


def test_names_such_as_id_are_not_compared_between_folders() -> None:
    tables = {
        path: {column.replace("customer_id", "id"): cells for column, cells in columns.items()}
        for path, columns in {**KEYS, **orders(6)}.items()
    }
    assert probabilities(tables) == probabilities(tables, together=False)
