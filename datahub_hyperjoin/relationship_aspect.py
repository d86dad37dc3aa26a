"""Convert joins to DataHub's relationship aspect and back.

A relationship is undirected; DataHub's server stores the dataset with the greater URN as its
source. The evidence is stored in the custom properties, which GraphQL cannot hold. Their
`model_version` also distinguishes our relationships from those of other authors: an edit in
DataHub's pages drops all custom properties.
"""

from collections.abc import Mapping

from datahub.metadata.schema_classes import (
    ERModelRelationshipPropertiesClass,
    RelationshipFieldMappingClass,
)

from datahub_hyperjoin.joins import Cardinality, Evidence, Join
from datahub_hyperjoin.tables import ColumnId, Pair, pair_of
from datahub_hyperjoin.urns import dataset_urn, plain_path, relationship_urn, table_id

BANDS = {"high": 0.8, "medium": 0.65, "low": 0.0}
"""Lowest joinability of each confidence band."""

MODEL_VERSION = "model_version"
"""The custom property that marks the relationships and queries that this package wrote."""

_COMPARED = "compared_as"


def band(joinability: float) -> str:
    """Return the confidence band of a score.

    >>> band(0.93), band(0.7), band(0.5)
    ('high', 'medium', 'low')
    """
    return next(name for name, lowest in BANDS.items() if joinability >= lowest)


def _orient(join: Join) -> tuple[ColumnId, ColumnId, Evidence]:
    """Return the source and destination columns, and the evidence with the source on the left."""
    if dataset_urn(join.left.table) > dataset_urn(join.right.table):
        return join.left, join.right, join.evidence
    return join.right, join.left, join.evidence.reversed


def _name(source: ColumnId, destination: ColumnId) -> str:
    ends = (f"{column.table}.{plain_path(column.path)}" for column in (source, destination))
    return " = ".join(ends)


def join_urn(join: Join) -> str:
    """Return the URN of a join's relationship, which is the same in every run.

    Args:
        join: The join.
    """
    source, destination, _ = _orient(join)
    return relationship_urn(
        source=dataset_urn(source.table),
        destination=dataset_urn(destination.table),
        name=_name(source, destination),
    )


def _custom_properties(join: Join, evidence: Evidence, model_version: str) -> dict[str, str]:
    measured = f"{evidence.compared_as or 'values'} compared on the data"
    return {
        "joinability": f"{join.joinability:.4f}",
        "band": band(join.joinability),
        "shared_values": str(evidence.shared),
        "source_containment": f"{evidence.left_containment:.4f}",
        "destination_containment": f"{evidence.right_containment:.4f}",
        "source_fan_out": f"{evidence.left_fan_out:.4f}",
        "destination_fan_out": f"{evidence.right_fan_out:.4f}",
        "evidence": "; ".join([measured, *join.catalog.descriptions]),
        **({_COMPARED: evidence.compared_as} if evidence.compared_as else {}),
        MODEL_VERSION: model_version,
    }


def to_aspect(join: Join, model_version: str) -> ERModelRelationshipPropertiesClass:
    """Build the relationship aspect of a join, with its evidence.

    Args:
        join: The join.
        model_version: Version of the model that suggested it.

    Returns:
        An aspect without a timestamp, so that runs with equal results write equal aspects.
    """
    source, destination, evidence = _orient(join)
    return ERModelRelationshipPropertiesClass(
        name=_name(source, destination),
        source=dataset_urn(source.table),
        destination=dataset_urn(destination.table),
        relationshipFieldMappings=[
            RelationshipFieldMappingClass(
                sourceField=source.path, destinationField=destination.path
            )
        ],
        cardinality=evidence.cardinality.value,
        customProperties=_custom_properties(join, evidence, model_version),
    )


def is_ours(aspect: ERModelRelationshipPropertiesClass) -> bool:
    """Return whether this package wrote a relationship and no person has edited it since.

    Args:
        aspect: The relationship.
    """
    return MODEL_VERSION in aspect.customProperties


def pairs_in(aspect: ERModelRelationshipPropertiesClass) -> list[Pair]:
    """Return the pairs of columns that a relationship joins, with plain paths.

    Args:
        aspect: A relationship of any author.

    Returns:
        Several pairs for a composite key.
    """
    source, destination = table_id(aspect.source), table_id(aspect.destination)
    return [
        pair_of(
            ColumnId(source, plain_path(mapping.sourceField)),
            ColumnId(destination, plain_path(mapping.destinationField)),
        )
        for mapping in aspect.relationshipFieldMappings
    ]


def _read_evidence(cardinality: Cardinality, properties: Mapping[str, str]) -> Evidence:
    return Evidence(
        shared=int(properties["shared_values"]),
        left_containment=float(properties["source_containment"]),
        right_containment=float(properties["destination_containment"]),
        cardinality=cardinality,
        left_fan_out=float(properties["source_fan_out"]),
        right_fan_out=float(properties["destination_fan_out"]),
        compared_as=properties.get(_COMPARED, ""),
    )


def from_aspect(aspect: ERModelRelationshipPropertiesClass) -> Join | None:
    """Convert a relationship of this package back to a join, without catalog evidence.

    Args:
        aspect: A relationship of any author.

    Returns:
        None for a relationship that is not ours, or whose custom properties cannot be parsed
        because an incompatible version wrote them.
    """
    # This package writes one pair of columns per relationship.
    if not is_ours(aspect) or len(aspect.relationshipFieldMappings) != 1:
        return None
    (pair,) = pairs_in(aspect)
    properties = aspect.customProperties
    try:
        evidence = _read_evidence(Cardinality(aspect.cardinality), properties)
        joinability = float(properties["joinability"])
    except (KeyError, ValueError):
        return None
    source = ColumnId(
        table_id(aspect.source), plain_path(aspect.relationshipFieldMappings[0].sourceField)
    )
    return Join(
        left=pair[0],
        right=pair[1],
        joinability=joinability,
        # A pair is sorted by identifier, a relationship by URN.
        evidence=evidence if pair[0] == source else evidence.reversed,
    )
