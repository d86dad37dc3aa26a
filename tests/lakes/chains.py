"""Make joins between tables that have short names, for tests of paths."""

import itertools
from dataclasses import fields
from typing import Any

from datahub_hyperjoin.graphql import JoinPath, find_path
from datahub_hyperjoin.joins import (
    Cardinality,
    CatalogEvidence,
    Evidence,
    Join,
    Published,
    Role,
    Verdict,
)
from datahub_hyperjoin.joins.join import ROLE_OF
from datahub_hyperjoin.tables import ColumnId, TableId

N_1, ONE_N = Cardinality.MANY_ONE, Cardinality.ONE_MANY
ONE_1, N_N = Cardinality.ONE_ONE, Cardinality.MANY_MANY


_MEASURES = {each.name for each in fields(Evidence)} - {"cardinality"}
_UNKNOWN = {
    "left_containment": 0.0,
    "right_containment": 0.0,
    "left_fan_out": 9.0,
    "right_fan_out": 9.0,
}
_PUBLISHED = {each.name for each in fields(Published)}


def made(  # noqa: PLR0913 - one for each part of a join
    *,
    pairs: tuple[tuple[ColumnId, ColumnId], ...],
    cardinality: Cardinality,
    joinability: float | None = None,
    role: Role | None = None,
    referenced: ColumnId | None = None,
    declared: bool = False,
    via: tuple[ColumnId, ColumnId] | None = None,
    **others: Any,  # noqa: ANN401 - one for each other name
) -> Join:
    """Make a join as the catalog returns it, from measures and names that are known.

    If any measure is known, the others are those of rows that match nothing.
    """
    measures = {name: others.pop(name) for name in _MEASURES & others.keys()}
    if any(measures.get(name, 0.0) is None for name in _UNKNOWN):
        measures = {}
    verdicts = others.get("verdicts", ())
    assert not others.keys() - _PUBLISHED
    return Join(
        left=pairs[0][0],
        right=pairs[0][1],
        joinability=1.0 if joinability is None else joinability,
        evidence=Evidence(**{"shared": -1, "cardinality": cardinality, **_UNKNOWN, **measures})
        if measures
        else None,
        catalog=CatalogEvidence(
            stated=declared,
            verdict=next((each for each in reversed(Verdict) if each in verdicts), None),
        ),
        role=role or ROLE_OF[cardinality],
        referenced=referenced,
        further=pairs[1:],
        via=via,
        stated=cardinality,
        published=Published(has_score=joinability is not None, has_role=role is not None, **others),
    )


def changed(join: Join, **changes: Any) -> Join:  # noqa: ANN401 - as `made`
    """Return a join of the catalog with other parts, by the names that `made` has for them."""
    published = join.published
    assert published
    names = {each.name for each in fields(Published)} - {"has_score", "has_role"}
    known = {
        "pairs": join.pairs,
        "cardinality": join.cardinality,
        "joinability": join.score,
        "role": join.known_role,
        "referenced": join.referenced,
        "declared": join.catalog.is_declared,
        "via": join.via,
        **{name: getattr(published, name) for name in names},
        **({name: getattr(join.evidence, name) for name in _MEASURES} if join.evidence else {}),
    }
    return made(**{**known, **changes})


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
) -> Join:
    """Make a join of two tables.

    By default, the first table refers to the second.
    """
    pair = (ColumnId(TableId("file", one), key), ColumnId(TableId("file", other), "key"))
    return made(
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


def domain(one: str, other: str, score: float, cardinality: Cardinality = N_1) -> Join:
    return join(one, other, score, role=Role.SAME_DOMAIN, cardinality=cardinality)


def find(
    *joins: Join,
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
