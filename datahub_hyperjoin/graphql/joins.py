"""Parse the joins in GraphQL responses."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from datahub.utilities.urns.error import InvalidUrnError

from datahub_hyperjoin.joins import Cardinality, Verdict
from datahub_hyperjoin.relationship_aspect import BANDS
from datahub_hyperjoin.tables import ColumnId, TableId
from datahub_hyperjoin.urns import ACCEPTED, REJECTED, band_urn, plain_path, table_id

_BANDS = {band_urn(band): band for band in BANDS}
_VERDICTS = {REJECTED: Verdict.REJECTED, ACCEPTED: Verdict.ACCEPTED}
"""Decisions by their tags; the first one that a join has takes precedence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogJoin:
    """A relationship in the catalog, which this package suggested or a person wrote."""

    urn: str
    """URN of the relationship."""

    name: str
    """Its name, which is unique among the suggestions of this package."""

    pairs: tuple[tuple[ColumnId, ColumnId], ...]
    """The columns that must be equal, those of one table on the left; several for a composite
    key."""

    cardinality: Cardinality
    """Read from left to right."""

    joinability: float | None = None
    """Score in [0, 1]; None for joins that people wrote."""

    band: str = ""
    """Confidence band of the score; empty without a score."""

    verdicts: tuple[Verdict, ...] = ()
    """People's decisions; both if they contradict each other."""

    removed: bool = False
    """Whether it is hidden."""

    description: str = ""
    """Description that people wrote; empty without one."""

    title: str = ""
    """Name that people gave it; empty without one."""

    owners: tuple[str, ...] = ()
    """URNs of its owners."""

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
        """The left and the right table."""
        return self.left.table, self.right.table

    @property
    def verdict(self) -> Verdict | None:
        """People's decision; a rejection overrides an acceptance."""
        return next((verdict for verdict in _VERDICTS.values() if verdict in self.verdicts), None)

    @property
    def strength(self) -> float:
        """Reliability in [0, 1]: the joinability, or 1 for joins that people accepted or wrote."""
        if self.verdict is Verdict.ACCEPTED or self.joinability is None:
            return 1.0
        return self.joinability

    @property
    def open(self) -> bool:
        """Whether the join is neither rejected nor hidden."""
        return not self.removed and self.verdict is not Verdict.REJECTED

    @property
    def condition(self) -> str:
        """The join condition, written as in SQL.

        >>> orders, customers = TableId("file", "orders"), TableId("file", "customers")
        >>> pair = (ColumnId(orders, "customer"), ColumnId(customers, "id"))
        >>> CatalogJoin(
        ...     urn="", name="", pairs=(pair,), cardinality=Cardinality.MANY_ONE
        ... ).condition
        'orders.customer = customers.id'
        """
        return " and ".join(f"{left} = {right}" for left, right in self.pairs)

    @property
    def reversed(self) -> "CatalogJoin":
        """The same join with its right side on the left."""
        pairs = tuple((right, left) for left, right in self.pairs)
        return replace(self, pairs=pairs, cardinality=self.cardinality.reversed)


def from_table(join: CatalogJoin, table: TableId) -> CatalogJoin:
    """Return the join with the given table on its left side.

    Args:
        join: The join.
        table: The table that goes to the left.
    """
    return join if join.left.table == table else join.reversed


def best_first(joins: Iterable[CatalogJoin]) -> list[CatalogJoin]:
    """Sort joins by reliability, then by joinability, both descending, then by condition.

    Args:
        joins: The joins.
    """
    return sorted(
        joins, key=lambda join: (-join.strength, -(join.joinability or 0.0), join.condition)
    )


def read_joins(entities: Iterable[dict[str, Any]]) -> Iterator[CatalogJoin]:
    """Parse the joins in the entities of a search result.

    Args:
        entities: The fragment `join` of each; empty for entities that the user may not see.

    Yields:
        A join for each relationship that names its columns.
    """
    for entity in entities:
        join = read_join(entity)
        if join:
            yield join


def read_join(entity: dict[str, Any] | None) -> CatalogJoin | None:
    """Parse one join.

    Args:
        entity: The fragment `join`; None if the server does not know the URN.

    Returns:
        None for an entity that is not a relationship, or that names no columns.
    """
    properties = (entity or {}).get("properties")
    if not entity or not properties:
        return None
    try:
        pairs = _pairs(properties)
    except InvalidUrnError:
        return None
    if not pairs:
        return None
    band, joinability = _score(entity)
    edited = entity.get("editableProperties") or {}
    return CatalogJoin(
        urn=entity["urn"],
        name=properties["name"],
        pairs=pairs,
        cardinality=Cardinality(properties["cardinality"]),
        joinability=joinability,
        band=band,
        verdicts=tuple(verdict for tag, verdict in _VERDICTS.items() if tag in _tags(entity)),
        removed=bool((entity.get("status") or {}).get("removed")),
        description=edited.get("description") or "",
        title=edited.get("name") or "",
        owners=_owners(entity),
    )


def _pairs(properties: dict[str, Any]) -> tuple[tuple[ColumnId, ColumnId], ...]:
    source = table_id(properties["source"]["urn"])
    destination = table_id(properties["destination"]["urn"])
    return tuple(
        (
            ColumnId(source, plain_path(mapping["sourceField"])),
            ColumnId(destination, plain_path(mapping["destinationField"])),
        )
        for mapping in properties["relationshipFieldMappings"] or ()
    )


def _tags(entity: dict[str, Any]) -> dict[str, str]:
    """Return the context of each tag of an entity, keyed by the tag's URN."""
    assignments = (entity.get("tags") or {}).get("tags") or ()
    return {entry["tag"]["urn"]: entry.get("context") or "" for entry in assignments}


def _score(entity: dict[str, Any]) -> tuple[str, float | None]:
    """Return the confidence band from a join's tag, and the joinability from the tag's context."""
    for tag, context in _tags(entity).items():
        if tag in _BANDS:
            try:
                return _BANDS[tag], float(context)
            except ValueError:  # a person added the tag, without a score
                return _BANDS[tag], None
    return "", None


def _owners(entity: dict[str, Any]) -> tuple[str, ...]:
    entries = (entity.get("ownership") or {}).get("owners") or ()
    return tuple(entry["owner"]["urn"] for entry in entries)
