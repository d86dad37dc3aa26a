"""Write joins as relationships, DataHub's `erModelRelationship` entities."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import ClassVar

from datahub.emitter.mcp import MetadataChangeProposalWrapper
from datahub.ingestion.api.workunit import MetadataWorkUnit
from datahub.metadata.schema_classes import (
    ERModelRelationshipPropertiesClass,
    StatusClass,
    TagPropertiesClass,
)
from datahub.metadata.urns import TagUrn
from typing_extensions import override

from datahub_hyperjoin.catalog.relationships import Relationship
from datahub_hyperjoin.emit.layer import (
    OwnEntities,
    Writing,
    create,
    create_missing_definitions,
    unit_of,
)
from datahub_hyperjoin.emit.patches import change_tags
from datahub_hyperjoin.joins import (
    BAND_NAMES,
    BANDS,
    UNVERIFIED,
    CatalogEvidence,
    Join,
    Role,
    Statement,
)
from datahub_hyperjoin.metadata.relationships import (
    COPIED,
    REPLACED_BY,
    REPLACED_WHEN,
    join_urn,
    pairs_in,
    tag_context,
    to_aspect,
)
from datahub_hyperjoin.metadata.urns import (
    ACCEPTED,
    AUTHOR,
    DECIDING_TAGS,
    REJECTED,
    band_urn,
    column_urn,
    role_urn,
)

Attribution = Mapping[str, object]
"""Who set a tag, and when, as DataHub's `MetadataAttribution`."""

_ROLES = {
    Role.REFERENCE: "Many to one: the source of this join refers to unique values of the "
    "destination.",
    Role.ONE_TO_ONE: "Both sides of this join are unique, and the source refers to the "
    "destination.",
    Role.SIBLING: "Both sides of this join refer to the same key of another table. Joining them "
    "usually multiplies rows.",
    Role.SAME_DOMAIN: "Both sides of this join hold values of one kind, but neither is a key of "
    "the other. Joining them may multiply rows.",
}
"""Descriptions of the tags that name roles."""

_UNVERIFIED = (
    "A join suggested by names and the catalog, since no row of one of the tables was read: it is "
    "not verified on data, whatever its joinability."
)

_DECISIONS = {
    ACCEPTED: "A person accepted this join. HyperJoin always suggests it, whatever its score, and "
    "learns from it.",
    REJECTED: "A person rejected this join. HyperJoin never suggests it again, and learns from it.",
}
"""Descriptions of the tags by which people decide."""


def define_tags() -> Iterator[MetadataChangeProposalWrapper]:
    """Yield the metadata that creates the tags for relationships."""
    low, high = BANDS["medium"], BANDS["high"]
    bands = f"high from {high:.2f}, medium from {low:.2f}, low below"
    meanings = {
        band_urn(band): f"A join suggested from the data, with {band} joinability: {bands}."
        for band in BANDS
    }
    meanings[band_urn(UNVERIFIED)] = _UNVERIFIED
    meanings |= {role_urn(role): meaning for role, meaning in _ROLES.items()} | _DECISIONS
    for tag, meaning in meanings.items():
        name = TagUrn.from_string(tag).name
        yield create(tag, TagPropertiesClass(name=name, description=meaning))


OUR_TAGS = (*map(band_urn, BAND_NAMES), *map(role_urn, Role))


def emit_relationship(
    join: Join, model_version: str, *, no_sql: str = ""
) -> Iterator[MetadataWorkUnit]:
    """Write a join as a relationship with two tags: the join's role and its confidence band."""
    # The contexts of the tags hold the joinability and the facts of the evidence, because GraphQL
    # shows no other text of a relationship that programs may write.
    urn, aspect = join_urn(join), to_aspect(join, model_version)
    if no_sql:
        aspect.customProperties["no_sql"] = no_sql
    yield unit_of(urn, aspect, primary=True)
    bands = {band_urn(join.band): f"{join.joinability:.4f}"}
    contexts = {**bands, role_urn(join.role): tag_context(join)}
    yield change_tags(urn, contexts, stale=[tag for tag in OUR_TAGS if tag not in contexts])


def copy_decision(
    urn: str, entry: Relationship | None, evidence: CatalogEvidence
) -> Iterator[MetadataWorkUnit]:
    """Write what people decided elsewhere as a tag of the relationship, and remove the others.

    `entry` is the relationship in DataHub; None if there is none.
    """
    # All who read relationships see the decision that holds, whether it stands in a property of a
    # column or in a file.
    tags, copied = (entry.tags, entry.copied) if entry else (frozenset(), frozenset())
    wanted = next((tag for tag, it in DECIDING_TAGS.items() if it is evidence.verdict), "")
    stale = [tag for tag in DECIDING_TAGS if tag in (tags if wanted else copied) and tag != wanted]
    attributed: dict[str, Attribution] = {}
    if wanted and wanted not in tags - copied:
        attributed = {wanted: _attribute(entry, wanted, stale, evidence)}
    elif wanted and entry and wanted not in entry.attributed and evidence.when:
        # A tag without the time of its decision would seem as new as the next one.
        attributed = {wanted: _sign(evidence)}
    if stale or attributed:
        yield change_tags(urn, {}, stale=stale, attributed=attributed)


def _sign(evidence: CatalogEvidence) -> Attribution:
    is_urn = evidence.by.startswith("urn:li:")
    return {"actor": evidence.by if is_urn else AUTHOR, "time": evidence.when}


def _attribute(
    entry: Relationship | None, wanted: str, stale: Sequence[str], evidence: CatalogEvidence
) -> Attribution:
    """Describe a tag that copies a decision, and what it replaces."""
    # If a decision is withdrawn, or changes, the one that its copy had replaced stands again.
    if again := _replaced_before(entry, stale):
        return {"actor": again[REPLACED_BY] or AUTHOR, "time": int(again[REPLACED_WHEN])}
    named = {} if evidence.by.startswith("urn:li:") else {"by": evidence.by}
    replaced = _replaced_before(entry, [wanted]) or _replaced(entry, stale)
    details = {COPIED: "people decided elsewhere", **named, **replaced}
    return {**_sign(evidence), "sourceDetail": details}


def _replaced_before(entry: Relationship | None, tags: Iterable[str]) -> Mapping[str, str]:
    """Return the decision of a person that one of the copied tags has replaced."""
    return next(filter(None, map(entry.replaced_by, tags)), {}) if entry else {}


def _replaced(entry: Relationship | None, stale: Iterable[str]) -> dict[str, str]:
    """Describe the decision of a person that a copied one replaces."""
    for tag in stale:
        if entry and tag not in entry.copied:
            by = entry.attributed.get(tag)
            actor, when = (by.actor, by.time) if by else ("", entry.tagged)
            return {REPLACED_BY: actor, REPLACED_WHEN: str(when)}
    return {}


class Relationships(OwnEntities):
    """Joins as relationships for programs; DataHub's framework hides those that are stale."""

    key = "relationships"
    entity = "erModelRelationship"
    info = ERModelRelationshipPropertiesClass
    needs: ClassVar = {
        "erModelRelationship": ("erModelRelationshipProperties", "globalTags", "status"),
        "tag": ("tagProperties",),
    }
    per_join = 2

    @override
    def write(self, run: Writing) -> Iterator[MetadataWorkUnit]:
        yield from create_missing_definitions(define_tags(), run.graph)
        publication, existing = run.publication, run.existing
        joins = {join_urn(join): join for join in publication.linking}
        for urn, join in joins.items():
            if urn not in existing.closed:
                statement = publication.statements.get(join.pairs, Statement())
                version = publication.model_version
                yield from emit_relationship(join, version, no_sql=statement.reason)
                if urn in existing.hidden:
                    yield unit_of(urn, StatusClass(removed=False), primary=True)
                run.written.relationships[urn] = (column_urn(join.left), column_urn(join.right))
        for urn, join in joins.items():
            entry, evidence = existing.decided.get(urn, (None, join.catalog))
            yield from () if urn in existing.closed else copy_decision(urn, entry, evidence)
        for urn, aspect in existing.edited.items():
            # Stateful ingestion removes every entity that a run does not write, so an edited
            # relationship is written as it is.
            yield unit_of(urn, aspect, primary=True)
            left, right = pairs_in(aspect)[0]
            run.written.relationships[urn] = (column_urn(left), column_urn(right))
