"""Decide which columns of a small lake join, with evidence that is computed in plain Python."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations

from datahub_hyperjoin.catalog_facts import CatalogFacts
from datahub_hyperjoin.joins import Cardinality, Evidence, Join, Role, Suggestion
from datahub_hyperjoin.model.config import ModelConfig
from datahub_hyperjoin.model.hypergraph.lake_index import LakeIndex, build_lake_index
from datahub_hyperjoin.stages.role_decisions import decide_joins
from datahub_hyperjoin.tables import Pair, pair_of
from lakes.handmade import Tables, column, draw, lake_of, numbers

NO_FACTS = CatalogFacts()
CONFIG = ModelConfig()
SCORE = 0.9
Ends = tuple[str, str]
Measured = Mapping[Pair, Evidence]


def pair(one: str, other: str) -> Pair:
    return pair_of(column(one), column(other))


def compare(left: Sequence[str], right: Sequence[str]) -> Evidence:
    """Compute the evidence of two columns, row by row."""
    one, other = Counter(filter(None, left)), Counter(filter(None, right))
    shared = one.keys() & other.keys()
    rows = sum(one[value] * other[value] for value in shared)
    sides = ("N" if any(side[value] > 1 for value in shared) else "ONE" for side in (one, other))
    return Evidence(
        shared=len(shared),
        left_containment=len(shared) / len(one),
        right_containment=len(shared) / len(other),
        cardinality=Cardinality("_".join(sides)),
        left_fan_out=rows / one.total(),
        right_fan_out=rows / other.total(),
        rows=rows,
    )


def measure(tables: Tables) -> Measured:
    """Compute the evidence of all column pairs that share a value."""
    cells = {column(f"{t}.{c}"): values for t, own in tables.items() for c, values in own.items()}
    pairs = [
        (left, right) for left, right in combinations(sorted(cells), 2) if left.table != right.table
    ]
    evidence = {ends: compare(*(cells[end] for end in ends)) for ends in pairs}
    return {ends: both for ends, both in evidence.items() if both.shared}


def index_of(
    tables: Tables, facts: CatalogFacts = NO_FACTS, config: ModelConfig = CONFIG
) -> LakeIndex:
    return build_lake_index(lake_of(tables), config, facts)


def decide(
    tables: Tables,
    facts: CatalogFacts = NO_FACTS,
    *,
    config: ModelConfig = CONFIG,
    evidence: Measured | None = None,
    unranked: frozenset[Pair] = frozenset(),
) -> dict[Ends, Join]:
    """Decide which pairs of a lake are joins.

    The result maps each pair of columns, with the referring one first, to its join.
    """
    measured = measure(tables) if evidence is None else evidence
    ranked = [
        Suggestion(query=left, candidate=right, rank=1, joinability=SCORE)
        for left, right in measured
        if (left, right) not in unranked
    ]
    index = index_of(tables, facts, config)
    joins = decide_joins(index, ranked, measured, facts, config.ranking)
    directed = ((join, join.referring or join.left) for join in joins)
    return {
        (str(first), str(join.right if first == join.left else join.left)): join
        for join, first in directed
    }


def roles(joins: Mapping[Ends, Join]) -> dict[Ends, Role]:
    return {ends: join.role for ends, join in joins.items()}


def changed(tables: Tables, ends: Ends, **changes: object) -> dict[Pair, Evidence]:
    """Compute the evidence of all pairs, and replace some facts of one pair.

    The replaced facts are given with the first column of `ends` on the left.
    """
    evidence = dict(measure(tables))
    turned = pair(*ends)[0] != column(ends[0])
    own = evidence[pair(*ends)]
    own = replace(own.reversed if turned else own, **changes)  # type: ignore[arg-type]
    return {**evidence, pair(*ends): own.reversed if turned else own}


CUSTOMERS: Tables = {"customers": {"id": numbers(1001, 1061), "name": [f"N{n}" for n in range(60)]}}
USERS: Tables = {"users": {"id": numbers(5001, 5041), "mail": [f"m{n}@x" for n in range(40)]}}
ORDERS: Tables = {
    "orders": {"id": numbers(1, 201), "customer_id": draw(numbers(1001, 1061), 200)},
}
INVOICES: Tables = {
    "invoices": {"id": numbers(1, 151), "customer_id": draw(numbers(1001, 1041), 150)},
}
CUSTOMER = ("orders.customer_id", "customers.id")
SIBLINGS = ("invoices.customer_id", "orders.customer_id")
PAYER = ("invoices.customer_id", "customers.id")
CODES = [f"{a}{b}{c}" for a in "ABDE" for b in "KLMN" for c in "XYZ"]
TOWNS: Tables = {
    "shops": {"town": [*CODES[:30], *CODES[:30]], "size": draw(numbers(1, 5), 60)},
    "trips": {"to": [*CODES[5:40], *CODES[5:40]], "days": draw(numbers(1, 5), 70)},
}
DOMAIN = ("shops.town", "trips.to")
BOOKS: Tables = {
    "towns": {"code": CODES[:30], "label": [f"Town {n}" for n in range(30)]},
    "trips": {"to": draw(CODES[:30], 70)},
}
VISIT = ("trips.to", "towns.code")
