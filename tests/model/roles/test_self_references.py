"""Test which columns, such as `manager_id`, refer to the key of their own table."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from datahub_hyperjoin.catalog_facts import CatalogFacts
from datahub_hyperjoin.joins import CatalogEvidence
from datahub_hyperjoin.model.config import FeatureConfig, ModelConfig
from datahub_hyperjoin.model.roles.candidates import compare_with_own_keys
from datahub_hyperjoin.model.signals.priors import CatalogPriors
from lakes.deciding import index_of
from lakes.handmade import Tables, draw, facts_of, lake_of, numbers, things

IDS = numbers(5001, 5101)
MANAGER = ("staff.manager_id", "staff.staff_id")


def staff(**columns: list[str]) -> Tables:
    return {"staff": {"staff_id": IDS, **columns}, **things(8)}


def find(
    tables: Tables, facts: CatalogFacts | None = None, config: ModelConfig | None = None
) -> dict[tuple[str, str], float]:
    """Return the probable references within one table, with their probabilities.

    Probabilities below one half are left out.
    """
    index = index_of(tables, facts or CatalogFacts(), config or ModelConfig())
    names = [str(column) for column in index.lake.ids]
    return {
        (names[column], names[key]): probability
        for column, (key, probability) in index.references.best.items()
        if index.lake.table_of[column] == index.lake.table_of[key] and probability >= 0.5
    }


@pytest.mark.parametrize("name", ["manager_id", "parent_staff", "boss", "reports_to"])
def test_a_parent_is_found_by_its_name(name: str) -> None:
    found = find(staff(**{name: draw(IDS[:30], 100)}))
    assert found.keys() == {(f"staff.{name}", "staff.staff_id")}


SKUS = [f"S{number:03}" for number in range(100)]


def items(**columns: list[str]) -> Tables:
    return {"items": {"id": numbers(1, 101), "sku": SKUS, **columns}, **things(8)}


@pytest.mark.parametrize("name", ["master_sku", "root", "belongs_to", "part_of", "base_sku"])
def test_a_parent_may_be_a_text_beside_the_number_of_its_row(name: str) -> None:
    found = find(items(**{name: draw(SKUS[:30], 100)}))
    assert found.keys() == {(f"items.{name}", "items.sku")}


def test_a_text_of_another_name_is_no_parent() -> None:
    assert find(items(colour=draw(SKUS[:30], 100))) == {}
    names = [f"N{number:03}" for number in range(100)]
    songs = {"id": numbers(1, 101), "name": names, "native_name": draw(names[:30], 100)}
    assert find({"songs": songs, **things(8)}) == {}


def test_a_number_that_only_lies_in_the_range_is_none() -> None:
    assert find(staff(price=draw(numbers(5040, 5060), 100))) == {}


def test_a_parent_may_also_be_in_another_table() -> None:
    mine = staff(manager_id=draw(numbers(7001, 7031), 100))
    some = {**mine, "managers": {"manager_id": numbers(7001, 7051)}}
    assert find(some) == {}
    assert index_of(some).references.best


def test_a_copy_of_the_key_is_none() -> None:
    assert find(staff(previous_id=IDS)) == {}


def test_a_declared_self_reference_is_believed_whatever_its_name() -> None:
    tables = staff(x=draw(IDS[:30], 100))
    assert find(tables) == {}
    facts = facts_of({("staff.x", "staff.staff_id"): CatalogEvidence(declared="fk")})
    assert find(tables, facts)["staff.x", "staff.staff_id"] > 0.9


def test_values_are_not_compared_if_the_recipe_forbids_it() -> None:
    config = ModelConfig(features=FeatureConfig(values=False))
    within, outside = draw(IDS[:30], 100), draw(numbers(7001, 7031), 100)
    found = [find(staff(manager_id=ids), config=config) for ids in (within, outside)]
    assert found[0] == found[1]
    assert found[0].keys() == {MANAGER}
    assert find(staff(price=within), config=config) == {}


cells = st.lists(st.sampled_from(["", *numbers(1, 9)]), min_size=1, max_size=12)
tables = st.dictionaries(
    st.sampled_from("ab"), st.dictionaries(st.sampled_from("xyz"), cells, min_size=1)
)


@given(tables)
def test_it_compares_each_repeating_number_with_the_likeliest_key(some: Tables) -> None:
    lake = lake_of(some)
    priors = CatalogPriors.from_facts(lake, CatalogFacts())
    names = [str(column) for column in lake.ids]
    standing = dict(zip(names, lake.standing.tolist(), strict=True))
    found = compare_with_own_keys(lake, priors)
    expected = {}
    for table, own in some.items():
        values = {name: Counter(filter(None, column)) for name, column in own.items()}
        unique = [n for n, count in values.items() if len(count) == count.total() >= 3]
        ranked = sorted((standing[f"{table}.{name}"], name) for name in unique)
        for name, count in values.items():
            shared = count.keys() & values[ranked[0][1]].keys() if ranked else set()
            if len(count) >= 2 and len(count) / count.total() <= 0.95 and shared:
                expected[f"{table}.{name}", f"{table}.{ranked[0][1]}"] = len(shared) / len(count)
    assert {(names[a], names[b]): share for (a, b), share in found.items()} == expected
