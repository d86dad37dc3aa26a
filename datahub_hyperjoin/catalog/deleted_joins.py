"""Find rejected suggestions, including suggestions whose relationships people deleted.

A hard-deleted relationship leaves nothing behind, and checkpoints may be lost: DataHub keeps them
in its search index only. So every run lists deleted suggestions in a structured property of one of
their columns, and reads them from there.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping

from datahub.ingestion.graph.client import DataHubGraph
from datahub.ingestion.graph.filters import RawSearchFilter
from datahub.metadata.schema_classes import (
    StatusClass,
    StructuredPropertiesClass,
    StructuredPropertyDefinitionClass,
)
from datahub.utilities.urns.error import InvalidUrnError

from datahub_hyperjoin.catalog.entities import Aspects, aspect_of, fetch, scroll
from datahub_hyperjoin.catalog.relationships import (
    Relationship,
    expect_absent,
    find_deleted,
    report_skipped,
)
from datahub_hyperjoin.errors import UnknownEntityTypeError
from datahub_hyperjoin.metadata.relationship_aspect import columns_urn
from datahub_hyperjoin.metadata.urns import (
    DELETED_JOINS,
    JOIN_SUGGESTIONS,
    JOINABLE_WITH,
    column_id,
    property_urn,
)
from datahub_hyperjoin.progress import Warn
from datahub_hyperjoin.tables import ColumnId, Pair, pair_of

_DEFINITION = [StructuredPropertyDefinitionClass.ASPECT_NAME, StatusClass.ASPECT_NAME]
_DOMAIN = 2
"""Minimum number of shared partners for two columns to count as members of one published domain."""
_IN_TWO_STEPS = "in two steps)"
"""The end of the text of a suggested join through a crosswalk, which has no relationship."""


def scroll_columns(
    graph: DataHubGraph, properties: Collection[str], warn: Warn
) -> Iterator[tuple[str, StructuredPropertiesClass]]:
    """Read all structured properties of each column that has one of the given properties."""
    skip = report_skipped(warn)
    definitions = fetch(graph, "structuredProperty", properties, _DEFINITION, warn=skip)
    # The server refuses a filter by a property whose definition is removed.
    defined = [urn for urn, aspects in definitions.items() if _is_defined(aspects)]
    if not defined:
        return
    name = StructuredPropertiesClass.ASPECT_NAME
    # The server translates the property's qualified name into the name of its index field.
    filters: RawSearchFilter = [
        {
            "and": [
                {"field": f"{name}.{urn.rpartition(':')[2]}", "condition": "EXISTS", "values": []}
            ]
        }
        for urn in defined
    ]
    for urn, aspects in scroll(graph, "schemaField", [name], filters=filters, warn=skip):
        found = aspect_of(aspects, StructuredPropertiesClass)
        if found:
            yield urn, found


def _is_defined(aspects: Aspects) -> bool:
    status = aspect_of(aspects, StatusClass)
    return StructuredPropertyDefinitionClass.ASPECT_NAME in aspects and not (
        status and status.removed
    )


def read_deleted_joins(
    graph: DataHubGraph, namespace: str, warn: Warn
) -> list[tuple[ColumnId, ColumnId]]:
    """Read the rejected suggestions that earlier runs recorded in the catalog.

    Runs of every pipeline count.

    Returns:
        The pairs, each with the column first that lists the other.
    """
    listed = _read_partners(graph, namespace, DELETED_JOINS, warn)
    return [(column, other) for column, others in listed.items() for other in sorted(others)]


def by_urn(pairs: Iterable[tuple[ColumnId, ColumnId]]) -> dict[str, Pair]:
    """Index pairs by the URNs of their relationships.

    Args:
        pairs: The pairs, in any order of their columns.
    """
    ordered = (pair_of(*pair) for pair in pairs)
    return {columns_urn([pair]): pair for pair in ordered}


def infer_deleted(
    graph: DataHubGraph, namespace: str, relationships: Mapping[str, Relationship], warn: Warn
) -> dict[str, Pair]:
    """If the pipeline's checkpoint is lost, infer which suggestions people deleted.

    Columns still list the joins of its last run. One without a relationship was deleted, unless it
    never had one: a join in two steps, or a join that others of the same value domain imply.

    Args:
        warn: Receives columns that cannot be read, and a warning if too many are missing.

    Returns:
        The pairs, by the URN of the relationship that they had; empty if the catalog has none of
        our relationships, because they may never have been written.
    """
    existing = {pair for relationship in relationships.values() for pair in relationship.pairs}
    if not any(relationship.ours for relationship in relationships.values()):
        return {}
    listed = _read_partners(graph, namespace, JOINABLE_WITH, warn)
    written = by_urn(
        pair
        for column, others in listed.items()
        for other in others
        if (pair := pair_of(column, other)) in existing
        or len(others & listed.get(other, set())) < _DOMAIN
    )
    present = [urn for urn, pair in written.items() if pair in existing]
    deleted = find_deleted(written, present, writes_arrived=True, warn=warn)
    expect_absent(graph, deleted)
    return {urn: written[urn] for urn in deleted}


def _read_partners(
    graph: DataHubGraph, namespace: str, name: str, warn: Warn
) -> dict[ColumnId, set[ColumnId]]:
    """For each column, read the other columns that its structured property `name` lists."""
    found: defaultdict[ColumnId, set[ColumnId]] = defaultdict(set)
    try:
        for urn, properties in scroll_columns(graph, [property_urn(namespace, name)], warn):
            own = _columns(urn, [urn], warn)
            listed = _columns(urn, _values(properties, namespace, name), warn)
            for column in own:
                found[column] |= listed - own
    except UnknownEntityTypeError:
        return {}
    return found


def _columns(urn: str, values: Iterable[str], warn: Warn) -> set[ColumnId]:
    """Parse the URNs of columns; if one of them is invalid, warn and return an empty set."""
    try:
        return set(map(column_id, values))
    except InvalidUrnError as error:
        report_skipped(warn)(urn, f"one of its joins does not name a column: {error}")
        return set()


def _values(properties: StructuredPropertiesClass, namespace: str, name: str) -> list[str]:
    """Return the values of one property.

    Leave out joins in two steps, which have no relationship of their own.
    """
    by_urn = {one.propertyUrn: [*map(str, one.values)] for one in properties.properties}
    values = by_urn.get(property_urn(namespace, name), [])
    texts = by_urn.get(property_urn(namespace, JOIN_SUGGESTIONS), [])
    if name != JOINABLE_WITH or len(texts) != len(values):
        return values
    # Both properties list the same joins in the same order.
    return [
        value for value, text in zip(values, texts, strict=True) if not text.endswith(_IN_TWO_STEPS)
    ]
