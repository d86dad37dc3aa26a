"""Write a join as an `erModelRelationship`, with its evidence."""

from collections.abc import Iterator

from datahub.emitter.mcp import MetadataChangeProposalWrapper
from datahub.ingestion.api.workunit import MetadataWorkUnit

from datahub_hyperjoin.emit.patches import swap_tag
from datahub_hyperjoin.joins import Join
from datahub_hyperjoin.relationship_aspect import BANDS, band, join_urn, to_aspect
from datahub_hyperjoin.urns import band_urn


def emit_relationship(join: Join, model_version: str) -> Iterator[MetadataWorkUnit]:
    """Write one relationship, and its confidence band as a tag.

    Args:
        join: The join.
        model_version: The model that suggested it.

    Yields:
        The relationship, which stateful ingestion removes with its join, and a patch of its tags.
        The context of the tag is the joinability, because GraphQL shows no other number.
    """
    urn = join_urn(join)
    yield MetadataChangeProposalWrapper(
        entityUrn=urn, aspect=to_aspect(join, model_version)
    ).as_workunit()
    current = band(join.joinability)
    yield swap_tag(
        urn,
        band_urn(current),
        context=f"{join.joinability:.4f}",
        stale=[band_urn(name) for name in BANDS if name != current],
    )
