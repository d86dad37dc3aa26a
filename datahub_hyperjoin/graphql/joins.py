"""A join as GraphQL tells it."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from datahub.utilities.urns.error import InvalidUrnError

from datahub_hyperjoin.relationship_aspect import BANDS
from datahub_hyperjoin.tables import Cardinality, ColumnId, TableId, Verdict
from datahub_hyperjoin.urns import ACCEPTED, REJECTED, band_urn, plain_path, table_id

_BANDS = {band_urn(band): band for band in BANDS}
_VERDICTS = {REJECTED: Verdict.REJECTED, ACCEPTED: Verdict.ACCEPTED}
"""Decisions by their tags, in the order in which they count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogJoin:
    """A relationship of the catalog: found in the data, or written by a person."""

    urn: str
    """Which one."""

    name: str
    """What it is called."""

    pairs: tuple[tuple[ColumnId, ColumnId], ...]
    """The columns that must be equal, those of one table on the left; several, if the key is
    composite."""

    cardinality: Cardinality
    """Read from left to right."""

    joinability: float | None = None
    """Score in [0, 1]; None for what people wrote."""

    band: str = ""
    """Confidence band of the score; empty without one."""

    verdicts: tuple[Verdict, ...] = ()
    """What people say of it; both, if they contradict one another."""

    removed: bool = False
    """Whether it is hidden."""

    description: str = ""
    """What people say about it."""

    title: str = ""
    """The name that people gave it; empty, if they did not."""

    owners: tuple[str, ...] = ()
    """Urns of those who are responsible for it."""

    @property
    def left(self) -> ColumnId:
        """The first column on the left."""
        return self.pairs[0][0]

    @property
    def right(self) -> ColumnId:
        """The first column on the right."""
        return self.pairs[0][1]

    @property
    def tables(self) -> tuple[TableId, TableId]:
        """The tables of both sides."""
        return self.left.table, self.right.table

    @property
    def verdict(self) -> Verdict | None:
        """What people decided; a rejection counts where they contradict one another."""
        return next((said for said in _VERDICTS.values() if said in self.verdicts), None)

    @property
    def strength(self) -> float:
        """How far it can be relied on, in [0, 1]: what people accepted or wrote counts as 1."""
        if self.verdict is Verdict.ACCEPTED or self.joinability is None:
            return 1.0
        return self.joinability

    @property
    def open(self) -> bool:
        """Whether people may still join by it: it is neither rejected nor hidden."""
        return not self.removed and self.verdict is not Verdict.REJECTED

    @property
    def condition(self) -> str:
        """The equality that joins both sides.

        >>> orders, customers = TableId("file", "orders"), TableId("file", "customers")
        >>> pair = (ColumnId(orders, "customer"), ColumnId(customers, "id"))
        >>> CatalogJoin(
        ...     urn="", name="", pairs=(pair,), cardinality=Cardinality.MANY_ONE
        ... ).condition
        'orders.customer = customers.id'
        """
        return " and ".join(f"{left} = {right}" for left, right in self.pairs)


def mirror(join: CatalogJoin) -> CatalogJoin:
    """The same join read from the other side.

    >>> orders, customers = TableId("file", "orders"), TableId("file", "customers")
    >>> pair = (ColumnId(orders, "customer"), ColumnId(customers, "id"))
    >>> join = CatalogJoin(urn="", name="", pairs=(pair,), cardinality=Cardinality.MANY_ONE)
    >>> mirror(join).condition, mirror(join).cardinality.value
    ('customers.id = orders.customer', 'ONE_N')
    """
    cardinality = Cardinality("_".join(reversed(join.cardinality.value.split("_"))))
    pairs = tuple((right, left) for left, right in join.pairs)
    return replace(join, pairs=pairs, cardinality=cardinality)


def from_table(join: CatalogJoin, table: TableId) -> CatalogJoin:
    """A join read from one of its tables.

    Args:
        join: The join.
        table: The table that shall be on the left.
    """
    return join if join.left.table == table else mirror(join)


def best_first(joins: Iterable[CatalogJoin]) -> list[CatalogJoin]:
    """Joins in the order in which people want to see them.

    Args:
        joins: Any joins.

    Returns:
        Those first that can be relied on most; among those, the highest score first.
    """
    return sorted(
        joins, key=lambda join: (-join.strength, -(join.joinability or 0.0), join.condition)
    )


def read_joins(entities: Iterable[dict[str, Any]]) -> Iterator[CatalogJoin]:
    """The joins among what a search found.

    Args:
        entities: The fragment `join` of each; empty for what the asker may not see.

    Yields:
        A join for each relationship that says which columns it joins.
    """
    for entity in entities:
        join = read_join(entity)
        if join:
            yield join


def read_join(entity: dict[str, Any] | None) -> CatalogJoin | None:
    """A join as the server tells it.

    Args:
        entity: The fragment `join`.

    Returns:
        None for what is no relationship, or joins nothing that has a name.
    """
    stated = (entity or {}).get("properties")
    if not entity or not stated:
        return None
    try:
        pairs = _pairs(stated)
    except InvalidUrnError:
        return None
    if not pairs:
        return None
    band, joinability = _score(entity)
    edited = entity.get("editableProperties") or {}
    return CatalogJoin(
        urn=entity["urn"],
        name=stated["name"],
        pairs=pairs,
        cardinality=Cardinality(stated["cardinality"]),
        joinability=joinability,
        band=band,
        verdicts=tuple(said for tag, said in _VERDICTS.items() if tag in _tags(entity)),
        removed=bool((entity.get("status") or {}).get("removed")),
        description=edited.get("description") or "",
        title=edited.get("name") or "",
        owners=_owners(entity),
    )


def _pairs(stated: dict[str, Any]) -> tuple[tuple[ColumnId, ColumnId], ...]:
    source, destination = table_id(stated["source"]["urn"]), table_id(stated["destination"]["urn"])
    return tuple(
        (
            ColumnId(source, plain_path(mapping["sourceField"])),
            ColumnId(destination, plain_path(mapping["destinationField"])),
        )
        for mapping in stated["relationshipFieldMappings"] or ()
    )


def _tags(entity: dict[str, Any]) -> dict[str, str]:
    """Urns of tags, each with its context."""
    assigned = (entity.get("tags") or {}).get("tags") or ()
    return {one["tag"]["urn"]: one.get("context") or "" for one in assigned}


def _score(entity: dict[str, Any]) -> tuple[str, float | None]:
    """Confidence band and joinability."""
    for tag, context in _tags(entity).items():
        if tag in _BANDS:
            try:
                return _BANDS[tag], float(context)
            except ValueError:  # a person set the tag
                return _BANDS[tag], None
    return "", None


def _owners(entity: dict[str, Any]) -> tuple[str, ...]:
    owned = (entity.get("ownership") or {}).get("owners") or ()
    return tuple(one["owner"]["urn"] for one in owned)
