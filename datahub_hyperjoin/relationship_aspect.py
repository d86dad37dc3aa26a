"""Convert joins to DataHub's relationship aspect and back.

The source of a directed join is the referring table and its destination the referenced one. Where
a join has no direction, the source is the dataset with the greater URN, as in DataHub's server. The
evidence is stored in the custom properties, which GraphQL cannot hold. Their `model_version`
also distinguishes our relationships from those of other authors: an edit in DataHub's pages drops
all custom properties. Edits through other ways keep them, so an editor in `lastModified` or a name
that does not follow from the columns marks an edited relationship, too.
"""

from collections.abc import Mapping, Sequence

from datahub.metadata.schema_classes import (
    ERModelRelationshipPropertiesClass,
    RelationshipFieldMappingClass,
)
from datahub.utilities.urns.error import InvalidUrnError

from datahub_hyperjoin.joins import Cardinality, Evidence, Join, Role
from datahub_hyperjoin.tables import ColumnId, Pair, pair_of
from datahub_hyperjoin.urns import (
    AUTHOR,
    column_id,
    column_urn,
    dataset_urn,
    plain_path,
    relationship_urn,
    table_id,
)

BANDS = {"high": 0.8, "medium": 0.65, "low": 0.0}
"""Lowest joinability of each confidence band."""

MODEL_VERSION = "model_version"
"""The custom property that marks the relationships and queries that this package wrote."""

_COMPARED, _ROLE = "compared_as", "role"
_CROSSWALK = ("source_crosswalk_column", "destination_crosswalk_column")

_Pairs = tuple[tuple[ColumnId, ColumnId], ...]


def band(joinability: float) -> str:
    """Return the confidence band of a joinability, such as `high`.

    >>> band(0.93), band(0.7), band(0.5)
    ('high', 'medium', 'low')
    """
    return next(name for name, lowest in BANDS.items() if joinability >= lowest)


def oriented(join: Join) -> tuple[_Pairs, Evidence]:
    """Return a join's columns and evidence, with the source of the relationship on the left.

    Args:
        join: The join.

    Returns:
        Its pairs of columns, those of the source first, and its evidence, with the source on the
        left.
    """
    forward = _precedes(join.pairs) if join.referenced is None else join.referenced == join.right
    if forward:
        return join.pairs, join.evidence
    return _swapped(join.pairs), join.evidence.reversed


def _precedes(pairs: Sequence[Pair]) -> bool:
    """For a join without direction, return whether its left table is the relationship's source."""
    left, right = pairs[0]
    return dataset_urn(left.table) > dataset_urn(right.table)


def _swapped(pairs: Sequence[Pair]) -> _Pairs:
    return tuple((right, left) for left, right in pairs)


def _name(pairs: _Pairs) -> str:
    return " and ".join(
        " = ".join(f"{column.table}.{plain_path(column.path)}" for column in pair) for pair in pairs
    )


def join_urn(join: Join) -> str:
    """Return the URN of a join's relationship, the same in every run.

    Args:
        join: The join.
    """
    return columns_urn(join.pairs)


def columns_urn(columns: Sequence[Pair]) -> str:
    """Return the URN of the relationship that joins the given pairs of columns.

    People's decisions are attached to the URN, so it depends on the columns only: neither on the
    direction of the join nor on the order of a composite key.

    Args:
        columns: The pairs of columns, each with the same table's column first.
    """
    pairs = sorted(columns if _precedes(columns) else _swapped(columns))
    source, destination = pairs[0]
    return relationship_urn(
        source=dataset_urn(source.table),
        destination=dataset_urn(destination.table),
        name=_name(tuple(pairs)),
    )


def _custom_properties(join: Join, evidence: Evidence, model_version: str) -> dict[str, str]:
    measured = f"{evidence.compared_as or 'values'} compared on the data"
    return {
        "joinability": f"{join.joinability:.4f}",
        "band": band(join.joinability),
        _ROLE: join.role.value,
        "shared_values": str(evidence.shared),
        "source_containment": f"{evidence.left_containment:.4f}",
        "destination_containment": f"{evidence.right_containment:.4f}",
        "source_fan_out": f"{evidence.left_fan_out:.4f}",
        "destination_fan_out": f"{evidence.right_fan_out:.4f}",
        "joined_rows": str(evidence.rows),
        "evidence": "; ".join([measured, *join.catalog.descriptions]),
        **({_COMPARED: evidence.compared_as} if evidence.compared_as else {}),
        **_crosswalk_properties(join),
        MODEL_VERSION: model_version,
    }


def _crosswalk_properties(join: Join) -> dict[str, str]:
    """Return the custom properties that name the columns of a join's crosswalk."""
    if join.via is None:
        return {}
    source = oriented(join)[0][0][0]
    columns = join.via if source == join.left else join.via[::-1]
    return dict(zip(_CROSSWALK, map(column_urn, columns), strict=True))


def to_aspect(join: Join, model_version: str) -> ERModelRelationshipPropertiesClass:
    """Build the relationship aspect of a join, with its evidence.

    Args:
        join: The join.
        model_version: Version of the model that suggested it.

    Returns:
        An aspect without a timestamp, so that runs with equal results write equal aspects.
    """
    pairs, evidence = oriented(join)
    source, destination = pairs[0]
    return ERModelRelationshipPropertiesClass(
        name=_name(pairs),
        source=dataset_urn(source.table),
        destination=dataset_urn(destination.table),
        relationshipFieldMappings=[
            RelationshipFieldMappingClass(sourceField=one.path, destinationField=other.path)
            for one, other in pairs
        ],
        cardinality=evidence.cardinality.value,
        customProperties=_custom_properties(join, evidence, model_version),
    )


def is_ours(aspect: ERModelRelationshipPropertiesClass) -> bool:
    """Return whether this package wrote a relationship and no person has edited it since.

    Args:
        aspect: The relationship.
    """
    stamp = aspect.lastModified
    if MODEL_VERSION not in aspect.customProperties or (stamp and stamp.actor != AUTHOR):
        return False
    try:
        return aspect.name == _name(_mapped(aspect))
    except InvalidUrnError:
        return False


def pairs_in(aspect: ERModelRelationshipPropertiesClass) -> list[Pair]:
    """Return the pairs of columns that a relationship joins.

    The column paths do not contain the types of DataHub's field paths.

    Args:
        aspect: A relationship of any author.

    Returns:
        Several pairs for a composite key.
    """
    return [pair_of(*pair) for pair in _mapped(aspect)]


def _mapped(aspect: ERModelRelationshipPropertiesClass) -> _Pairs:
    """Return the column pairs of a relationship, each with the source's column first."""
    source, destination = table_id(aspect.source), table_id(aspect.destination)
    return tuple(
        (
            ColumnId(source, plain_path(mapping.sourceField)),
            ColumnId(destination, plain_path(mapping.destinationField)),
        )
        for mapping in aspect.relationshipFieldMappings
    )


def _read_evidence(cardinality: Cardinality, properties: Mapping[str, str]) -> Evidence:
    return Evidence(
        shared=int(properties["shared_values"]),
        left_containment=float(properties["source_containment"]),
        right_containment=float(properties["destination_containment"]),
        cardinality=cardinality,
        left_fan_out=float(properties["source_fan_out"]),
        right_fan_out=float(properties["destination_fan_out"]),
        rows=int(properties.get("joined_rows", 0)),
        compared_as=properties.get(_COMPARED, ""),
    )


def _read_crosswalk(properties: Mapping[str, str]) -> tuple[ColumnId, ColumnId] | None:
    """Read the two columns of a crosswalk from a relationship's custom properties.

    The column that joins with the source comes first.
    """
    if not all(name in properties for name in _CROSSWALK):
        return None
    source, destination = (column_id(properties[name]) for name in _CROSSWALK)
    return source, destination


def from_aspect(aspect: ERModelRelationshipPropertiesClass) -> Join | None:
    """Convert one of this package's relationships to a join, without catalog evidence.

    Args:
        aspect: A relationship of any author.

    Returns:
        None for a relationship that is not ours, or whose custom properties cannot be parsed
        because an incompatible version wrote them.
    """
    if not is_ours(aspect) or not aspect.relationshipFieldMappings:
        return None
    properties = aspect.customProperties
    try:
        evidence = _read_evidence(Cardinality(aspect.cardinality), properties)
        joinability = float(properties["joinability"])
        role = Role(properties.get(_ROLE, Role.SAME_DOMAIN.value))
        via = _read_crosswalk(properties)
    except (KeyError, ValueError, InvalidUrnError):
        return None
    pairs = _mapped(aspect)
    source, destination = pairs[0]
    forward = source <= destination
    (left, right), *further = pairs if forward else _swapped(pairs)
    return Join(
        left=left,
        right=right,
        joinability=joinability,
        evidence=evidence if forward else evidence.reversed,
        role=role,
        referenced=destination if role.is_directed else None,
        further=tuple(further),
        via=via if forward or via is None else (via[1], via[0]),
    )
