"""Test of which pairs of columns it is known that they share no value."""

from dataclasses import replace

import numpy as np
import pytest

from datahub_hyperjoin.model.hypergraph.lake_index import LakeIndex
from datahub_hyperjoin.model.ranking.pair_scoring import STRENGTHS, NoisyOrScorer
from lakes.deciding import CUSTOMERS, index_of
from lakes.handmade import numbers

FIRST, LAST = numbers(1001, 1031), numbers(1031, 1061)
TABLES = {
    **CUSTOMERS,
    "orders": {"customer_id": FIRST * 5},
    "visits": {"customer_id": LAST * 5},
    "calls": {"customer_id": numbers(1001, 1061) * 3},
}
NAMES = ("orders.customer_id", "visits.customer_id", "calls.customer_id")


@pytest.fixture
def index() -> LakeIndex:
    return index_of(TABLES)


def number(index: LakeIndex, name: str) -> int:
    return [*map(str, index.lake.ids)].index(name)


def related(index: LakeIndex, one: str, other: str) -> float:
    ends = (np.array([[number(index, name)]]) for name in (one, other))
    return float(NoisyOrScorer(index, None, STRENGTHS).measure(*ends).related.item())


def test_columns_of_one_key_are_related_only_if_they_share_values(index: LakeIndex) -> None:
    orders, visits, calls = NAMES
    keys = index.relations.key[[number(index, name) for name in NAMES]]
    assert {*keys.tolist()} == {number(index, "customers.id")}
    assert related(index, orders, visits) == 0
    assert related(index, orders, calls) > 0.9
    assert related(index, orders, "customers.id") > 0.9


def test_columns_that_are_known_in_part_may_share_values(index: LakeIndex) -> None:
    none = np.zeros(1)
    left, right = (np.array([number(index, name)]) for name in NAMES[:2])
    assert not index.may_share(left, right, none)
    assert index.may_share(left, right, none + 1)
    profiles = [*index.lake.profiles]
    at = number(index, NAMES[0])
    profiles[at] = replace(profiles[at], distinct=1000)
    lake = replace(index.lake, profiles=tuple(profiles))
    assert replace(index, lake=lake).may_share(left, right, none)


def test_columns_of_which_both_left_out_partners_may_share_values(index: LakeIndex) -> None:
    none = np.zeros(1)
    left, right = (np.array([number(index, name)]) for name in NAMES[:2])
    chance = np.zeros(len(index.lake))
    chance[left] = 0.1
    one = replace(index, overlap=replace(index.overlap, least_chance=chance.copy()))
    assert not one.may_share(left, right, none)
    chance[right] = 0.1
    both = replace(index, overlap=replace(index.overlap, least_chance=chance))
    assert both.may_share(left, right, none)
