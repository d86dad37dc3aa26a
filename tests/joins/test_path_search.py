"""Test that the search between two tables finds the cheapest chain of joins.

`test_paths` compares it with all chains.
"""

import itertools
from collections.abc import Collection, Iterable

from datahub_hyperjoin.joins import Join
from datahub_hyperjoin.joins.path_search import Neighbours, reader_of, search_chain
from datahub_hyperjoin.joins.paths import walk
from datahub_hyperjoin.tables import TableId
from lakes.chains import join


def test_a_chain_leads_from_one_table_to_another() -> None:
    first, second = join("a", "b", 0.9), join("b", "d", 0.9)
    neighbours = Neighbours(reader_of([first, second]))
    a, b, d = (TableId("file", name) for name in "abd")
    assert search_chain(neighbours, a, d, most=None, many_to_many=False) == (first, second)
    assert search_chain(neighbours, a, d, most=1, many_to_many=False) == ()
    assert search_chain(neighbours, b, a, most=None, many_to_many=True) == (first.reversed,)
    assert search_chain(neighbours, a, a, most=None, many_to_many=True) == ()


def test_chains_that_cost_more_than_one_that_arrived_are_not_extended() -> None:
    direct = join("t00", "t99", 1.0)
    # Each table refers to all later ones: so many chains that listing them would take forever.
    names = [f"t{number:02}" for number in range(100)]
    others = [join(one, other, 0.9) for one, other in itertools.combinations(names, 2)]
    neighbours = Neighbours(reader_of([direct, *others]))
    ends = TableId("file", "t00"), TableId("file", "t99")
    assert search_chain(neighbours, *ends, most=None, many_to_many=False) == (direct,)


def test_a_path_reads_the_joins_of_the_tables_on_its_way_alone() -> None:
    read = reader_of(
        [join("a", "b", 0.9), join("b", "d", 0.9), join("d", "e", 0.9)]
        + [join("e", f"far{number}", 0.9) for number in range(50)]
    )
    asked: list[str] = []

    def noted(tables: Collection[TableId]) -> Iterable[Join]:
        asked.append(" ".join(table.name for table in tables))
        return read(tables)

    found = walk(noted, TableId("file", "a"), TableId("file", "d"))
    assert [each.name for each in found.tables] == ["a", "b", "d"]
    assert asked == ["a", "b", "d"]
