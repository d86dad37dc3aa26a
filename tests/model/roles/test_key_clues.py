"""Test which columns look like the key of their own table."""

import numpy as np
import pytest

from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.roles.pair_scores import KeyClues, find_key_clues
from lakes.handmade import Tables, lake_of

UNIQUE, REPEATED, GAPS = ["1", "2", "3"], ["1", "1", "2"], ["1", "2", ""]


def clues_of(lake: Lake) -> KeyClues:
    uniqueness = np.array([profile.uniqueness for profile in lake.profiles])
    return find_key_clues(lake, uniqueness, uniqueness >= 0.95)


def find(clue: str, tables: Tables) -> set[str]:
    """Return the columns that have a given clue."""
    lake = lake_of(tables)
    return {str(lake.ids[at]) for at in np.flatnonzero(getattr(clues_of(lake), clue))}


def test_the_likeliest_key_leads_its_table() -> None:
    tables: Tables = {
        "users": {"id": UNIQUE, "mail": UNIQUE},
        "visits": {"user": REPEATED, "id": UNIQUE},
    }
    assert find("leads", tables) == {"users.id", "visits.id"}


@pytest.mark.parametrize(
    ("table", "name", "expected"),
    [
        ("users", "id", True),
        ("users", "user_id", True),
        ("Users", "UserID", True),
        ("user_roles", "role_code", True),
        ("countries", "country", True),
        ("warehouses", "warehouse_no", True),
        ("visits", "user_id", False),
        ("users", "user_mail", False),
        ("users", "__", False),
    ],
)
def test_a_key_is_called_id_or_named_after_its_own_table(
    table: str, name: str, *, expected: bool
) -> None:
    assert find("own_name", {table: {name: UNIQUE}}) == ({f"{table}.{name}"} if expected else set())


def test_columns_that_look_less_like_a_key_than_a_unique_and_complete_one_have_a_rival() -> None:
    tables: Tables = {
        "users": {"id": UNIQUE, "mail": UNIQUE, "city": REPEATED},
        "visits": {"user": REPEATED, "mail": GAPS, "id": UNIQUE, "day": UNIQUE},
        "notes": {"text": REPEATED, "mail": UNIQUE},
    }
    assert find("has_rival", tables) == {
        *("users.mail", "users.city", "notes.text"),
        *("visits.user", "visits.mail", "visits.day"),
    }


def test_a_column_that_no_other_may_refer_to_is_no_rival() -> None:
    lake = lake_of({"users": {"price": UNIQUE, "id": UNIQUE}})
    nothing = np.zeros(2, dtype=bool)
    assert clues_of(lake).has_rival.tolist() == [True, False]
    assert not find_key_clues(lake, np.ones(2), nothing).has_rival.any()


def test_a_lake_without_columns_has_no_keys() -> None:
    assert len(clues_of(lake_of({"a": {}})).leads) == 0


@pytest.mark.parametrize(
    ("table", "name", "expected"),
    [
        ("visits", "user_id", True),
        ("visits", "user", True),
        ("visits", "userid", True),
        ("visits", "fk_user", True),
        ("user_visits", "user_id", True),
        ("visits", "paying_user_id", False),
        ("visits", "visit_id", False),
        ("visits", "id", False),
        ("users_2", "user_id", False),
    ],
)
def test_some_columns_are_named_after_another_table(
    table: str, name: str, *, expected: bool
) -> None:
    tables: Tables = {"users": {"mail": UNIQUE}, table: {name: UNIQUE}}
    assert find("names_other", tables) == ({f"{table}.{name}"} if expected else set())


def test_a_first_word_of_three_tables_is_no_part_of_another_table_s_name() -> None:
    tables: Tables = {"dim_user": {"mail": UNIQUE}, "dim_day": {"day": UNIQUE}}
    sales = {"user_key": UNIQUE, "shop_key": UNIQUE}
    assert find("names_other", {**tables, "sales": sales}) == set()
    assert find("names_other", {**tables, "dim_x": {"x": UNIQUE}, "sales": sales}) == {
        "sales.user_key"
    }


def test_a_bridge_table_s_key_is_not_the_key_of_a_table_that_is_named_like_it() -> None:
    bridge: Tables = {"user_roles": {"role_id": UNIQUE}}
    assert find("own_name", bridge) == {"user_roles.role_id"}
    assert find("own_name", {**bridge, "roles": {"text": UNIQUE}}) == set()
