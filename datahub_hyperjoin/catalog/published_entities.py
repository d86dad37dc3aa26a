"""Find published SQL queries, documents and glossary terms that were edited, hidden or deleted."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial

from datahub.ingestion.graph.client import DataHubGraph
from datahub.metadata.schema_classes import (
    DocumentInfoClass,
    GlossaryTermInfoClass,
    QueryPropertiesClass,
    QuerySubjectsClass,
    StatusClass,
)
from datahub.utilities.urns.urn import guess_entity_type

from datahub_hyperjoin.catalog.column_terms import NO_RUN
from datahub_hyperjoin.catalog.entities import (
    Aspects,
    NoteSkipped,
    aspect_of,
    fetch,
    parse_entity,
)
from datahub_hyperjoin.catalog.relationships import (
    expect_absent,
    find_deleted,
    hidden_by,
    is_withdrawal,
    report_skipped,
)
from datahub_hyperjoin.errors import UnknownEntityTypeError
from datahub_hyperjoin.metadata.urns import AUTHOR
from datahub_hyperjoin.progress import Warn

_ASPECTS = {
    "query": [it.ASPECT_NAME for it in (QueryPropertiesClass, QuerySubjectsClass, StatusClass)],
    "document": [it.ASPECT_NAME for it in (DocumentInfoClass, StatusClass)],
    "glossaryTerm": [it.ASPECT_NAME for it in (GlossaryTermInfoClass, StatusClass)],
}
_MAIN = {names[0] for names in _ASPECTS.values()}
"""The aspects without which people do not see an entity."""


@dataclass(frozen=True, kw_only=True)
class PublishedEntities:
    """The SQL queries, documents and glossary terms that earlier runs published."""

    hidden: frozenset[str] = frozenset()
    """Entities that an earlier run hid; a run may show them again."""

    closed: frozenset[str] = frozenset()
    """Entities that a person edited, hid or deleted; no run writes them again."""

    deleted: frozenset[str] = frozenset()
    """The entities in `closed` that were hard-deleted."""

    edited_terms: frozenset[str] = frozenset()
    """Glossary terms that a person edited; runs still add them to columns, but never hide them."""

    existing: frozenset[str] = frozenset()
    """All published entities that the catalog still has."""

    subjects: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """URNs of the datasets and columns that each existing entity shows."""


# A hidden entity was hidden by us only if the run that last wrote its status is a run of
# this source that hid entities; otherwise a person hid it. An editor other than ingestion
# is a person, too.
def read_published_entities(
    graph: DataHubGraph,
    urns: Collection[str],
    *,
    written: Collection[str],
    unseen: Collection[str],
    hiders: Collection[str],
    warn: Warn,
) -> PublishedEntities:
    """Find out which queries, documents and terms were hidden, edited or deleted, by whom."""
    skip = report_skipped(warn)
    entities: dict[str, Aspects] = {}
    for entity, members in _by_type([*urns, *written]).items():
        found = _fetch_supported(graph, entity, members, skip)
        if found is None:
            written = [urn for urn in written if urn not in members]
        entities |= found or {}
    hidden_by_us: set[str] = set()
    changed_by_people: set[str] = set()
    edited_terms: set[str] = set()
    for urn, aspects in entities.items():
        properties = aspect_of(aspects, QueryPropertiesClass) or aspect_of(
            aspects, DocumentInfoClass
        )
        info, written_by = aspects.get(GlossaryTermInfoClass.ASPECT_NAME, (None, None))
        if info and written_by and (written_by.runId or NO_RUN) == NO_RUN:
            edited_terms.add(urn)
        removed, run = hidden_by(aspects)
        if removed:
            marked = info if isinstance(info, GlossaryTermInfoClass) else properties
            ours = is_withdrawal(run, marked.customProperties if marked else {}, hiders)
            (hidden_by_us if ours else changed_by_people).add(urn)
        elif properties is not None and properties.lastModified.actor != AUTHOR:
            changed_by_people.add(urn)
    # No other entity shows whether these have arrived, so if all are missing, none is taken
    # for deleted.
    arrived = _arrived(entities, unseen)
    deleted = find_deleted(written, arrived, unseen=unseen, writes_arrived=False, warn=warn)
    expect_absent(graph, deleted)
    return PublishedEntities(
        hidden=frozenset(hidden_by_us),
        closed=frozenset(changed_by_people) | deleted,
        deleted=deleted,
        edited_terms=frozenset(edited_terms),
        existing=frozenset(entities),
        subjects={
            urn: parse_entity(urn, partial(_subjects, aspects), skip) or frozenset()
            for urn, aspects in entities.items()
            if QuerySubjectsClass.ASPECT_NAME in aspects or DocumentInfoClass.ASPECT_NAME in aspects
        },
    )


def _arrived(entities: Mapping[str, Aspects], unseen: Collection[str]) -> list[str]:
    """Return the URNs of the entities whose main aspect has arrived in DataHub."""
    return [urn for urn in entities if urn not in unseen or _MAIN.intersection(entities[urn])]


def _fetch_supported(
    graph: DataHubGraph, entity: str, urns: Iterable[str], warn: NoteSkipped
) -> dict[str, Aspects] | None:
    """Read entities of one type; None if the server does not support the type."""
    try:
        return fetch(graph, entity, sorted(urns), _ASPECTS[entity], warn=warn)
    except UnknownEntityTypeError:
        return None


def _by_type(urns: Iterable[str]) -> dict[str, set[str]]:
    by_type: dict[str, set[str]] = defaultdict(set)
    for urn in urns:
        by_type[guess_entity_type(urn)].add(urn)
    return by_type


def _subjects(aspects: Aspects) -> frozenset[str]:
    subjects, info = aspect_of(aspects, QuerySubjectsClass), aspect_of(aspects, DocumentInfoClass)
    assets = info.relatedAssets or () if info else ()
    return frozenset(
        [
            *(subject.entity for subject in (subjects.subjects if subjects else ())),
            *(related.asset for related in assets),
        ]
    )
