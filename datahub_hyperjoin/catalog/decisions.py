"""Read people's decisions about pairs from relationships and structured properties."""

import logging
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from datahub.ingestion.graph.client import DataHubGraph
from datahub.metadata.schema_classes import (
    StructuredPropertiesClass,
    StructuredPropertyValueAssignmentClass,
)
from datahub.utilities.urns.error import InvalidUrnError

from datahub_hyperjoin.catalog.deleted_joins import scroll_columns
from datahub_hyperjoin.catalog.relationships import Relationship, report_skipped
from datahub_hyperjoin.errors import UnknownEntityTypeError
from datahub_hyperjoin.joins import Verdict
from datahub_hyperjoin.progress import Warn
from datahub_hyperjoin.tables import Pair, TableId, pair_of
from datahub_hyperjoin.urns import (
    ACCEPTED,
    CONFIRMED_JOINS,
    REJECTED,
    REJECTED_JOINS,
    column_id,
    property_urn,
)

logger = logging.getLogger(__name__)

_TAGS = {ACCEPTED: Verdict.ACCEPTED, REJECTED: Verdict.REJECTED}
_PROPERTIES = {CONFIRMED_JOINS: Verdict.ACCEPTED, REJECTED_JOINS: Verdict.REJECTED}


@dataclass(frozen=True, slots=True)
class Decision:
    """A person's decision about a pair of columns."""

    verdict: Verdict
    """Accepted or rejected."""

    by: str = ""
    """URN of the person; empty if the catalog does not record it."""


PairDecision = tuple[Pair, Decision]
"""A pair and one decision about it; decisions about a pair may contradict each other."""


def read_decisions(
    graph: DataHubGraph,
    *,
    namespace: str,
    relationships: Iterable[Relationship],
    deleted: Mapping[str, Pair],
    warn: Warn,
) -> dict[Pair, Decision]:
    """Read people's decisions about pairs of columns.

    Args:
        graph: DataHub's server.
        namespace: Namespace of this package's structured properties.
        relationships: All relationships of the catalog.
        deleted: Pairs of our relationships that people hard-deleted, by URN.
        warn: Receives contradictions and entities that cannot be read.

    Returns:
        The decision about each pair that has one; a rejection overrides an acceptance.
    """
    decisions = [decision for entity in relationships for decision in decisions_on(entity)]
    decisions += _read_properties(graph, namespace, warn)
    deletions = dict.fromkeys(deleted.values(), Decision(Verdict.REJECTED))
    # A deletion leaves nothing behind that a person could withdraw, so any other decision about the
    # pair is newer and overrides it.
    return deletions | merge_decisions(decisions, warn)


def decisions_on(relationship: Relationship) -> Iterator[PairDecision]:
    """Yield the decisions that a relationship's tags and status express.

    Hiding one of our relationships rejects its pairs. A relationship that another author wrote and
    that is hidden counts as withdrawn: an acceptance tag on it is ignored.

    Args:
        relationship: A relationship of any author.

    Yields:
        The decisions of its tags and of its status, for each of its pairs.
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
    yield from ((pair, decision) for pair in relationship.pairs for decision in decisions)


def merge_decisions(decisions: Iterable[PairDecision], warn: Warn) -> dict[Pair, Decision]:
    """Merge the decisions about each pair into one decision.

    The result does not depend on the order of the decisions: a rejection overrides acceptances, and
    of several people with the same verdict, the greatest URN is named.

    Args:
        decisions: Decisions from all sources.
        warn: Receives each contradiction.

    Returns:
        One decision for each pair.
    """
    # Sets, since a person may state one decision in several places.
    by_pair: defaultdict[Pair, set[Decision]] = defaultdict(set)
    for pair, decision in decisions:
        by_pair[pair].add(decision)
    merged = {}
    for pair, pair_decisions in by_pair.items():
        verdicts = {decision.verdict for decision in pair_decisions}
        if len(verdicts) > 1:
            warn(
                "Join accepted and rejected",
                "The rejection takes precedence. Remove the tag or property value that is wrong",
                f"{pair[0]} = {pair[1]}",
            )
        verdict = Verdict.REJECTED if Verdict.REJECTED in verdicts else Verdict.ACCEPTED
        # The empty URN is the smallest, so a recorded person precedes an unrecorded one.
        by = max(decision.by for decision in pair_decisions if decision.verdict is verdict)
        merged[pair] = Decision(verdict, by)
    return merged


def follow(
    decisions: Mapping[Pair, Decision], new_names: Mapping[TableId, TableId]
) -> dict[Pair, Decision]:
    """Let the decisions about renamed tables hold under the new names, too.

    Args:
        decisions: The decision about each pair that has one.
        new_names: The new name of each renamed table.

    Returns:
        All decisions, and those under the new names; a decision that was made under the new name
        precedes one that follows it.
    """
    moved = {}
    for pair, decision in decisions.items():
        left, right = (
            replace(column, table=new_names.get(column.table, column.table)) for column in pair
        )
        if left != right:
            moved[pair_of(left, right)] = decision
    return moved | dict(decisions)


def _read_properties(graph: DataHubGraph, namespace: str, warn: Warn) -> Iterator[PairDecision]:
    """Read the decisions stored in the structured properties of all columns."""
    verdicts = {property_urn(namespace, name): verdict for name, verdict in _PROPERTIES.items()}
    try:
        for urn, properties in scroll_columns(graph, verdicts, warn):
            yield from decisions_of_column(urn, properties, verdicts=verdicts, warn=warn)
    except UnknownEntityTypeError as error:
        logger.info("Only decisions on relationships are read: %s", error)


def _assigner(assignment: StructuredPropertyValueAssignmentClass) -> str:
    """Return the URN of the person who set a property, or an empty string if unknown."""
    if assignment.attribution:
        return assignment.attribution.actor
    stamp = assignment.lastModified or assignment.created
    return stamp.actor if stamp else ""


def decisions_of_column(
    urn: str, properties: StructuredPropertiesClass, *, verdicts: Mapping[str, Verdict], warn: Warn
) -> Iterator[PairDecision]:
    """Yield the decisions stored in the structured properties of one column.

    Args:
        urn: URN of the column.
        properties: All its structured properties.
        verdicts: The verdict that each property expresses, by the property's URN.
        warn: Receives values that are not the URN of another column.

    Yields:
        A decision for each column that a property lists.
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
                yield pair_of(column, listed), decision
