"""What the catalog holds already where a run is about to write."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from datahub.metadata.schema_classes import (
    ERModelRelationshipPropertiesClass,
    UpstreamLineageClass,
)

from datahub_hyperjoin.emit.patches import JOINABLE
from datahub_hyperjoin.emit.written_state import WrittenEdge


@dataclass(frozen=True, kw_only=True)
class ExistingState:
    """What may not be written over, and what must be shown again; empty without a server."""

    theirs: frozenset[str] = frozenset()
    """Relationships that a person wrote, or edited since we did."""

    kept: Mapping[str, ERModelRelationshipPropertiesClass] = field(default_factory=dict)
    """Those of them that earlier runs wrote first, as they are now, by urn."""

    hidden: frozenset[str] = frozenset()
    """Relationships and queries that earlier runs hid because their join was gone."""

    closed: frozenset[str] = frozenset()
    """Queries that a person edited, hid or deleted."""

    deleted: frozenset[str] = frozenset()
    """Those of them that are gone for good."""

    upstreams: Mapping[str, UpstreamLineageClass] = field(default_factory=dict)
    """The lineage of datasets, without what we wrote into it, by their urns."""


def without_ours(
    lineage: UpstreamLineageClass, edges: Iterable[WrittenEdge], downstream: str
) -> UpstreamLineageClass:
    """The lineage of a dataset as others wrote it.

    Args:
        lineage: All of it.
        edges: What the last run wrote, of any dataset.
        downstream: The dataset's urn.

    Returns:
        A copy without our edges.
    """
    coarse = {edge.parents for edge in edges if edge.coarse}
    return UpstreamLineageClass(
        upstreams=[one for one in lineage.upstreams if (one.dataset, downstream) not in coarse],
        fineGrainedLineages=[
            one for one in lineage.fineGrainedLineages or () if one.transformOperation != JOINABLE
        ],
    )
