"""Convert joins to DataHub relationships and back.

The source of a directed join is the referring table and its destination the referenced one. Where
a join has no direction, the source is the dataset with the greater URN, as in DataHub's server. The
evidence is stored in the custom properties, which GraphQL cannot hold. Their `model_version`
also distinguishes our relationships from those of other authors: an edit in DataHub's pages drops
all custom properties. Edits through other ways keep them, so an editor in `lastModified` or a name
that does not follow from the columns marks an edited relationship, too.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import lru_cache
from typing import TYPE_CHECKING

from datahub.utilities.urns.error import InvalidUrnError

from datahub_hyperjoin.catalog_facts import CatalogFacts
from datahub_hyperjoin.joins import Cardinality, CatalogEvidence, Evidence, Join, Role, RowCounts
from datahub_hyperjoin.metadata.confidence_bands import NOT_VERIFIED, UNVERIFIED, band_of
from datahub_hyperjoin.metadata.urns import (
    AUTHOR,
    KEPT_URNS,
    column_id,
    column_urn,
    dataset_urn,
    plain_path,
    relationship_urn,
    table_id,
)
from datahub_hyperjoin.tables import ColumnId, Pair, in_order, pair_of

if TYPE_CHECKING:
    from datahub.metadata.schema_classes import ERModelRelationshipPropertiesClass

MODEL_VERSION = "model_version"
"""The custom property that marks the relationships and queries that this package wrote. It names
the model of the run that changed the aspect; a newer model alone changes nothing."""

SQL_DIALECT = "sql_dialect"
"""The custom property of a query that names the dialect in which its SQL was run, in sqlglot's
words."""

SCORE_DIGITS = 4
"""Number of decimals with which joinabilities are written."""

WITHDRAWN_BY = "withdrawn_by"
"""The custom property that names the run which withdrew a relationship or query."""

_BAND, _COMPARED, _ROLE = "band", "compared_as", "role"
_COUNTS = {
    "total": "{}_rows",
    "filled": "{}_rows_with_value",
    "matched": "{}_rows_with_partner",
}
"""The custom properties that store `RowCounts`, by field; a side of the join fills the gap."""
_CROSSWALK = ("source_crosswalk_column", "destination_crosswalk_column")

_Pairs = tuple[tuple[ColumnId, ColumnId], ...]


def oriented(join: Join) -> tuple[_Pairs, Evidence | None]:
    """Return a join's columns and evidence, with the relationship's source table on the left.

    Returns:
        Its pairs of columns, those of the source first, and its evidence, with the source on the
        left; None if it was not verified.
    """
    forward = (
        _left_is_source(join.pairs) if join.referenced is None else join.referenced == join.right
    )
    if forward:
        return join.pairs, join.evidence
    return _swapped(join.pairs), join.evidence and join.evidence.reversed


def _left_is_source(pairs: Sequence[Pair]) -> bool:
    """For a join without a direction, return whether the left table is the relationship's source.

    It is if the URN of its dataset sorts after that of the right table's dataset.
    """
    left, right = pairs[0]
    return dataset_urn(left.table) > dataset_urn(right.table)


def _swapped(pairs: Sequence[Pair]) -> _Pairs:
    return tuple((right, left) for left, right in pairs)


def _plain(column: ColumnId) -> ColumnId:
    path = plain_path(column.path)
    # Most paths are plain, and a copy takes longer than the comparison.
    return column if path == column.path else ColumnId(column.table, path)


def _name(pairs: _Pairs) -> str:
    return " and ".join(
        " = ".join(f"{column.table}.{plain_path(column.path)}" for column in pair) for pair in pairs
    )


def join_urn(join: Join) -> str:
    """Return the URN of a join's relationship.

    It is the same in every run.
    """
    return columns_urn(join.pairs)


def columns_urn(columns: Sequence[Pair]) -> str:
    """Return the URN of the relationship that joins the given pairs of columns.

    People's decisions are attached to the URN, so it depends on the columns only: neither on the
    direction of the join nor on the order of a composite key.

    Args:
        columns: The pairs of columns, each with the same table's column first.
    """
    return _columns_urn(tuple(columns))


@lru_cache(maxsize=KEPT_URNS)
def _columns_urn(columns: _Pairs) -> str:
    # Field paths that contain types would sort in another order.
    pairs = in_order((_plain(left), _plain(right)) for left, right in columns)
    pairs = pairs if _left_is_source(pairs) else tuple(sorted(_swapped(pairs)))
    source, destination = pairs[0]
    return relationship_urn(
        source=dataset_urn(source.table),
        destination=dataset_urn(destination.table),
        name=_name(tuple(pairs)),
    )


def catalog_evidence(columns: Sequence[Pair], facts: CatalogFacts) -> CatalogEvidence:
    """Return the catalog evidence of a single-column or composite join.

    A decision about a composite join concerns this join only: none of its pairs, and no other join
    that contains them.

    Args:
        columns: The pairs of columns, each with the same table's column first.
    """
    if len(columns) == 1:
        return facts.of(pair_of(*columns[0]))
    if not facts.composites:
        return CatalogEvidence()
    names = facts.spellings
    urn = columns_urn([(names.get(left, left), names.get(right, right)) for left, right in columns])
    return facts.composites.get(urn, CatalogEvidence())


def _custom_properties(join: Join, evidence: Evidence | None, model_version: str) -> dict[str, str]:
    how = f"{evidence.compared_as or 'values'} compared on the data" if evidence else NOT_VERIFIED
    return {
        "joinability": f"{join.joinability:.{SCORE_DIGITS}f}",
        _BAND: band_of(join),
        _ROLE: join.role.value,
        **(_measured_properties(evidence) if evidence else {}),
        "evidence": "; ".join([how, *join.catalog.descriptions, *_describe_namesakes(join)]),
        **_crosswalk_properties(join),
        MODEL_VERSION: model_version,
    }


def _describe_namesakes(join: Join) -> list[str]:
    """Describe the known references of other columns that have the referring column's name."""
    if join.namesakes is None or join.referring is None or join.referenced is None:
        return []
    return [join.namesakes.describe(join.referring, join.referenced)]


def _measured_properties(evidence: Evidence) -> dict[str, str]:
    """Return the custom properties that store the measurements of a join."""
    return {
        "shared_values": str(evidence.shared),
        "source_containment": f"{evidence.left_containment:.4f}",
        "destination_containment": f"{evidence.right_containment:.4f}",
        "source_fan_out": f"{evidence.left_fan_out:.4f}",
        "destination_fan_out": f"{evidence.right_fan_out:.4f}",
        "joined_rows": str(evidence.rows),
        **({_COMPARED: evidence.compared_as} if evidence.compared_as else {}),
        **_counts_properties("source", evidence.left_counts),
        **_counts_properties("destination", evidence.right_counts),
    }


def _counts_properties(side: str, counts: RowCounts | None) -> dict[str, str]:
    """Return the custom properties that store how a join divides the rows of a table."""
    known = asdict(counts) if counts else {}
    return {_COUNTS[name].format(side): str(n) for name, n in known.items() if n is not None}


def _read_counts(side: str, properties: Mapping[str, str]) -> RowCounts | None:
    counts = {name: properties.get(key.format(side)) for name, key in _COUNTS.items()}
    total, filled, matched = (None if text is None else int(text) for text in counts.values())
    if total is None or filled is None:
        return None
    return RowCounts(total=total, filled=filled, matched=matched)


def _cardinality(join: Join, evidence: Evidence | None) -> Cardinality:
    """Return the cardinality from the relationship's source to its destination.

    Without evidence, a reference is many-to-one if the catalog or a person states it.
    """
    if evidence:
        return evidence.cardinality
    stated = join.referenced is not None and join.catalog.is_confirmed
    return Cardinality.MANY_ONE if stated else Cardinality.MANY_MANY


def _crosswalk_properties(join: Join) -> dict[str, str]:
    """Return the custom properties that name the columns of a join's crosswalk."""
    if join.via is None:
        return {}
    source = oriented(join)[0][0][0]
    columns = join.via if source == join.left else join.via[::-1]
    return dict(zip(_CROSSWALK, map(column_urn, columns), strict=True))


def to_aspect(join: Join, model_version: str) -> "ERModelRelationshipPropertiesClass":
    """Build the relationship aspect of a join, with its evidence.

    Returns:
        An aspect without a timestamp, so that runs with equal results write equal aspects.
    """
    from datahub.metadata.schema_classes import (  # noqa: PLC0415 (a run without DataHub needs none)
        ERModelRelationshipPropertiesClass,
        RelationshipFieldMappingClass,
    )

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
        cardinality=_cardinality(join, evidence).value,
        customProperties=_custom_properties(join, evidence, model_version),
    )


def is_ours(aspect: "ERModelRelationshipPropertiesClass") -> bool:
    """Return whether this package wrote a relationship and nobody has edited it since."""
    stamp = aspect.lastModified
    if MODEL_VERSION not in aspect.customProperties or (stamp and stamp.actor != AUTHOR):
        return False
    try:
        return aspect.name == _name(_mapped(aspect))
    except InvalidUrnError:
        return False


def pairs_in(aspect: "ERModelRelationshipPropertiesClass") -> tuple[Pair, ...]:
    """Return the pairs of columns that a relationship joins.

    The column paths do not contain the types of DataHub's field paths.

    Returns:
        Several pairs for a composite key, in the order of `in_order`.
    """
    return in_order(_mapped(aspect))


def _mapped(aspect: "ERModelRelationshipPropertiesClass") -> _Pairs:
    """Return the column pairs of a relationship, each with the source table's column first."""
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
        left_counts=_read_counts("source", properties),
        right_counts=_read_counts("destination", properties),
    )


def _read_crosswalk(properties: Mapping[str, str]) -> tuple[ColumnId, ColumnId] | None:
    """Read the two crosswalk columns from a relationship's custom properties.

    The column that joins with the source comes first.
    """
    if not all(name in properties for name in _CROSSWALK):
        return None
    source, destination = (column_id(properties[name]) for name in _CROSSWALK)
    return source, destination


def from_aspect(aspect: "ERModelRelationshipPropertiesClass") -> Join | None:
    """Convert a relationship to a join; return None if another author wrote or edited it.

    The join has no catalog evidence.

    Returns:
        None for a relationship that is not ours, or whose custom properties cannot be parsed
        because an incompatible version wrote them.
    """
    if not is_ours(aspect) or not aspect.relationshipFieldMappings:
        return None
    properties = aspect.customProperties
    try:
        evidence = None
        if properties.get(_BAND) != UNVERIFIED:
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
        evidence=evidence if forward else evidence and evidence.reversed,
        role=role,
        referenced=destination if role.is_directed else None,
        further=tuple(further),
        via=via if forward or via is None else (via[1], via[0]),
    )
