"""Read people's decisions about joins from relationships and structured properties."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from datahub.ingestion.graph.client import DataHubGraph
from datahub.metadata.schema_classes import (
    StructuredPropertiesClass,
    StructuredPropertyValueAssignmentClass,
)
from datahub.utilities.urns.error import InvalidUrnError

from datahub_hyperjoin.catalog.deleted_joins import scroll_columns
from datahub_hyperjoin.catalog.merged_decisions import Decision, JoinDecision, merge_decisions
from datahub_hyperjoin.catalog.relationships import Relationship, report_skipped
from datahub_hyperjoin.errors import UnknownEntityTypeError
from datahub_hyperjoin.joins import JoinedColumns, Verdict
from datahub_hyperjoin.metadata.relationship_aspect import columns_urn
from datahub_hyperjoin.metadata.urns import (
    ACCEPTED,
    CONFIRMED_JOINS,
    REJECTED,
    REJECTED_JOINS,
    column_id,
    property_urn,
)
from datahub_hyperjoin.progress import Warn
from datahub_hyperjoin.tables import ColumnId, Pair, TableId, in_order, pair_of
from datahub_hyperjoin.visible import logger_of

logger = logger_of(__name__)

_TAGS = {ACCEPTED: Verdict.ACCEPTED, REJECTED: Verdict.REJECTED}
_PROPERTIES = {CONFIRMED_JOINS: Verdict.ACCEPTED, REJECTED_JOINS: Verdict.REJECTED}


def read_decisions(
    graph: DataHubGraph,
    *,
    namespace: str,
    relationships: Iterable[Relationship],
    deleted: Mapping[str, Pair],
    filed: Iterable[JoinDecision] = (),
    warn: Warn,
) -> dict[JoinedColumns, Decision]:
    """Collect people's decisions about joins from the catalog, a file and deleted relationships.

    Args:
        deleted: Pairs of our relationships that people hard-deleted, by URN. Those of several
            columns are left out, because their other columns are unknown.
        filed: The decisions of the recipe's file, which count as much as those in the catalog.
        warn: Receives contradictions and entities that cannot be read.

    Returns:
        The decision about each join that has one, by its columns; a rejection overrides an
        acceptance. A decision about a composite join is none about its pairs.
    """
    decisions = [decision for entity in relationships for decision in decisions_on(entity)]
    decisions += [*_read_properties(graph, namespace, warn), *filed]
    composite = deleted_composites(deleted)
    pairs = [(pair,) for urn, pair in deleted.items() if urn not in composite]
    deletions = dict.fromkeys(pairs, Decision(Verdict.REJECTED))
    # A deletion leaves nothing behind that a person could withdraw, so any other decision about the
    # join is newer and overrides it.
    return deletions | merge_decisions(decisions, warn)


def deleted_composites(deleted: Mapping[str, Pair]) -> frozenset[str]:
    """Return the URNs of deleted relationships that are composite joins.

    Args:
        deleted: The first pair of each deleted relationship, by URN.
    """
    return frozenset(urn for urn, pair in deleted.items() if urn != columns_urn([pair]))


def decisions_on(relationship: Relationship) -> Iterator[JoinDecision]:
    """Yield the decisions that people recorded in a relationship's tags and status.

    Hiding one of our relationships rejects its join. A relationship that another author wrote and
    that is hidden counts as withdrawn: an acceptance tag on it is ignored.

    Yields:
        The decisions of its tags and of its status; none if it joins nothing.
    """
    decisions = [
        Decision(verdict, relationship.tagged_by.get(tag) or next(iter(relationship.owners), ""))
        for tag, verdict in _TAGS.items()
        if tag in relationship.tags
    ]
    if relationship.hidden_by_people:
        decisions.append(Decision(Verdict.REJECTED))
    elif relationship.removed and not relationship.removed_by_us:
        decisions = [decision for decision in decisions if decision.verdict is Verdict.REJECTED]
    if relationship.pairs:
        yield from ((relationship.pairs, decision) for decision in decisions)


def copy_to_new_names(
    decisions: Mapping[JoinedColumns, Decision], new_names: Mapping[TableId, TableId]
) -> dict[JoinedColumns, Decision]:
    """Copy decisions about joins of renamed tables to the new table names.

    Args:
        decisions: The decision about each join that has one, by its columns.

    Returns:
        All decisions, and those under the new names; a decision that was made under the new name
        precedes one that follows it.
    """
    moved = {}
    for columns, decision in decisions.items():
        renamed = [(_rename(left, new_names), _rename(right, new_names)) for left, right in columns]
        if any(left != right for left, right in renamed):
            moved[in_order(renamed)] = decision
    return moved | dict(decisions)


def _rename(column: ColumnId, new_names: Mapping[TableId, TableId]) -> ColumnId:
    return replace(column, table=new_names.get(column.table, column.table))


def _read_properties(graph: DataHubGraph, namespace: str, warn: Warn) -> Iterator[JoinDecision]:
    """Yield the decisions stored in the structured properties of all columns."""
    verdicts = {property_urn(namespace, name): verdict for name, verdict in _PROPERTIES.items()}
    try:
        for urn, properties in scroll_columns(graph, verdicts, warn):
            yield from decisions_of_column(urn, properties, verdicts=verdicts, warn=warn)
    except UnknownEntityTypeError as error:
        logger.info("Only decisions on relationships are read: %s", error)


def _assigner(assignment: StructuredPropertyValueAssignmentClass) -> str:
    """Return the URN of the person who set a property; empty if unknown."""
    if assignment.attribution:
        return assignment.attribution.actor
    stamp = assignment.lastModified or assignment.created
    return stamp.actor if stamp else ""


def decisions_of_column(
    urn: str, properties: StructuredPropertiesClass, *, verdicts: Mapping[str, Verdict], warn: Warn
) -> Iterator[JoinDecision]:
    """Yield the decisions that a column's structured properties express.

    Args:
        verdicts: The verdict that each property expresses, by the property's URN.
        warn: Receives values that are not the URN of another column.
    """
    for assignment in properties.properties:
        verdict = verdicts.get(assignment.propertyUrn)
        if verdict is None:
            continue
        decision = Decision(verdict, _assigner(assignment))
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
