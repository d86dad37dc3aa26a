"""Read DataHub entities in bulk, from current and older servers."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import groupby, islice
from typing import TypeVar

from datahub.ingestion.graph.client import DataHubGraph
from datahub.ingestion.graph.filters import RawSearchFilter, RemovedStatusFilter
from datahub.metadata.schema_classes import StatusClass, SystemMetadataClass, _Aspect
from datahub.utilities.urns.urn import guess_entity_type

from datahub_hyperjoin.catalog.errors import UnreadableCatalogError
from datahub_hyperjoin.catalog.versions import can_scroll
from datahub_hyperjoin.client_errors import (
    MALFORMED,
    response_of,
    translate_errors,
    translate_malformed,
)
from datahub_hyperjoin.visible import logger_of

logger = logger_of(__name__)

Aspects = dict[str, tuple[_Aspect, SystemMetadataClass | None]]
"""An entity's aspects by name, each with its system metadata: the run and the time of the write."""

NoteSkipped = Callable[[str, str], None]
"""Receives the URN of each skipped entity and the reason."""

_NO_RUN = "no-run-id-provided"
"""The run ID that DataHub records for writes outside of ingestion runs."""

_PAGE = 1_000
_BATCH = 500
_UNSUPPORTED = {400, 404, 405}
"""HTTP status codes of servers without the scroll endpoint."""

_Item = TypeVar("_Item")
_Kind = TypeVar("_Kind", bound=_Aspect)
_Parsed = TypeVar("_Parsed")


def log_skipped(urn: str, reason: str) -> None:
    """Log a warning about a skipped entity."""
    logger.warning("%s is skipped: %s", urn, reason)


def aspect_of(aspects: Aspects, kind: type[_Kind]) -> _Kind | None:
    """Return one aspect of an entity, without its system metadata.

    >>> from datahub.metadata.schema_classes import OwnershipClass, StatusClass
    >>> aspects: Aspects = {"status": (StatusClass(removed=True), None)}
    >>> aspect_of(aspects, StatusClass).removed, aspect_of(aspects, OwnershipClass)
    (True, None)
    """
    value, _ = aspects.get(kind.ASPECT_NAME, (None, None))
    return value if isinstance(value, kind) else None


def is_outside_runs(stamp: SystemMetadataClass) -> bool:
    """Return whether an aspect was written outside of ingestion runs, which is by a person."""
    return (stamp.runId or _NO_RUN) == _NO_RUN


def parse_entity(urn: str, parse: Callable[[], _Parsed], warn: NoteSkipped) -> _Parsed | None:
    """Parse an entity, or warn that the entity cannot be parsed.

    >>> parse_entity("urn:li:tag:a", lambda: float([]), lambda urn, _: print(urn))
    urn:li:tag:a
    """
    # If parsing fails, return None. The client accepts values of other types than its models
    # declare, such as a list for a text.
    try:
        return parse()
    except MALFORMED as error:
        warn(urn, f"it cannot be parsed: {type(error).__name__}: {error}")
        return None


def by_type(urns: Iterable[str]) -> dict[str, list[str]]:
    """Group URNs by the type of their entities.

    >>> by_type(["urn:li:tag:b", "urn:li:query:c", "urn:li:tag:a"])
    {'query': ['urn:li:query:c'], 'tag': ['urn:li:tag:a', 'urn:li:tag:b']}
    """
    return {entity: [*own] for entity, own in groupby(sorted({*urns}), guess_entity_type)}


def is_removed(aspects: Aspects) -> bool:
    """Return whether an entity is soft-deleted."""
    # The search index may still list soft-deleted ones.
    status = aspect_of(aspects, StatusClass)
    return status is not None and status.removed


def batches(items: Iterable[_Item], size: int) -> Iterator[list[_Item]]:
    """Split items into lists of at most `size` items.

    >>> list(batches("abcde", 2))
    [['a', 'b'], ['c', 'd'], ['e']]
    """
    rest = iter(items)
    while batch := list(islice(rest, size)):
        yield batch


@contextmanager
def reading(graph: DataHubGraph, subject: str, *, entity: str = "") -> Iterator[None]:
    """Translate request and parsing errors in a `with` block into errors of this package."""
    with (
        translate_malformed(lambda reason: UnreadableCatalogError.because(subject, reason)),
        _requesting(graph, subject, entity),
    ):
        yield


def _requesting(graph: DataHubGraph, subject: str, entity: str) -> AbstractContextManager[None]:
    return translate_errors(
        graph, lambda _, reason: UnreadableCatalogError.because(subject, reason), entity=entity
    )


def _subject(entity: str) -> str:
    return f"Entities of type {entity}"


class _NoScrollError(Exception):
    """The server cannot return entities page by page."""


def _pages(
    graph: DataHubGraph,
    entity: str,
    aspects: Sequence[str],
    *,
    filters: RawSearchFilter | None,
    removed: bool,
) -> Iterator[tuple[str, Aspects]]:
    # Each page depends on the cursor of the page before, so an error cannot be skipped: every
    # reason to use the slower way is raised as `_NoScrollError`, and all other errors end the
    # run.
    if not can_scroll(graph):
        raise _NoScrollError
    cursor: str | None = None
    while True:
        try:
            with _requesting(graph, _subject(entity), entity):
                page = graph.scroll_entities(
                    entity_names=[entity],
                    aspects=list(aspects),
                    count=_PAGE,
                    scroll_id=cursor,
                    # It names the run that wrote an aspect, which tells who hid an entity.
                    with_system_metadata=True,
                    # A cached page may lack what the last run wrote.
                    skip_cache=True,
                    include_soft_delete=removed,
                    filter=filters,
                )
        except UnreadableCatalogError as error:
            response = response_of(error)
            if response is not None and response.status_code in _UNSUPPORTED:
                raise _NoScrollError from error
            raise
        except MALFORMED as error:
            raise _NoScrollError from error
        yield from page.entities.items()
        cursor = page.scroll_id
        if not cursor:
            return


def scroll(
    graph: DataHubGraph,
    entity: str,
    aspects: Sequence[str],
    *,
    filters: RawSearchFilter | None = None,
    removed: bool = False,
    warn: NoteSkipped = log_skipped,
) -> Iterator[tuple[str, Aspects]]:
    """Read the given aspects of all entities of one type, or of those that match `filters`."""
    # Clients and servers without DataHub's scroll endpoint are asked for URNs first and then
    # for aspects in batches. The same happens if the client cannot parse one entity of a
    # page: only single entities can be skipped, so the batches isolate it.
    # Both ways support the conditions EQUAL, IN, CONTAIN and EXISTS of filters.
    seen: set[str] = set()
    try:
        for urn, entity_aspects in _pages(graph, entity, aspects, filters=filters, removed=removed):
            if urn not in seen:
                seen.add(urn)
                yield urn, entity_aspects
    except _NoScrollError:
        logger.info("Entities of type %s are read by URN: scrolling is not possible", entity)
    else:
        return
    status = RemovedStatusFilter.ALL if removed else RemovedStatusFilter.NOT_SOFT_DELETED
    with reading(graph, _subject(entity), entity=entity):
        urns = dict.fromkeys(
            graph.get_urns_by_filter(
                entity_types=[entity], status=status, extra_or_filters=filters, skip_cache=True
            )
        )
    # Pages may have arrived before the error; their entities must not be returned twice.
    for batch in batches((urn for urn in urns if urn not in seen), _BATCH):
        yield from fetch(graph, entity, batch, aspects, warn=warn).items()


def fetch(
    graph: DataHubGraph,
    entity: str,
    urns: Iterable[str],
    aspects: Sequence[str],
    *,
    warn: NoteSkipped = log_skipped,
) -> dict[str, Aspects]:
    """Read the given aspects of the entities with the given URNs."""
    found = (
        _fetch_batch(graph, entity, batch, aspects, warn=warn) for batch in batches(urns, _BATCH)
    )
    return {urn: entity_aspects for batch in found for urn, entity_aspects in batch.items()}


def fetch_each(
    graph: DataHubGraph, entity: str, urns: Iterable[str], kind: type[_Kind]
) -> dict[str, _Kind]:
    """Read one aspect of the entities with the given URNs, of those that have it."""
    entities = fetch(graph, entity, urns, [kind.ASPECT_NAME])
    found = {urn: aspect_of(aspects, kind) for urn, aspects in entities.items()}
    return {urn: aspect for urn, aspect in found.items() if aspect is not None}


def _fetch_batch(
    graph: DataHubGraph, entity: str, urns: list[str], aspects: Sequence[str], *, warn: NoteSkipped
) -> dict[str, Aspects]:
    """Read a batch of entities, and skip entities that the client cannot parse."""
    # The client's error does not name the entity. Halving the batch isolates one bad entity
    # among n with about 2 log2(n) requests instead of n.
    try:
        with _requesting(graph, _subject(entity), entity):
            return graph.get_entities(entity, urns, list(aspects), with_system_metadata=True)
    except MALFORMED as error:
        if len(urns) == 1:
            warn(urns[0], f"DataHub's client cannot read it: {error}")
            return {}
    middle = len(urns) // 2
    first, second = (
        _fetch_batch(graph, entity, half, aspects, warn=warn)
        for half in (urns[:middle], urns[middle:])
    )
    return first | second
