"""Test that the columns of each copy of a database refer to its own keys."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from benchmarks.moved_tables import move
from datahub_hyperjoin.joins import CatalogEvidence
from datahub_hyperjoin.model.lake import Lake
from lakes.handmade import Tables, draw, facts_of, lake_of, numbers, profile_lake
from lakes.referring import name, references_of

CUSTOMERS = numbers(1, 61)


def copies(folders: Sequence[str], at_home: Sequence[str] = CUSTOMERS) -> Tables:
    """Return the same customers and orders in each folder; the customers of the last are given."""
    orders = {"code": numbers(5000, 5100), "customer_id": draw(CUSTOMERS, 100)}
    customers = dict.fromkeys(folders, CUSTOMERS) | {folders[-1]: at_home}
    return {
        **{f"{folder}/Customer": {"customer_id": of} for folder, of in customers.items()},
        **{f"{folder}/order": orders for folder in folders},
    }


def with_titles(lake: Lake) -> Lake:
    """Title each table as its file, without its folder."""
    return replace(lake, titles=tuple(title.rsplit("/", 1)[1] for title in lake.titles))


@pytest.mark.parametrize("count", [2, 12])
def test_each_copy_refers_to_its_own_key(count: int) -> None:
    folders = [f"year_{at}" for at in range(count)]
    lake = with_titles(lake_of(copies(folders)))
    found = name(lake, references_of(lake))
    alone = with_titles(lake_of(copies(folders[:1])))
    [expected] = name(alone, references_of(alone)).values()
    assert expected > 0.5
    for folder in folders:
        column, key = f"{folder}/order.customer_id", f"{folder}/Customer.customer_id"
        assert found[column, key] > 0.9 * expected
        others = (p for pair, p in found.items() if pair[0] == column and pair[1] != key)
        assert sum(others) < 0.01


def test_a_copy_that_lacks_the_values_does_not_stand_for_the_others() -> None:
    lake = with_titles(lake_of(copies(["full", "empty"], numbers(900, 960))))
    found = name(lake, references_of(lake))
    assert found["empty/order.customer_id", "full/Customer.customer_id"] > 0.5


def test_a_unique_column_refers_to_the_key_of_its_folder_and_not_to_its_copy() -> None:
    members = numbers(11, 51)
    tables: Tables = {
        f"{folder}/{table}": columns
        for folder in ("dev", "prod")
        for table, columns in {
            "Customer": {"customer_id": CUSTOMERS},
            "member": {"since": draw(numbers(2001, 2020), 40), "customer_id": members},
        }.items()
    }
    lake = with_titles(lake_of(tables))
    found = name(lake, references_of(lake))
    for folder, other in (("dev", "prod"), ("prod", "dev")):
        column = f"{folder}/member.customer_id"
        assert found[column, f"{folder}/Customer.customer_id"] > 0.5
        assert found[column, f"{other}/member.customer_id"] < 0.01


def test_of_equal_copies_elsewhere_one_is_enough() -> None:
    tables = copies([f"year_{at}" for at in range(6)])
    mart: Tables = {"mart/sale": {"code": numbers(7000, 7100), "customer_id": draw(CUSTOMERS, 100)}}
    lake = with_titles(lake_of({**tables, **mart}))
    column, key = "mart/sale.customer_id", "year_0/Customer.customer_id"
    assert name(lake, references_of(lake))[column, key] > 0.5


def test_keys_of_one_name_with_other_values_compete() -> None:
    keys: Tables = {
        f"year_{at}/Customer": {"customer_id": [*CUSTOMERS, f"{at}x"]} for at in range(6)
    }
    mart: Tables = {"mart/sale": {"code": numbers(7000, 7100), "customer_id": draw(CUSTOMERS, 100)}}
    lake = with_titles(lake_of({**keys, **mart}))
    found = name(lake, references_of(lake))
    likely = [found["mart/sale.customer_id", f"{table}.customer_id"] for table in keys]
    assert max(likely) - min(likely) < 0.01


@pytest.mark.parametrize("count", [2, 12])
def test_copies_may_have_other_columns(count: int) -> None:
    folders = [f"year_{at}" for at in range(count)]
    tables = {**copies(folders)}
    for folder in folders:
        cities = {f"{name} of {folder}": ["Oslo"] * len(CUSTOMERS) for name in ("city", "port")}
        tables[f"{folder}/Customer"] = {"customer_id": CUSTOMERS, **cities}
    lake = with_titles(lake_of(tables))
    found = name(lake, references_of(lake))
    for folder in folders:
        column, key = f"{folder}/order.customer_id", f"{folder}/Customer.customer_id"
        assert found[column, key] > 0.5
        others = (p for pair, p in found.items() if pair[0] == column and pair[1] != key)
        assert sum(others) < 0.01


def test_the_catalog_may_connect_a_column_with_a_copy() -> None:
    pair = "a/order.customer_id", "b/Customer.customer_id"
    lake = with_titles(lake_of(copies(["a", "b"])))
    facts = facts_of({pair: CatalogEvidence(declared="key")})
    assert name(lake, references_of(lake))[pair] < 0.01
    assert name(lake, references_of(lake, facts))[pair] > 0.9


def test_names_of_copies_may_differ_in_case() -> None:
    tables = copies(["a", "b"])
    tables = {**tables, "b/CUSTOMER": {"CUSTOMER_ID": CUSTOMERS}}
    del tables["b/Customer"]
    lake = with_titles(lake_of(tables))
    found = name(lake, references_of(lake))
    assert found["b/order.customer_id", "a/Customer.customer_id"] < 0.01


@pytest.mark.parametrize("part", ["platform", "env"])
def test_platforms_and_environments_may_have_the_same_schema(part: str) -> None:
    places = [f"copy_{at}" for at in range(4)]
    profiles = profile_lake(copies(["shop"]))
    lake = with_titles(
        Lake.from_tables(
            [
                move(profile, replace(profile.table.id, **{part: place}))
                for place in places
                for profile in profiles
            ]
        )
    )
    best = references_of(lake).best
    sure = [(lake.ids[column], lake.ids[key]) for column, (key, p) in best.items() if p > 0.5]
    of_orders = [(column, key) for column, key in sure if column.table.name == "shop/order"]
    assert {getattr(column.table, part): getattr(key.table, part) for column, key in of_orders} == {
        place: place for place in places
    }
