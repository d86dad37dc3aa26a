"""A join as an `erModelRelationship`: undirected, with its evidence."""

from collections.abc import Iterator

from datahub.emitter.mcp import MetadataChangeProposalWrapper
from datahub.ingestion.api.workunit import MetadataWorkUnit
from datahub.metadata.schema_classes import (
    ERModelRelationshipPropertiesClass,
    RelationshipFieldMappingClass,
)

from datahub_hyperjoin.emit.definitions import BANDS, tag_urn
from datahub_hyperjoin.emit.patches import swap_tag
from datahub_hyperjoin.emit.urns import dataset_urn, relationship_urn
from datahub_hyperjoin.tables import Cardinality, ColumnId, Evidence, Join

_MIRRORED = {
    Cardinality.ONE_ONE: Cardinality.ONE_ONE,
    Cardinality.ONE_MANY: Cardinality.MANY_ONE,
    Cardinality.MANY_ONE: Cardinality.ONE_MANY,
    Cardinality.MANY_MANY: Cardinality.MANY_MANY,
}


def band(joinability: float) -> str:
    """The confidence band of a score.

    >>> band(0.93), band(0.7), band(0.5)
    ('high', 'medium', 'low')
    """
    return next(name for name, least in BANDS.items() if joinability >= least)


def mirror(evidence: Evidence) -> Evidence:
    """The same evidence read from the other side."""
    return Evidence(
        shared=evidence.shared,
        left_containment=evidence.right_containment,
        right_containment=evidence.left_containment,
        cardinality=_MIRRORED[evidence.cardinality],
        left_fan_out=evidence.right_fan_out,
        right_fan_out=evidence.left_fan_out,
    )


def _facts(join: Join, evidence: Evidence, model_version: str) -> dict[str, str]:
    return {
        "joinability": f"{join.joinability:.4f}",
        "band": band(join.joinability),
        "shared_values": str(evidence.shared),
        "source_containment": f"{evidence.left_containment:.4f}",
        "destination_containment": f"{evidence.right_containment:.4f}",
        "source_fan_out": f"{evidence.left_fan_out:.4f}",
        "destination_fan_out": f"{evidence.right_fan_out:.4f}",
        "evidence": "values compared on the data",
        "model_version": model_version,
    }


def _orient(join: Join) -> tuple[ColumnId, ColumnId, Evidence]:
    """Source, destination and evidence: DataHub's server puts the greater urn first."""
    if dataset_urn(join.left.table) > dataset_urn(join.right.table):
        return join.left, join.right, join.evidence
    return join.right, join.left, mirror(join.evidence)


def emit_relationship(join: Join, model_version: str) -> Iterator[MetadataWorkUnit]:
    """One relationship, and its confidence band as a tag.

    No time stands in it: the same join is written the same way in every run.

    Args:
        join: The join.
        model_version: What suggested it.

    Yields:
        The relationship, which disappears with stateful ingestion when the join does, and the
        change of its tag.
    """
    source, destination, evidence = _orient(join)
    name = f"{source} = {destination}"
    source_urn, destination_urn = dataset_urn(source.table), dataset_urn(destination.table)
    urn = relationship_urn(source=source_urn, destination=destination_urn, name=name)
    yield MetadataChangeProposalWrapper(
        entityUrn=urn,
        aspect=ERModelRelationshipPropertiesClass(
            name=name,
            source=source_urn,
            destination=destination_urn,
            relationshipFieldMappings=[
                RelationshipFieldMappingClass(
                    sourceField=source.path, destinationField=destination.path
                )
            ],
            cardinality=evidence.cardinality.value,
            customProperties=_facts(join, evidence, model_version),
        ),
    ).as_workunit()
    own = band(join.joinability)
    yield swap_tag(urn, tag_urn(own), stale=[tag_urn(other) for other in BANDS if other != own])
