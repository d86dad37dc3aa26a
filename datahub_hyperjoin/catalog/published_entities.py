"""Find published SQL queries that were later edited, hidden or deleted."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import partial

from datahub.ingestion.graph.client import DataHubGraph
from datahub.metadata.schema_classes import (
    QueryPropertiesClass,
    QuerySubjectsClass,
    StatusClass,
)

from datahub_hyperjoin.catalog.entities import aspect_of, fetch, parse_entity
from datahub_hyperjoin.catalog.relationships import (
    expect_absent,
    find_deleted,
    hidden_by,
    is_withdrawal,
    report_skipped,
)
from datahub_hyperjoin.progress import Warn
from datahub_hyperjoin.urns import AUTHOR

_ENTITY = "query"
_ASPECTS = [
    aspect.ASPECT_NAME for aspect in (QueryPropertiesClass, QuerySubjectsClass, StatusClass)
]


@dataclass(frozen=True, kw_only=True)
class PublishedQueries:
    """The SQL queries of earlier runs, grouped by what happened to them."""

    hidden: frozenset[str] = frozenset()
    """Queries that an earlier run hid; a run may show them again."""

    closed: frozenset[str] = frozenset()
    """Queries that a person edited, hid or deleted; no run writes them again."""

    deleted: frozenset[str] = frozenset()
    """The queries in `closed` that were hard-deleted."""

    existing: frozenset[str] = frozenset()
    """All queries that exist."""

    subjects: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """URNs of the datasets and columns that each existing query shows."""


def read_published_queries(
    graph: DataHubGraph,
    urns: Collection[str],
    *,
    written: Collection[str],
    unseen: Collection[str],
    hiders: Collection[str],
    warn: Warn,
) -> PublishedQueries:
    """Find which of the given SQL queries were hidden, edited or deleted.

    A hidden query was hidden by us only if the run that last wrote its status is a run of this
    source that hid entities; otherwise a person hid it. An editor other than ingestion is a person,
    too.

    Args:
        graph: DataHub's server.
        urns: URNs of the queries that this run may write.
        written: URNs of the queries that the last run wrote.
        unseen: URNs of those of them that no run has read back.
        hiders: IDs of the runs of any pipeline that hid entities.
        warn: Receives a warning if nearly all written queries are missing.

    Returns:
        The queries that may be shown again, and those that must be left alone.
    """
    skip = report_skipped(warn)
    entities = fetch(graph, _ENTITY, sorted({*urns, *written}), _ASPECTS, warn=skip)
    hidden_by_us: set[str] = set()
    changed_by_people: set[str] = set()
    for urn, aspects in entities.items():
        properties = aspect_of(aspects, QueryPropertiesClass)
        removed, run = hidden_by(aspects)
        if removed:
            ours = is_withdrawal(run, properties.customProperties if properties else {}, hiders)
            (hidden_by_us if ours else changed_by_people).add(urn)
        elif properties is not None and properties.lastModified.actor != AUTHOR:
            changed_by_people.add(urn)
    # No other entity shows whether the queries have arrived, so if all are missing, none is taken
    # for deleted.
    deleted = find_deleted(written, entities, unseen=unseen, writes_arrived=False, warn=warn)
    expect_absent(graph, deleted)
    return PublishedQueries(
        hidden=frozenset(hidden_by_us),
        closed=frozenset(changed_by_people) | deleted,
        deleted=deleted,
        existing=frozenset(entities),
        subjects={
            urn: parse_entity(urn, partial(_subjects, shown), skip) or frozenset()
            for urn, aspects in entities.items()
            if (shown := aspect_of(aspects, QuerySubjectsClass))
        },
    )


def _subjects(shown: QuerySubjectsClass) -> frozenset[str]:
    return frozenset(subject.entity for subject in shown.subjects)
