"""Read people's decisions about joins: tags, properties, and suggestions that they deleted.

A hard-deleted relationship leaves nothing behind, and checkpoints may be lost: DataHub keeps them
in its search index only. So every run lists deleted suggestions in a structured property of one of
their columns, and reads them from there.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace

from datahub.ingestion.graph.client import DataHubGraph
from datahub.ingestion.graph.filters import RawSearchFilter
from datahub.metadata.schema_classes import (
    StatusClass,
    StructuredPropertiesClass,
    StructuredPropertyDefinitionClass,
    StructuredPropertyValueAssignmentClass,
)
from datahub.utilities.urns.error import InvalidUrnError

from datahub_hyperjoin.catalog.entities import aspect_of, fetch, is_removed, scroll
from datahub_hyperjoin.catalog.filed_decisions import Decision, JoinDecision, merge_decisions
from datahub_hyperjoin.catalog.relationships import (
    Relationship,
    expect_absent,
    find_deleted,
    report_skipped,
)
from datahub_hyperjoin.errors import UnknownEntityTypeError
from datahub_hyperjoin.joins import JoinedColumns, Verdict
from datahub_hyperjoin.metadata.relationships import REPLACED_BY, REPLACED_WHEN, columns_urn
from datahub_hyperjoin.metadata.urns import (
    AUTHOR,
    DECIDING_PROPERTIES,
    DECIDING_TAGS,
    DELETED_JOINS,
    JOIN_SUGGESTIONS,
    JOINABLE_WITH,
    column_id,
    property_urn,
)
from datahub_hyperjoin.progress import Warn
from datahub_hyperjoin.tables import ColumnId, Pair, TableId, in_order, pair_of
from datahub_hyperjoin.visible import logger_of

logger = logger_of(__name__)


_DEFINITION = [StructuredPropertyDefinitionClass.ASPECT_NAME, StatusClass.ASPECT_NAME]
_DOMAIN = 2
"""Minimum number of shared partners for two columns to count as members of one published domain."""
_IN_TWO_STEPS = "in two steps)"
"""The end of the text of a suggested join through a crosswalk, which has no relationship."""


def _scroll_columns(
    graph: DataHubGraph, properties: Collection[str], warn: Warn
) -> Iterator[tuple[str, StructuredPropertiesClass]]:
    """Read all structured properties of each column that has one of the given properties."""
    skip = report_skipped(warn)
    definitions = fetch(graph, "structuredProperty", properties, _DEFINITION, warn=skip)
    # The server refuses a filter by a property whose definition is removed.
    defined = [
        urn
        for urn, aspects in definitions.items()
        if StructuredPropertyDefinitionClass.ASPECT_NAME in aspects and not is_removed(aspects)
    ]
    if not defined:
        return
    name = StructuredPropertiesClass.ASPECT_NAME
    # The server translates the property's qualified name into the name of its index field.
    fields = [f"{name}.{urn.rpartition(':')[2]}" for urn in defined]
    filters: RawSearchFilter = [
        {"and": [{"field": field, "condition": "EXISTS", "values": []}]} for field in fields
    ]
    for urn, aspects in scroll(graph, "schemaField", [name], filters=filters, warn=skip):
        found = aspect_of(aspects, StructuredPropertiesClass)
        if found:
            yield urn, found


def read_deleted_joins(
    graph: DataHubGraph, namespace: str, warn: Warn
) -> list[tuple[ColumnId, ColumnId]]:
    """Read the rejected suggestions that earlier runs recorded in the catalog."""
    listed = _read_partners(graph, namespace, DELETED_JOINS, warn)
    return [(column, other) for column, others in listed.items() for other in sorted(others)]


def by_urn(pairs: Iterable[tuple[ColumnId, ColumnId]]) -> dict[str, Pair]:
    """Index pairs by the URNs of their relationships."""
    ordered = (pair_of(*pair) for pair in pairs)
    return {columns_urn([pair]): pair for pair in ordered}


def infer_deleted(
    graph: DataHubGraph, namespace: str, relationships: Mapping[str, Relationship], warn: Warn
) -> dict[str, Pair]:
    """If the pipeline's checkpoint is lost, infer which suggestions people deleted."""
    # Columns still list the joins of its last run. One without a relationship was deleted,
    # unless it never had one: a join in two steps, or a join that others of the same value
    # domain imply.
    existing = {pair for relationship in relationships.values() for pair in relationship.pairs}
    if not any(relationship.ours for relationship in relationships.values()):
        return {}  # they may never have been written
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
        for urn, properties in _scroll_columns(graph, [property_urn(namespace, name)], warn):
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
    """Return the values of one property."""
    # Leave out joins in two steps, which have no relationship of their own.
    by_urn = {one.propertyUrn: [*map(str, one.values)] for one in properties.properties}
    values = by_urn.get(property_urn(namespace, name), [])
    texts = by_urn.get(property_urn(namespace, JOIN_SUGGESTIONS), [])
    if name != JOINABLE_WITH or len(texts) - len(values) not in {0, 1}:
        return values
    # Both properties list the same joins in the same order. The last text may count others.
    return [
        value
        for value, text in zip(values, texts, strict=False)
        if not text.endswith(_IN_TWO_STEPS)
    ]


def read_decisions(
    graph: DataHubGraph,
    *,
    namespace: str,
    relationships: Iterable[Relationship],
    deleted: Mapping[str, Pair],
    filed: Iterable[JoinDecision] = (),
    warn: Warn,
) -> dict[JoinedColumns, Decision]:
    """Collect people's decisions about joins from the catalog, a file and deleted relationships."""
    # A decision about a composite join is none about its pairs. Deleted ones of several columns are
    # left out, because their other columns are unknown.
    relationships = tuple(relationships)
    decisions = [decision for entity in relationships for decision in decisions_on(entity)]
    decisions += [*_read_properties(graph, namespace, warn), *filed]
    composite = deleted_composites(deleted)
    pairs = [(pair,) for urn, pair in deleted.items() if urn not in composite]
    deletions = dict.fromkeys(pairs, Decision(Verdict.REJECTED))
    # A run signs the tag of the decision that holds.
    settled = {
        entity.pairs: DECIDING_TAGS[tag]
        for entity in relationships
        for tag in entity.attributed
        if tag in DECIDING_TAGS
    }
    # A deletion leaves nothing behind that a person could withdraw, so any other decision about the
    # join is newer and overrides it.
    return deletions | merge_decisions(decisions, warn, settled)


def deleted_composites(deleted: Mapping[str, Pair]) -> frozenset[str]:
    """Return the URNs of deleted relationships that are composite joins."""
    return frozenset(urn for urn, pair in deleted.items() if urn != columns_urn([pair]))


def decisions_on(relationship: Relationship) -> Iterator[JoinDecision]:
    """Yield the decisions that people recorded in a relationship's tags and status."""
    # Hiding one of our relationships rejects its join. A relationship that another author
    # wrote and that is hidden counts as withdrawn: an acceptance tag on it is ignored.
    read = (_read_tag(relationship, tag) for tag in DECIDING_TAGS if tag in relationship.tags)
    decisions = [*filter(None, read)]
    if relationship.hidden_by_people:
        place = f"the hidden {relationship.urn}"
        decisions.append(Decision(Verdict.REJECTED, when=relationship.hidden, place=place))
    elif relationship.removed and not relationship.removed_by_us:
        decisions = [decision for decision in decisions if decision.verdict is Verdict.REJECTED]
    if relationship.pairs:
        yield from ((relationship.pairs, decision) for decision in decisions)


def _read_tag(relationship: Relationship, tag: str) -> Decision | None:
    """Read the decision of a tag; of a copied one, read what was decided here before."""
    verdict, place = DECIDING_TAGS[tag], f"a tag of {relationship.urn}"
    attribution = relationship.attributed.get(tag)
    if attribution is None:
        # An owner may be the person to whom the decision was assigned.
        by = relationship.tagged_by or next(iter(relationship.owners), "")
        return Decision(verdict, by, relationship.tagged, place=place)
    if tag not in relationship.copied:
        by = "" if attribution.actor == AUTHOR else attribution.actor
        return Decision(verdict, by, attribution.time, place=place)
    if not (replaced := relationship.replaced_by(tag)):
        return None
    [other] = {*Verdict} - {verdict}
    return Decision(other, replaced[REPLACED_BY], int(replaced[REPLACED_WHEN]), place=place)


def copy_to_new_names(
    decisions: Mapping[JoinedColumns, Decision], new_names: Mapping[TableId, TableId]
) -> dict[JoinedColumns, Decision]:
    """Copy decisions about joins of renamed tables to the new table names."""

    # A decision that was made under the new name precedes one that follows it.
    def rename(column: ColumnId) -> ColumnId:
        return replace(column, table=new_names.get(column.table, column.table))

    moved = {}
    for columns, decision in decisions.items():
        renamed = [(rename(left), rename(right)) for left, right in columns]
        if any(left != right for left, right in renamed):
            moved[in_order(renamed)] = decision
    return moved | dict(decisions)


def _read_properties(graph: DataHubGraph, namespace: str, warn: Warn) -> Iterator[JoinDecision]:
    verdicts = {
        property_urn(namespace, name): verdict for name, verdict in DECIDING_PROPERTIES.items()
    }
    try:
        for urn, properties in _scroll_columns(graph, verdicts, warn):
            yield from decisions_of_column(urn, properties, verdicts=verdicts, warn=warn)
    except UnknownEntityTypeError as error:
        logger.info("Only decisions on relationships are read: %s", error)


def _decide(
    verdict: Verdict, assignment: StructuredPropertyValueAssignmentClass, place: str
) -> Decision:
    stamp = assignment.attribution or assignment.lastModified or assignment.created
    by, when = (stamp.actor, stamp.time) if stamp else ("", 0)
    return Decision(verdict, by, when, place=place)


def decisions_of_column(
    urn: str, properties: StructuredPropertiesClass, *, verdicts: Mapping[str, Verdict], warn: Warn
) -> Iterator[JoinDecision]:
    """Yield the decisions that a column's structured properties express."""
    for assignment in properties.properties:
        if (verdict := verdicts.get(assignment.propertyUrn)) is None:
            continue
        decision = _decide(verdict, assignment, f"a property of {urn}")
        for value in assignment.values:
            try:
                column, listed = column_id(urn), column_id(str(value))
            except InvalidUrnError as error:
                report_skipped(warn)(urn, f"one of its joins does not name a column: {error}")
                continue
            if column == listed:
                report_skipped(warn)(urn, "it is listed among its own joins")
            else:
                yield (pair_of(column, listed),), decision
