"""Test which pairs of columns are suggested by names and folders."""

from dataclasses import replace

import numpy as np
import pytest

from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.signals import partners
from datahub_hyperjoin.model.signals.partners import find_near_pairs
from handmade import MakeLake

UNIQUE, REPEATED = ["1", "2", "3"], ["1", "1", "2"]


def near(lake: Lake, *chosen: str, most_named: int = 0) -> set[tuple[str, str]]:
    """Return the near pairs of the chosen columns, or of all columns if none is chosen."""
    names = [f"{column.table.name}.{column.path}" for column in lake.ids]
    mask = np.array([not chosen or name in chosen for name in names])
    return {
        (names[left], names[right])
        for block in find_near_pairs(lake, mask, most_named)
        for left, right in zip(*(ends.tolist() for ends in block), strict=True)
    }


def test_a_folder_suggests_each_pair_with_a_unique_column(make_lake: MakeLake) -> None:
    lake = make_lake(
        {"f/a": {"x": UNIQUE, "y": REPEATED}, "f/b": {"z": REPEATED}, "g/c": {"w": UNIQUE}}
    )
    # Either of the two may be the chosen one; if both are, they are paired once.
    assert near(lake) == near(lake, "f/a.x") == {("f/a.x", "f/b.z")}
    assert near(lake, "f/b.z") == {("f/b.z", "f/a.x")}


def test_a_reference_has_the_name_of_a_table_elsewhere(make_lake: MakeLake) -> None:
    lake = make_lake({"f/customers": {"id": UNIQUE}, "g/orders": {"customer_id": REPEATED}})
    lake = replace(lake, titles=("customers", "orders"))
    assert near(lake, "g/orders.customer_id") == {("g/orders.customer_id", "f/customers.id")}


def test_only_partners_of_chosen_columns_are_found(
    make_lake: MakeLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(partners, "_COLUMNS_AT_ONCE", 1)
    lake = make_lake({f"f/t{at}": {f"c{at}": UNIQUE} for at in range(4)})
    assert near(lake, "f/t2.c2") == {("f/t2.c2", f"f/t{at}.c{at}") for at in (0, 1, 3)}
    assert len(near(lake)) == 6
    assert len(near(lake, "f/t2.c2", "f/t3.c3")) == 5


def test_a_name_of_many_unique_columns_suggests_nothing(
    make_lake: MakeLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(partners, "_MOST_NAMESAKES", 2)
    tables = {f"f{at}/t{at}": {"remark": UNIQUE} for at in range(3)}
    assert near(make_lake(tables)) == set()
    # One key, and many columns that refer to it.
    referring = {f"f{at}/t{at}": {"customer": REPEATED} for at in range(3)}
    assert len(near(make_lake({"g/k": {"customer": UNIQUE}, **referring}))) == 3


def test_many_unique_columns_of_a_name_hide_no_key_of_a_table_of_this_name(
    make_lake: MakeLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(partners, "_MOST_NAMESAKES", 2)
    extensions = {f"f{at}/t{at}": {"customer_id": UNIQUE} for at in range(3)}
    lake = make_lake({"g/customers": {"id": UNIQUE}, **extensions})
    lake = replace(lake, titles=("customers", *extensions))
    expected = {("g/customers.id", f"{table}.customer_id") for table in extensions}
    assert near(lake) == near(lake, "g/customers.id") == expected
    # Of three tables of customers, none is known to be the one meant.
    lake = make_lake({f"g{at}/customers": {"id": UNIQUE} for at in range(3)} | extensions)
    lake = replace(lake, titles=(*["customers"] * 3, *extensions))
    assert near(lake) == set()


def schema(make_lake: MakeLake) -> Lake:
    """Make a lake of one folder in which two tables have roles."""
    keys = {f"f/{name}": {"id": UNIQUE} for name in ("colour", "device_role", "rack_role")}
    lake = make_lake({**keys, "f/rack": {"role_id": REPEATED}})
    return replace(lake, titles=("colour", "device_role", "rack_role", "rack"))


@pytest.mark.parametrize(
    ("most", "tables"),
    [
        (0, []),
        (1, ["rack_role"]),
        (2, ["rack_role", "device_role"]),
        (9, ["rack_role", "device_role", "colour"]),
    ],
)
def test_a_large_folder_suggests_the_keys_with_the_most_similar_names(
    make_lake: MakeLake, monkeypatch: pytest.MonkeyPatch, most: int, tables: list[str]
) -> None:
    monkeypatch.setattr(partners, "_MOST_NEIGHBOURS", 3)
    found = near(schema(make_lake), "f/rack.role_id", most_named=most)
    assert found == {("f/rack.role_id", f"f/{table}.id") for table in tables}


def test_if_all_keys_of_a_large_folder_are_named_it_suggests_what_a_small_one_does(
    make_lake: MakeLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = {f"f/t{at}": {f"x{at}": UNIQUE, f"y{at}": REPEATED} for at in range(7)}
    lake = make_lake(tables | {"g/u": {"z": UNIQUE}})
    expected = {frozenset(pair) for pair in near(lake)}
    assert len(expected) == 7 * 6 // 2 + 7 * 6
    monkeypatch.setattr(partners, "_MOST_NEIGHBOURS", 3)
    monkeypatch.setattr(partners, "_BLOCK", 2)
    assert {frozenset(pair) for pair in near(lake, most_named=99)} == expected
    assert near(lake) == set()


def test_a_large_folder_suggests_no_text_for_a_number(
    make_lake: MakeLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(partners, "_MOST_NEIGHBOURS", 2)
    lake = make_lake(
        {
            "f/a": {"code": REPEATED},
            "f/b": {"code_id": UNIQUE},
            "f/c": {"code_id": ["x", "y", "z"]},
        }
    )
    assert near(lake, "f/a.code", most_named=2) == {("f/a.code", "f/b.code_id")}


def test_a_large_folder_without_unique_columns_suggests_nothing(
    make_lake: MakeLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(partners, "_MOST_NEIGHBOURS", 2)
    lake = make_lake({f"f/t{at}": {f"c{at}": REPEATED} for at in range(3)})
    assert near(lake, most_named=9) == set()
