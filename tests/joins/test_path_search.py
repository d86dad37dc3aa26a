"""Test that the search between two tables finds the cheapest chain of joins.

`test_paths` compares it with all chains.
"""

import itertools

from datahub_hyperjoin.joins import Join
from datahub_hyperjoin.joins.paths import search_chain
from datahub_hyperjoin.tables import TableId
from lakes.chains import join


def test_a_chain_leads_from_one_table_to_another() -> None:
    first, second = join("a", "b", 0.9), join("b", "d", 0.9)
    neighbours = {directed.left.table: [directed] for directed in (first, second)}
    a, b, d = (TableId("file", name) for name in "abd")
    assert search_chain(neighbours, a, d, most=None, many_to_many=False) == (first, second)
    assert search_chain(neighbours, a, d, most=1, many_to_many=False) == ()
    assert search_chain(neighbours, b, a, most=None, many_to_many=True) == ()
    assert search_chain(neighbours, a, a, most=None, many_to_many=True) == ()


def test_chains_that_cost_more_than_one_that_arrived_are_not_extended() -> None:
    direct = join("t00", "t99", 1.0)
    # Each table refers to all later ones: so many chains that listing them would take forever.
    names = [f"t{number:02}" for number in range(100)]
    others = [join(one, other, 0.9) for one, other in itertools.combinations(names, 2)]
    neighbours: dict[TableId, list[Join]] = {}
    for each in (direct, *others):
        neighbours.setdefault(each.left.table, []).append(each)
    ends = TableId("file", "t00"), TableId("file", "t99")
    assert search_chain(neighbours, *ends, most=None, many_to_many=False) == (direct,)
