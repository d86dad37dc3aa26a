"""Test how names show which tables belong to one database."""

from math import log, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.roles.pair_scores import TableClues, TableComparison
from datahub_hyperjoin.model.signals import sketches
from lakes.handmade import Tables, lake_of

VALUES = ["1", "2"]


def compare(lake: Lake) -> TableClues:
    """Compare all tables of a lake with each other."""
    left, right = np.indices((len(lake.titles),) * 2).reshape(2, -1)
    return TableComparison(lake).of(left, right)


def clue(name: str, one: str, other: str) -> float:
    """Return a clue about two tables, which are given by their titles."""
    lake = lake_of({one: {"x": VALUES}, other: {"y": VALUES}})
    clues = TableComparison(lake).of(np.array([0, 1]), np.array([1, 0]))
    forward, backward = getattr(clues, name)
    assert forward == backward
    return float(forward)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("orders", "users", 0),
        ("order_lines", "order_notes", 0),
        ("order_lines", "users", 1),
        ("ORDERS", "USERS", 0),
        ("ORDERS", "Users", 1),
        ("ORDERS", "users", 2),
        ("Order Lines", "order lines", 1),
        ("ORDER_LINES", "user notes", 4),
    ],
)
def test_style_counts_how_differently_two_names_are_written(
    one: str, other: str, expected: int
) -> None:
    assert clue("style", one, other) == expected


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("orders", "users", 1),
        ("orders2", "users2", 1),
        ("orders2", "users", 0),
        ("orders2", "users12", 0),
        ("2orders", "users", 1),
    ],
)
def test_copies_of_a_system_share_the_number_at_the_end(
    one: str, other: str, expected: int
) -> None:
    assert clue("same_number", one, other) == expected


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("crm_orders", "crm_users", 1),
        ("crmOrders", "CRM_USERS", 1),
        ("crm_orders", "hr_users", 0),
        ("crm", "crm2", 0),
        ("orders", "users", 0),
        ("__", "--", 0),
    ],
)
def test_tables_of_a_system_share_the_first_of_several_words(
    one: str, other: str, expected: int
) -> None:
    assert clue("same_prefix", one, other) == expected


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("shop/orders", "shop/users", 0),
        ("shop/orders", "site/users", 1),
        ("shop/orders", "users", 1),
        ("orders.csv", "users.csv", 0),
    ],
)
def test_tables_of_other_folders_are_elsewhere(one: str, other: str, expected: int) -> None:
    assert clue("elsewhere", one, other) == expected


columns = st.sets(st.sampled_from("abcdef"), min_size=1)


@given(st.lists(columns, min_size=1, max_size=5))
def test_vocabulary_is_the_cosine_of_column_names_by_rarity(owned: list[set[str]]) -> None:
    lake = lake_of({f"t{n}": dict.fromkeys(sorted(own), VALUES) for n, own in enumerate(owned)})

    def weigh(names: set[str]) -> float:
        return sum(log(len(owned) / sum(name in own for own in owned)) ** 2 for name in names)

    expected = [
        weigh(one & other) / sqrt(weigh(one) * weigh(other)) if weigh(one & other) else 0.0
        for one in owned
        for other in owned
    ]
    assert compare(lake).vocabulary.tolist() == pytest.approx(expected)


def test_many_pairs_are_compared_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    tables: Tables = {f"t{n}": {"id": VALUES, f"x{n % 3}": VALUES} for n in range(9)}
    lake = lake_of(tables)
    whole = compare(lake).vocabulary
    monkeypatch.setattr(sketches, "_CHUNK", 7)
    assert compare(lake).vocabulary.tolist() == whole.tolist()
    assert {0.0, 1.0} == {*np.round(whole, 9).tolist()}


@pytest.mark.parametrize("tables", [{}, {"a": {}}])
def test_a_lake_without_columns_has_no_pairs(tables: Tables) -> None:
    none = np.zeros(0, dtype=np.int64)
    clues = TableComparison(lake_of(tables)).of(none, none)
    assert {len(values) for values in vars(clues).values()} == {0}
