"""A join as DataHub keeps it: the aspect of a relationship, written and read back.

The relationship is undirected; DataHub's server puts the greater dataset urn first, as its source.
What GraphQL cannot hold stands in the custom properties, whose `model_version` also tells the
relationships that we wrote from those that people did: an edit by a person drops them.
"""

from collections.abc import Mapping
from dataclasses import replace

from datahub.metadata.schema_classes import (
    ERModelRelationshipPropertiesClass,
    RelationshipFieldMappingClass,
)

from datahub_hyperjoin.tables import (
    Cardinality,
    ColumnId,
    Evidence,
    Join,
    Pair,
    pair_of,
)
from datahub_hyperjoin.urns import dataset_urn, plain_path, relationship_urn, table_id

BANDS = {"high": 0.8, "medium": 0.65, "low": 0.0}
"""The least joinability of each confidence band."""

_OURS = "model_version"
_COMPARED = "compared_as"
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
    return replace(
        evidence,
        left_containment=evidence.right_containment,
        right_containment=evidence.left_containment,
        cardinality=_MIRRORED[evidence.cardinality],
        left_fan_out=evidence.right_fan_out,
        right_fan_out=evidence.left_fan_out,
    )


def _orient(join: Join) -> tuple[ColumnId, ColumnId, Evidence]:
    """Source, destination and evidence."""
    if dataset_urn(join.left.table) > dataset_urn(join.right.table):
        return join.left, join.right, join.evidence
    return join.right, join.left, mirror(join.evidence)


def _name(source: ColumnId, destination: ColumnId) -> str:
    ends = (f"{column.table}.{plain_path(column.path)}" for column in (source, destination))
    return " = ".join(ends)


def join_urn(join: Join) -> str:
    """The relationship of a join: the same one in every run.

    Args:
        join: The join.
    """
    source, destination, _ = _orient(join)
    return relationship_urn(
        source=dataset_urn(source.table),
        destination=dataset_urn(destination.table),
        name=_name(source, destination),
    )


def _facts(join: Join, evidence: Evidence, model_version: str) -> dict[str, str]:
    compared = f"{evidence.compared_as or 'values'} compared on the data"
    return {
        "joinability": f"{join.joinability:.4f}",
        "band": band(join.joinability),
        "shared_values": str(evidence.shared),
        "source_containment": f"{evidence.left_containment:.4f}",
        "destination_containment": f"{evidence.right_containment:.4f}",
        "source_fan_out": f"{evidence.left_fan_out:.4f}",
        "destination_fan_out": f"{evidence.right_fan_out:.4f}",
        "evidence": "; ".join([compared, *join.catalog.sayings]),
        **({_COMPARED: evidence.compared_as} if evidence.compared_as else {}),
        _OURS: model_version,
    }


def to_aspect(join: Join, model_version: str) -> ERModelRelationshipPropertiesClass:
    """The aspect that holds a join and its evidence; no time stands in it.

    Args:
        join: The join.
        model_version: What suggested it.

    Returns:
        The same aspect in every run that finds the same.
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
        customProperties=_facts(join, evidence, model_version),
    )


def is_ours(aspect: ERModelRelationshipPropertiesClass) -> bool:
    """Whether this package wrote a relationship, and no person has edited it since.

    Args:
        aspect: The relationship.
    """
    return _OURS in aspect.customProperties


def pairs_in(aspect: ERModelRelationshipPropertiesClass) -> list[Pair]:
    """The pairs of columns that a relationship joins, by their plain paths.

    Args:
        aspect: Anyone's relationship.

    Returns:
        Several, if its key is composite.
    """
    source, destination = table_id(aspect.source), table_id(aspect.destination)
    return [
        pair_of(
            ColumnId(source, plain_path(mapping.sourceField)),
            ColumnId(destination, plain_path(mapping.destinationField)),
        )
        for mapping in aspect.relationshipFieldMappings
    ]


def _read_evidence(cardinality: Cardinality, facts: Mapping[str, str]) -> Evidence:
    return Evidence(
        shared=int(facts["shared_values"]),
        left_containment=float(facts["source_containment"]),
        right_containment=float(facts["destination_containment"]),
        cardinality=cardinality,
        left_fan_out=float(facts["source_fan_out"]),
        right_fan_out=float(facts["destination_fan_out"]),
        compared_as=facts.get(_COMPARED, ""),
    )


def from_aspect(aspect: ERModelRelationshipPropertiesClass) -> Join | None:
    """The join that a relationship of ours holds; what the catalog said of it is not read back.

    Args:
        aspect: Anyone's relationship.

    Returns:
        None for a relationship that is not ours, or that an unknown version of us wrote.
    """
    if not is_ours(aspect) or len(aspect.relationshipFieldMappings) != 1:
        return None
    (pair,) = pairs_in(aspect)
    facts = aspect.customProperties
    try:
        evidence = _read_evidence(Cardinality(aspect.cardinality), facts)
        joinability = float(facts["joinability"])
    except (KeyError, ValueError):
        return None
    source = ColumnId(
        table_id(aspect.source), plain_path(aspect.relationshipFieldMappings[0].sourceField)
    )
    return Join(
        left=pair[0],
        right=pair[1],
        joinability=joinability,
        evidence=evidence if pair[0] == source else mirror(evidence),
    )
