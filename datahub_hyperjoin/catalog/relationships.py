"""The relationships that the catalog holds: ours, other people's, and those that are gone."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field

from datahub.ingestion.graph.client import DataHubGraph
from datahub.metadata.schema_classes import (
    ERModelRelationshipPropertiesClass,
    GlobalTagsClass,
    OwnershipClass,
    StatusClass,
)
from datahub.utilities.urns.error import InvalidUrnError
from typing_extensions import LiteralString

from datahub_hyperjoin.catalog.bulk import Aspects, aspect_of, fetch, scroll
from datahub_hyperjoin.relationship_aspect import from_aspect, is_ours, pairs_in
from datahub_hyperjoin.tables import Join, Pair

Warn = Callable[[LiteralString, LiteralString, str], None]
"""Takes a title, a message and a context, as a run's report does."""

_ENTITY = "erModelRelationship"
_ASPECTS = [
    aspect.ASPECT_NAME
    for aspect in (ERModelRelationshipPropertiesClass, StatusClass, GlobalTagsClass, OwnershipClass)
]
_MANY, _MOST_GONE = 20, 0.75


def left_out(warn: Warn) -> Callable[[str, str], None]:
    """Tells of single entities that cannot be read.

    Args:
        warn: Takes a title, a message and a context.

    Returns:
        Takes what is left out, and why.
    """
    return lambda what, reason: warn(
        "Not read", "The catalog holds something that is left out", f"{what}: {reason}"
    )


@dataclass(frozen=True, kw_only=True)
class Relationship:
    """A relationship of the catalog and what people have attached to it."""

    urn: str
    """Which one."""

    aspect: ERModelRelationshipPropertiesClass
    """As it is stored."""

    pairs: tuple[Pair, ...]
    """The columns it joins; none, if its urns cannot be read."""

    ours: bool
    """Whether we wrote it, and no person has edited it since."""

    known: bool
    """Whether an earlier run of ours says that it wrote it."""

    join: Join | None
    """What it says, if it is ours."""

    removed: bool = False
    """Whether it is hidden."""

    removed_by_us: bool = False
    """Whether an earlier run of ours hid it, and no one has touched that since."""

    tags: frozenset[str] = frozenset()
    """Urns of its tags."""

    owners: tuple[str, ...] = ()
    """Urns of its owners."""

    tagged_by: Mapping[str, str] = field(default_factory=dict)
    """Who set a tag, where the catalog says so."""

    @property
    def hidden_by_people(self) -> bool:
        """Whether we once wrote it and a person has hidden it.

        Returns:
            False for what others wrote, whoever hid it.
        """
        return self.removed and not self.removed_by_us and (self.ours or self.known)


def read_relationships(
    graph: DataHubGraph, *, known: Collection[str], hidden: Mapping[str, str], warn: Warn
) -> dict[str, Relationship]:
    """Reads all relationships, the hidden ones too.

    Search shows new entities late, so those that are known and not found are asked for by name.

    Args:
        graph: DataHub's server.
        known: Urns that an earlier run of ours wrote.
        hidden: Those that an earlier run hid, with the id of that run.
        warn: Is told of relationships that cannot be read.

    Returns:
        Relationships by urn.
    """
    unread = left_out(warn)
    found = dict(scroll(graph, _ENTITY, _ASPECTS, removed=True, warn=unread))
    late = sorted(set(known) - found.keys())
    if late:
        found |= fetch(graph, _ENTITY, late, _ASPECTS, warn=unread)
    read = (
        read_relationship(urn, aspects, known=urn in known, hider=hidden.get(urn), warn=warn)
        for urn, aspects in found.items()
    )
    return {relationship.urn: relationship for relationship in read if relationship}


def read_relationship(
    urn: str, aspects: Aspects, *, known: bool, hider: str | None, warn: Warn
) -> Relationship | None:
    """Reads one relationship from its aspects.

    Args:
        urn: Which one.
        aspects: What the catalog holds of it.
        known: Whether an earlier run of ours wrote it.
        hider: The run of ours that hid it, if one did.
        warn: Is told if its urns cannot be read.

    Returns:
        None for an entity that states no relationship, as remnants of a deletion do.
    """
    stated = aspect_of(aspects, ERModelRelationshipPropertiesClass)
    if stated is None:
        return None
    pairs = _pairs(urn, stated, warn)
    removed, run = _status(aspects)
    tags, owned = aspect_of(aspects, GlobalTagsClass), aspect_of(aspects, OwnershipClass)
    assigned = tags.tags if tags else []
    return Relationship(
        urn=urn,
        aspect=stated,
        pairs=pairs,
        ours=is_ours(stated),
        known=known,
        join=from_aspect(stated) if pairs else None,
        removed=removed,
        removed_by_us=removed and hider is not None and run == hider,
        tags=frozenset(tag.tag for tag in assigned),
        owners=tuple(owner.owner for owner in owned.owners) if owned else (),
        tagged_by={tag.tag: tag.attribution.actor for tag in assigned if tag.attribution},
    )


def _status(aspects: Aspects) -> tuple[bool, str | None]:
    """Whether an entity is hidden, and by which run: the server keeps the first pipeline's name."""
    status, written = aspects.get(StatusClass.ASPECT_NAME, (None, None))
    removed = isinstance(status, StatusClass) and bool(status.removed)
    return removed, written.runId if written else None


def _pairs(urn: str, stated: ERModelRelationshipPropertiesClass, warn: Warn) -> tuple[Pair, ...]:
    try:
        return tuple(pair for pair in pairs_in(stated) if pair[0] != pair[1])
    except InvalidUrnError as error:
        left_out(warn)(urn, f"it joins what is no dataset: {error}")
        return ()


def gone(
    known: Collection[str], found: Iterable[str], *, landed: bool, warn: Warn
) -> frozenset[str]:
    """What we wrote, we did not take back, and a person deleted for good.

    People delete one by one. Where nearly everything is missing, the catalog was restored or
    emptied, or has not got round to what it was sent, and no one has decided anything.

    Args:
        known: Urns of the entities that an earlier run of ours wrote.
        found: Urns of those that exist.
        landed: Whether anything else that the run wrote is there, so that all may be deleted.
        warn: Is told of a lost catalog.

    Returns:
        Urns that were deleted.
    """
    deleted = frozenset(known).difference(found)
    most = len(known) >= _MANY and len(deleted) > _MOST_GONE * len(known)
    if deleted and (most or (len(deleted) == len(known) and not landed)):
        warn(
            "Suggestions lost",
            "Too many are missing for people to have deleted them: they may be suggested again",
            f"{len(deleted)} of {len(known)}",
        )
        return frozenset()
    return deleted
