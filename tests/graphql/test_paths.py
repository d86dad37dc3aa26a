"""The best path of joins between two tables is found."""

import itertools
import random
import re
from math import prod

import pytest

from datahub_hyperjoin.graphql import CatalogJoin, find_path
from datahub_hyperjoin.graphql.errors import NoPathError
from datahub_hyperjoin.graphql.paths import strength
from datahub_hyperjoin.joins import Cardinality, Verdict
from datahub_hyperjoin.tables import ColumnId, TableId


def join(
    one: str, other: str, score: float | None, *verdicts: Verdict, removed: bool = False
) -> CatalogJoin:
    pair = (ColumnId(TableId("file", one), "key"), ColumnId(TableId("file", other), "key"))
    return CatalogJoin(
        urn=f"{one}-{other}-{score}",
        name="",
        pairs=(pair,),
        cardinality=Cardinality.MANY_ONE,
        joinability=score,
        verdicts=verdicts,
        removed=removed,
    )


def path(*joins: CatalogJoin, start: str = "a", end: str = "d", most: int | None = None) -> str:
    found = find_path(joins, TableId("file", start), TableId("file", end), most=most)
    assert all(one.right.table == other.left.table for one, other in itertools.pairwise(found))
    return "".join([found[0].left.table.name, *(one.right.table.name for one in found)])


def test_good_joins_are_worth_a_detour() -> None:
    joins = (join("a", "d", 0.5), join("b", "a", 0.9), join("b", "d", 0.8))
    assert path(*joins) == "abd"


def test_the_shortest_of_equally_good_chains_is_chosen() -> None:
    # 0.9 × 0.8 is a little more than 0.72 in floating point.
    assert path(join("a", "d", 0.72), join("a", "b", 0.9), join("b", "d", 0.8)) == "ad"
    assert path(join("a", "d", 1.0), join("a", "b", 1.0), join("b", "d", 1.0)) == "ad"


def test_a_limit_may_force_a_worse_chain() -> None:
    joins = (
        join("a", "c", 0.1), join("c", "d", 0.9), join("a", "b", 0.9), join("b", "c", 0.9)
    )  # fmt: skip
    assert path(*joins) == "abcd"
    assert path(*joins, most=2) == "acd"


def test_a_join_is_read_in_the_direction_of_the_chain() -> None:
    (only,) = find_path([join("d", "a", 0.9)], TableId("file", "a"), TableId("file", "d"))
    assert only.condition == "a.key = d.key"
    assert only.cardinality is Cardinality.ONE_MANY


def test_the_best_join_of_two_tables_is_chosen() -> None:
    worse, better = join("a", "d", 0.7), join("d", "a", 0.8)
    assert strength(find_path([worse, better], *better.tables)) == 0.8


def test_accepted_and_written_joins_count_as_certain() -> None:
    joins = (join("a", "b", 0.1, Verdict.ACCEPTED), join("b", "d", None), join("a", "d", 0.99))
    assert path(*joins) == "abd"


def test_rejected_and_hidden_joins_are_never_used() -> None:
    joins = (
        join("a", "d", 0.9, Verdict.REJECTED),
        join("a", "b", 0.9, removed=True),
        join("b", "d", 0.9),
        join("a", "a", 0.9),
    )
    with pytest.raises(
        NoPathError, match=r"^no path connects 'a' and 'd'\. List the joins of each"
    ):
        path(*joins)


def test_a_limit_that_is_too_low_is_reported() -> None:
    expected = re.escape("no path of at most 1 joins connects 'a' and 'd'. Raise `--max-hops`")
    with pytest.raises(NoPathError, match=expected):
        path(join("a", "b", 0.9), join("b", "d", 0.9), most=1)


def test_a_table_without_joins_has_no_path() -> None:
    with pytest.raises(NoPathError, match=r"accept those that are right$"):
        path()


@pytest.mark.parametrize("seed", range(20))
def test_no_other_chain_is_better(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - no secret
    names = "abcde"
    joins = [
        join(one, other, chance.choice([0.2, 0.5, 0.8, 1.0]))
        for one, other in itertools.combinations(names, 2)
        if chance.random() < 0.7
    ] + [join("a", "e", 0.05)]
    scores = {frozenset(table.name for table in one.tables): one.strength for one in joins[::-1]}
    chains = [
        ("a", *middle, "e") for count in range(4) for middle in itertools.permutations("bcd", count)
    ]
    ranked = sorted(
        (-round(prod(scores[frozenset(pair)] for pair in itertools.pairwise(chain)), 9), len(chain))
        for chain in chains
        if all(frozenset(pair) in scores for pair in itertools.pairwise(chain))
    )
    found = find_path(joins, TableId("file", "a"), TableId("file", "e"))
    assert (-round(strength(found), 9), len(found) + 1) == ranked[0]
