"""Read relationships from the catalog, and find deleted relationships."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial

from datahub.ingestion.graph.client import DataHubGraph
from datahub.metadata.schema_classes import (
    ERModelRelationshipPropertiesClass,
    GlobalTagsClass,
    MetadataAttributionClass,
    OwnershipClass,
    StatusClass,
    _Aspect,
)
from datahub.utilities.urns.error import InvalidUrnError

from datahub_hyperjoin.catalog.entities import (
    Aspects,
    NoteSkipped,
    aspect_of,
    fetch,
    is_outside_runs,
    parse_entity,
    reading,
    scroll,
)
from datahub_hyperjoin.catalog.errors import UnreadableCatalogError
from datahub_hyperjoin.joins import Join
from datahub_hyperjoin.metadata.relationships import (
    COPIED,
    REPLACED_BY,
    REPLACED_WHEN,
    WITHDRAWN_BY,
    from_aspect,
    is_ours,
    pairs_in,
)
from datahub_hyperjoin.progress import Warn
from datahub_hyperjoin.tables import Pair

_ENTITY = "erModelRelationship"
_RELATIONSHIP_ASPECTS = [
    aspect.ASPECT_NAME
    for aspect in (ERModelRelationshipPropertiesClass, StatusClass, GlobalTagsClass, OwnershipClass)
]
_MANY, _MAX_SHARE_DELETED = 20, 0.75
"""The server has probably lost entities if at least `_MANY` were written before and more than the
share `_MAX_SHARE_DELETED` of them is missing."""


def report_skipped(warn: Warn) -> NoteSkipped:
    """Return a callback that reports each unreadable entity as a warning."""
    return lambda urn, reason: warn(
        "Entities skipped",
        "These entities of the catalog cannot be read. Correct or delete them in DataHub",
        f"{urn}: {reason}",
    )


def is_copied(by: MetadataAttributionClass | None) -> bool:
    """Return whether a run set a tag, as people decided elsewhere, given the tag's attribution."""
    return by is not None and COPIED in by.sourceDetail


@dataclass(frozen=True, kw_only=True)
class Relationship:
    """A relationship in the catalog, with its status, tags and owners."""

    urn: str
    aspect: ERModelRelationshipPropertiesClass
    pairs: tuple[Pair, ...]
    """The pairs of columns that the relationship joins, several for a composite key; empty if their
    URNs cannot be read."""

    ours: bool
    """Whether this package wrote the relationship and no person has edited it since."""

    recorded: bool
    """Whether the last run of this pipeline recorded that it wrote the relationship."""

    join: Join | None
    """The join that the relationship describes; None if `ours` is false."""

    removed: bool = False
    removed_by_us: bool = False
    """Whether an earlier run hid the relationship, and nobody has changed its status since."""

    tags: frozenset[str] = frozenset()
    owners: tuple[str, ...] = ()
    attributed: Mapping[str, MetadataAttributionClass] = field(default_factory=dict)
    """Who set a tag, when and from where, by the tag's URN, if the catalog records it."""

    tagged: int = 0
    """When a person last changed the tags, in milliseconds since 1970; 0 if a run did since."""

    tagged_by: str = ""
    """Who that was; empty if the server does not tell it."""

    hidden: int = 0
    """When a person last hid or showed the relationship, in milliseconds since 1970."""

    @property
    def copied(self) -> frozenset[str]:
        """The tags that runs set, as people decided elsewhere."""
        return frozenset(tag for tag, by in self.attributed.items() if is_copied(by))

    def replaced_by(self, tag: str) -> Mapping[str, str]:
        """Return the person and time of the decision that a copied tag replaced, as it keeps them.

        Nothing is returned of other tags, and if it replaced none.
        """
        details = self.attributed[tag].sourceDetail if tag in self.copied else {}
        if not details.get(REPLACED_WHEN, "").isdecimal():
            return {}
        return {key: details.get(key, "") for key in (REPLACED_BY, REPLACED_WHEN)}

    @property
    def hidden_by_people(self) -> bool:
        """Whether this package wrote the relationship and a person hid it."""
        return self.removed and not self.removed_by_us and (self.ours or self.recorded)


def read_relationships(
    graph: DataHubGraph,
    *,
    written: Collection[str],
    hiders: Collection[str],
    warn: Warn,
    others: Collection[str] = (),
) -> dict[str, Relationship]:
    """Read all relationships in the catalog, even if they are hidden or not yet indexed."""
    skip = report_skipped(warn)
    entities = dict(scroll(graph, _ENTITY, _RELATIONSHIP_ASPECTS, removed=True, warn=skip))
    # The search index may lag behind, so what earlier runs wrote is also read by URN.
    not_indexed = sorted({*written, *others} - entities.keys())
    if not_indexed:
        entities |= fetch(graph, _ENTITY, not_indexed, _RELATIONSHIP_ASPECTS, warn=skip)
    read = partial(read_relationship, hiders=hiders, warn=warn)
    relationships = (
        parse_entity(urn, partial(read, urn, aspects, recorded=urn in written), skip)
        for urn, aspects in entities.items()
    )
    return {relationship.urn: relationship for relationship in relationships if relationship}


def read_relationship(
    urn: str, aspects: Aspects, *, recorded: bool, hiders: Collection[str], warn: Warn
) -> Relationship | None:
    """Build a `Relationship` from an entity's aspects and from the records of earlier runs."""
    properties = aspect_of(aspects, ERModelRelationshipPropertiesClass)
    if properties is None:
        return None
    pairs = _read_pairs(urn, properties, warn)
    removed, run = hidden_by(aspects)
    tags, ownership = aspect_of(aspects, GlobalTagsClass), aspect_of(aspects, OwnershipClass)
    assigned = tags.tags if tags else []
    return Relationship(
        urn=urn,
        aspect=properties,
        pairs=pairs,
        ours=is_ours(properties),
        recorded=recorded,
        join=from_aspect(properties) if pairs else None,
        removed=removed,
        removed_by_us=removed
        and is_withdrawal(run, properties.customProperties.get(WITHDRAWN_BY), hiders),
        tags=frozenset(tag.tag for tag in assigned),
        owners=tuple(owner.owner for owner in ownership.owners) if ownership else (),
        attributed={tag.tag: tag.attribution for tag in assigned if tag.attribution},
        tagged=changed_by_people(aspects, GlobalTagsClass),
        tagged_by=_changer(aspects, GlobalTagsClass),
        hidden=changed_by_people(aspects, StatusClass),
    )


def hidden_by(aspects: Aspects) -> tuple[bool, str | None]:
    """Return whether an entity is hidden, and the ID of the run that last wrote its status."""
    # The run is compared because the pipeline's name does not tell: the server keeps the name
    # of the pipeline that wrote first.
    status, stamp = aspects.get(StatusClass.ASPECT_NAME, (None, None))
    removed = isinstance(status, StatusClass) and bool(status.removed)
    return removed, stamp.runId if stamp else None


def changed_by_people(aspects: Aspects, kind: type[_Aspect]) -> int:
    """Return when a person last wrote an aspect, in milliseconds; 0 if a run or nobody did."""
    _, stamp = aspects.get(kind.ASPECT_NAME, (None, None))
    return (stamp.lastObserved or 0) if stamp and is_outside_runs(stamp) else 0


def _changer(aspects: Aspects, kind: type[_Aspect]) -> str:
    """Return the URN of the person who last wrote an aspect; empty if a run or nobody did."""
    _, stamp = aspects.get(kind.ASPECT_NAME, (None, None))
    modified = stamp.aspectModified if stamp and is_outside_runs(stamp) else None
    return modified.actor if modified else ""


def is_withdrawal(run: str | None, noted: str | None, hiders: Collection[str]) -> bool:
    """Return whether a run of this source, not a person, hid an entity."""
    # The entity itself notes the run that withdrew it, because checkpoints may be lost.
    return run is not None and (run == noted or run in hiders)


def _read_pairs(
    urn: str, properties: ERModelRelationshipPropertiesClass, warn: Warn
) -> tuple[Pair, ...]:
    try:
        pairs = pairs_in(properties)
    except InvalidUrnError as error:
        report_skipped(warn)(urn, f"one of its ends is not a dataset: {error}")
        return ()
    # A relationship between a column and itself joins nothing, unless other columns are equal, too.
    return pairs if any(left != right for left, right in pairs) else ()


def find_deleted(
    written: Collection[str],
    existing: Iterable[str],
    *,
    unseen: Collection[str] = (),
    writes_arrived: bool,
    warn: Warn,
) -> frozenset[str]:
    """Find the entities in `written` that are missing because people hard-deleted them."""
    # A missing entity is a rejection only if a person deleted it. Three other causes look the
    # same. An entity that no run has seen in the catalog was lost on its way there. People
    # delete entities one by one, so if more than three quarters of at least twenty are
    # missing, the catalog was restored or emptied. And if all are missing, the server may not
    # have processed the writes of the last run yet, unless other writes of that run are
    # there.
    never_seen = frozenset(written).intersection(unseen).difference(existing)
    if never_seen:
        warn(
            "Writes lost",
            "DataHub accepted these suggestions of the last run, but does not have them. They are "
            "written again",
            f"{len(never_seen)} of {len(written)}",
        )
    seen = frozenset(written) - never_seen
    missing = seen.difference(existing)
    lost = len(seen) >= _MANY and len(missing) > _MAX_SHARE_DELETED * len(seen)
    if missing and (lost or (len(missing) == len(seen) and not writes_arrived)):
        warn(
            "Suggestions lost",
            "So many suggestions of the last run are missing that people cannot have deleted them: "
            "they may be suggested again. Reject those that are wrong",
            f"{len(missing)} of {len(seen)}",
        )
        return frozenset()
    return missing


def expect_absent(graph: DataHubGraph, urns: Iterable[str]) -> None:
    """Raise an error if one of the given entities still exists in DataHub."""
    # An entity that is missing from an answer counts as deleted by a person, for good. So an
    # answer that is well-formed but incomplete must not be believed.
    for urn in sorted(urns):
        with reading(graph, "Suggestions of the last run"):
            exists = graph.exists(urn)
        if exists:
            raise UnreadableCatalogError.incomplete(urn)
