"""Make joins between tables that have short names, for tests of paths."""

import itertools

from datahub_hyperjoin.graphql import CatalogJoin, JoinPath, find_path
from datahub_hyperjoin.joins import Cardinality, Role, Verdict
from datahub_hyperjoin.tables import ColumnId, TableId

N_1, ONE_N = Cardinality.MANY_ONE, Cardinality.ONE_MANY
ONE_1, N_N = Cardinality.ONE_ONE, Cardinality.MANY_MANY


def join(  # noqa: PLR0913 - one for each property that matters
    one: str,
    other: str,
    score: float | None,
    *verdicts: Verdict,
    cardinality: Cardinality = N_1,
    role: Role | None = Role.REFERENCE,
    key: str = "key",
    removed: bool = False,
    declared: bool = False,
    fan_outs: tuple[float, float] | None = None,
) -> CatalogJoin:
    """Make a join of two tables.

    By default, the first table refers to the second.
    """
    pair = (ColumnId(TableId("file", one), key), ColumnId(TableId("file", other), "key"))
    return CatalogJoin(
        urn=f"{one}.{key}-{other}-{score}",
        name="",
        pairs=(pair,),
        cardinality=cardinality,
        joinability=score,
        role=role,
        referenced=pair[1] if role and role.is_directed else None,
        left_fan_out=fan_outs[0] if fan_outs else None,
        right_fan_out=fan_outs[1] if fan_outs else None,
        verdicts=verdicts,
        removed=removed,
        declared=declared,
    )


def domain(one: str, other: str, score: float, cardinality: Cardinality = N_1) -> CatalogJoin:
    return join(one, other, score, role=Role.SAME_DOMAIN, cardinality=cardinality)


def find(
    *joins: CatalogJoin,
    start: str = "a",
    end: str = "d",
    most: int | None = None,
    many_to_many: bool = False,
    min_joinability: float = 0.0,
) -> JoinPath:
    ends = TableId("file", start), TableId("file", end)
    found = find_path(
        joins, *ends, most=most, many_to_many=many_to_many, min_joinability=min_joinability
    )
    assert all(
        one.right.table == other.left.table for one, other in itertools.pairwise(found.joins)
    )
    assert (found.tables[0], found.tables[-1]) == ends
    return found


def column_at(name: str) -> ColumnId:
    """Return a column by its name, such as "orders.billing"."""
    table, _, path = name.partition(".")
    return ColumnId(TableId("file", table), path)
