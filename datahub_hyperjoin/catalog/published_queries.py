"""Find published SQL queries that were later edited, hidden or deleted."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from datahub.ingestion.graph.client import DataHubGraph
from datahub.metadata.schema_classes import QueryPropertiesClass, StatusClass

from datahub_hyperjoin.catalog.entities import aspect_of, fetch
from datahub_hyperjoin.catalog.relationships import find_deleted
from datahub_hyperjoin.progress import Warn
from datahub_hyperjoin.urns import AUTHOR

_ENTITY = "query"
_ASPECTS = [QueryPropertiesClass.ASPECT_NAME, StatusClass.ASPECT_NAME]


@dataclass(frozen=True, kw_only=True)
class PublishedQueries:
    """URNs of published SQL queries that were later edited, hidden or deleted."""

    hidden: frozenset[str] = frozenset()
    """Queries that an earlier run hid; a run may show them again."""

    closed: frozenset[str] = frozenset()
    """Queries that a person edited, hid or deleted; no run writes them again."""

    deleted: frozenset[str] = frozenset()
    """The queries in `closed` that were hard-deleted."""


def read_published_queries(
    graph: DataHubGraph,
    urns: Collection[str],
    *,
    written: Collection[str],
    hidden: Mapping[str, str],
    warn: Warn,
) -> PublishedQueries:
    """Find which of the given SQL queries were hidden, edited or deleted.

    A hidden query was hidden by us only if the run that last wrote its status is the run that we
    recorded; otherwise a person hid it. An editor other than ingestion is a person, too.

    Args:
        graph: DataHub's server.
        urns: URNs of the queries that this run may write.
        written: URNs of the queries that the last run wrote.
        hidden: Queries that earlier runs hid, with the ID of the run.
        warn: Receives a warning if nearly all written queries are missing.

    Returns:
        The queries that may be shown again, and those that must be left alone.
    """
    entities = fetch(graph, _ENTITY, sorted({*urns, *written}), _ASPECTS)
    hidden_by_us: set[str] = set()
    changed_by_people: set[str] = set()
    for urn, aspects in entities.items():
        status, stamp = aspects.get(StatusClass.ASPECT_NAME, (None, None))
        properties = aspect_of(aspects, QueryPropertiesClass)
        if isinstance(status, StatusClass) and status.removed:
            ours = stamp is not None and stamp.runId == hidden.get(urn)
            (hidden_by_us if ours else changed_by_people).add(urn)
        elif properties is not None and properties.lastModified.actor != AUTHOR:
            changed_by_people.add(urn)
    # No other entity shows whether the queries have arrived, so if all are missing, none is taken
    # for deleted.
    deleted = find_deleted(written, entities, writes_arrived=False, warn=warn)
    return PublishedQueries(
        hidden=frozenset(hidden_by_us),
        closed=frozenset(changed_by_people) | deleted,
        deleted=deleted,
    )
