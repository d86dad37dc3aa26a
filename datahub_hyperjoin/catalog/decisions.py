"""What people decided about pairs of columns, wherever in the catalog they said so."""

import logging
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from datahub.ingestion.graph.client import DataHubGraph
from datahub.ingestion.graph.filters import RawSearchFilter
from datahub.metadata.schema_classes import (
    StatusClass,
    StructuredPropertiesClass,
    StructuredPropertyDefinitionClass,
    StructuredPropertyValueAssignmentClass,
)
from datahub.utilities.urns.error import InvalidUrnError

from datahub_hyperjoin.catalog.bulk import Aspects, aspect_of, fetch, scroll
from datahub_hyperjoin.catalog.relationships import Relationship, Warn, left_out
from datahub_hyperjoin.errors import UnknownEntityTypeError
from datahub_hyperjoin.tables import Pair, Verdict, pair_of
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
_DEFINITION = [StructuredPropertyDefinitionClass.ASPECT_NAME, StatusClass.ASPECT_NAME]
_PROPERTIES = {CONFIRMED_JOINS: Verdict.ACCEPTED, REJECTED_JOINS: Verdict.REJECTED}


@dataclass(frozen=True, slots=True)
class Decision:
    """A person's word on a pair of columns."""

    verdict: Verdict
    """What was decided."""

    by: str = ""
    """The urn of who decided; empty when the catalog does not say."""


Opinion = tuple[Pair, Decision]
"""One place's word on a pair; places may contradict one another."""


def read_decisions(
    graph: DataHubGraph,
    *,
    namespace: str,
    relationships: Iterable[Relationship],
    deleted: Mapping[str, Pair],
    warn: Warn,
) -> dict[Pair, Decision]:
    """Reads what people decided.

    Args:
        graph: DataHub's server.
        namespace: Where our structured properties are defined.
        relationships: Everything that the catalog relates.
        deleted: The pairs of our relationships that people deleted for good, by their urns.
        warn: Is told of contradictions and of what cannot be read.

    Returns:
        The decision on each pair that has one; a rejection beats an acceptance.
    """
    opinions = [opinion for one in relationships for opinion in opinions_on(one)]
    opinions += _read_properties(graph, namespace, warn)
    gone = dict.fromkeys(deleted.values(), Decision(Verdict.REJECTED))
    # A deletion cannot be taken back where it was made, so any other word on the pair is newer.
    return gone | settle(opinions, warn)


def opinions_on(relationship: Relationship) -> Iterator[Opinion]:
    """What people attached to a relationship says of its pairs.

    Args:
        relationship: Anyone's relationship.

    Yields:
        A rejection for one that is ours and that a person hid; what its tags say, except that one
        which others wrote and someone hid is accepted no more.
    """
    decisions = [
        Decision(verdict, relationship.tagged_by.get(tag) or next(iter(relationship.owners), ""))
        for tag, verdict in _TAGS.items()
        if tag in relationship.tags
    ]
    if relationship.hidden_by_people:
        decisions.append(Decision(Verdict.REJECTED))
    elif relationship.removed and not relationship.removed_by_us:
        decisions = [one for one in decisions if one.verdict is Verdict.REJECTED]
    yield from ((pair, decision) for pair in relationship.pairs for decision in decisions)


def settle(opinions: Iterable[Opinion], warn: Warn) -> dict[Pair, Decision]:
    """Makes one decision of all that is said of a pair.

    Args:
        opinions: What each place says.
        warn: Is told of contradictions.

    Returns:
        For each pair the rejection, if there is one, and the name of someone who decided it.
    """
    said: defaultdict[Pair, set[Decision]] = defaultdict(set)
    for pair, decision in opinions:
        said[pair].add(decision)
    settled = {}
    for pair, decisions in said.items():
        verdicts = {decision.verdict for decision in decisions}
        if len(verdicts) > 1:
            warn(
                "Join accepted and rejected",
                "The rejection counts; take back the one that is wrong",
                f"{pair[0]} = {pair[1]}",
            )
        verdict = Verdict.REJECTED if Verdict.REJECTED in verdicts else Verdict.ACCEPTED
        by = max(decision.by for decision in decisions if decision.verdict is verdict)
        settled[pair] = Decision(verdict, by)
    return settled


def _read_properties(graph: DataHubGraph, namespace: str, warn: Warn) -> Iterator[Opinion]:
    """What the structured properties say that people edit on columns."""
    verdicts = {property_urn(namespace, name): verdict for name, verdict in _PROPERTIES.items()}
    unread = left_out(warn)
    try:
        definitions = fetch(graph, "structuredProperty", verdicts, _DEFINITION, warn=unread)
    except UnknownEntityTypeError as error:
        logger.info("Decisions on columns are not read: %s", error)  # those on joins are
        return
    # The server refuses to filter by a property that was deleted.
    defined = [urn for urn, aspects in definitions.items() if _is_defined(aspects)]
    if not defined:
        return
    name = StructuredPropertiesClass.ASPECT_NAME
    # The server finds out itself which field of its index a name with dots stands for.
    filters: RawSearchFilter = [
        {
            "and": [
                {"field": f"{name}.{urn.rpartition(':')[2]}", "condition": "EXISTS", "values": []}
            ]
        }
        for urn in defined
    ]
    for urn, aspects in scroll(graph, "schemaField", [name], filters=filters, warn=unread):
        values = aspect_of(aspects, StructuredPropertiesClass)
        if values:
            yield from opinions_of_column(urn, values, verdicts=verdicts, warn=warn)


def _is_defined(aspects: Aspects) -> bool:
    status = aspect_of(aspects, StatusClass)
    return StructuredPropertyDefinitionClass.ASPECT_NAME in aspects and not (
        status and status.removed
    )


def _assigner(assignment: StructuredPropertyValueAssignmentClass) -> str:
    """Who set a property, where the catalog says so."""
    if assignment.attribution:
        return assignment.attribution.actor
    stamp = assignment.lastModified or assignment.created
    return stamp.actor if stamp else ""


def opinions_of_column(
    urn: str, values: StructuredPropertiesClass, *, verdicts: Mapping[str, Verdict], warn: Warn
) -> Iterator[Opinion]:
    """What the structured properties of a column say of it and others.

    Args:
        urn: The column.
        values: All its structured properties.
        verdicts: What it means to be listed by a property, by the property's urn.
        warn: Is told of values that are no other column.

    Yields:
        An opinion for each column that is listed.
    """
    for assignment in values.properties:
        verdict = verdicts.get(assignment.propertyUrn)
        if verdict is None:
            continue
        decision = Decision(verdict, _assigner(assignment))
        for value in assignment.values:
            try:
                one, other = column_id(urn), column_id(str(value))
            except InvalidUrnError as error:
                left_out(warn)(urn, f"among its joins is what is no column: {error}")
                continue
            if one == other:
                left_out(warn)(urn, "it is listed among its own joins")
            else:
                yield pair_of(one, other), decision
