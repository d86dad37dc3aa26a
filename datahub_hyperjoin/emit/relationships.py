"""Write a join and its evidence as an `erModelRelationship` entity."""

from collections.abc import Iterator

from datahub.emitter.mcp import MetadataChangeProposalWrapper
from datahub.ingestion.api.workunit import MetadataWorkUnit

from datahub_hyperjoin.emit.patches import change_tags
from datahub_hyperjoin.joins import Join, Role
from datahub_hyperjoin.metadata.confidence_bands import BAND_NAMES, band_of
from datahub_hyperjoin.metadata.relationship_aspect import join_urn, to_aspect
from datahub_hyperjoin.metadata.role_context import RoleContext
from datahub_hyperjoin.metadata.urns import band_urn, role_urn

_OUR_TAGS = (*map(band_urn, BAND_NAMES), *map(role_urn, Role))


def emit_relationship(
    join: Join, model_version: str, *, no_sql: str = ""
) -> Iterator[MetadataWorkUnit]:
    """Write a join as a relationship with two tags: the join's role and its confidence band.

    Args:
        no_sql: Why the join has no SQL, if it was sought and not found.

    Yields:
        The relationship, which stateful ingestion removes with its join, and a patch of its tags.
        The tags' contexts hold the joinability and the facts of the evidence, because GraphQL shows
        no other text of a relationship that programs may write.
    """
    urn, aspect = join_urn(join), to_aspect(join, model_version)
    if no_sql:
        aspect.customProperties["no_sql"] = no_sql
    yield MetadataChangeProposalWrapper(entityUrn=urn, aspect=aspect).as_workunit()
    contexts = {
        band_urn(band_of(join)): f"{join.joinability:.4f}",
        role_urn(join.role): RoleContext.of(join).text,
    }
    yield change_tags(urn, contexts, stale=[tag for tag in _OUR_TAGS if tag not in contexts])
