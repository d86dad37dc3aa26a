"""A join as an `erModelRelationship`: undirected, with its evidence."""

from collections.abc import Iterator

from datahub.emitter.mcp import MetadataChangeProposalWrapper
from datahub.ingestion.api.workunit import MetadataWorkUnit

from datahub_hyperjoin.emit.patches import swap_tag
from datahub_hyperjoin.relationship_aspect import BANDS, band, join_urn, to_aspect
from datahub_hyperjoin.tables import Join
from datahub_hyperjoin.urns import band_urn


def emit_relationship(join: Join, model_version: str) -> Iterator[MetadataWorkUnit]:
    """One relationship, and its confidence band as a tag.

    Args:
        join: The join.
        model_version: What suggested it.

    Yields:
        The relationship, which disappears with stateful ingestion when the join does, and the
        change of its tag, whose context is the joinability: the only number that GraphQL gives.
    """
    urn = join_urn(join)
    yield MetadataChangeProposalWrapper(
        entityUrn=urn, aspect=to_aspect(join, model_version)
    ).as_workunit()
    own = band(join.joinability)
    yield swap_tag(
        urn,
        band_urn(own),
        context=f"{join.joinability:.4f}",
        stale=[band_urn(other) for other in BANDS if other != own],
    )
