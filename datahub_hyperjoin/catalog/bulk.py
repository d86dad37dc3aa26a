"""Reading many entities of DataHub with few requests, whatever the age of the server."""

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import TypeVar

from datahub.ingestion.graph.client import DataHubGraph
from datahub.ingestion.graph.filters import RawSearchFilter, RemovedStatusFilter
from datahub.metadata.schema_classes import SystemMetadataClass, _Aspect

from datahub_hyperjoin.catalog.answers import reading, response_behind
from datahub_hyperjoin.errors import UnreadableCatalogError

logger = logging.getLogger(__name__)

Aspects = dict[str, tuple[_Aspect, SystemMetadataClass | None]]
"""What is known of an entity: its aspects by name, each with who wrote it and when."""

NoteLeftOut = Callable[[str, str], None]
"""Told the urn of what is left out, and why."""

_PAGE = 1_000
_BATCH = 500
_NOT_ANSWERED = {400, 404, 405}
_MALFORMED = (AssertionError, AttributeError, KeyError, TypeError, ValueError)
"""What the client raises for an aspect that lacks what its model requires."""

_Item = TypeVar("_Item")
_Kind = TypeVar("_Kind", bound=_Aspect)


def log_left_out(urn: str, reason: str) -> None:
    """Tells of something left out where nobody else wants to know.

    Args:
        urn: What is left out.
        reason: Why.
    """
    logger.warning("%s is left out: %s", urn, reason)


def aspect_of(aspects: Aspects, kind: type[_Kind]) -> _Kind | None:
    """One aspect of an entity, without who wrote it.

    Args:
        aspects: What is known of the entity.
        kind: The aspect's class.

    Returns:
        None, if the entity has no such aspect.

    >>> from datahub.metadata.schema_classes import OwnershipClass, StatusClass
    >>> known: Aspects = {"status": (StatusClass(removed=True), None)}
    >>> aspect_of(known, StatusClass).removed, aspect_of(known, OwnershipClass)
    (True, None)
    """
    value, _ = aspects.get(kind.ASPECT_NAME, (None, None))
    return value if isinstance(value, kind) else None


def batches(items: Iterable[_Item], size: int) -> Iterator[list[_Item]]:
    """Items by so many at a time.

    >>> list(batches("abcde", 2))
    [['a', 'b'], ['c', 'd'], ['e']]
    """
    rest = iter(items)
    while batch := list(islice(rest, size)):
        yield batch


def _words(entity: str) -> str:
    return f"Entities of type {entity}"


class _NoScrollError(Exception):
    """The scroll endpoint is not there, or the client cannot read what it gives."""


def _pages(
    graph: DataHubGraph,
    entity: str,
    aspects: Sequence[str],
    *,
    filters: RawSearchFilter | None,
    removed: bool,
) -> Iterator[tuple[str, Aspects]]:
    """Entities by the endpoint made for this."""
    if not hasattr(graph, "scroll_entities"):  # the client has it since its release 1.6
        raise _NoScrollError
    cursor: str | None = None
    while True:
        try:
            with reading(graph, _words(entity), entity=entity):
                page = graph.scroll_entities(
                    entity_names=[entity],
                    aspects=list(aspects),
                    count=_PAGE,
                    scroll_id=cursor,
                    with_system_metadata=True,
                    skip_cache=True,
                    include_soft_delete=removed,
                    filter=filters,
                )
        except UnreadableCatalogError as error:
            answer = response_behind(error)
            if answer is not None and answer.status_code in _NOT_ANSWERED:
                raise _NoScrollError from error
            raise
        except _MALFORMED as error:
            raise _NoScrollError from error
        yield from page.entities.items()
        cursor = page.scroll_id
        if not cursor:
            return


def _urns(
    graph: DataHubGraph, entity: str, *, filters: RawSearchFilter | None, removed: bool
) -> dict[str, None]:
    """Urns by a search, each once, in its order."""
    wanted = RemovedStatusFilter.ALL if removed else RemovedStatusFilter.NOT_SOFT_DELETED
    with reading(graph, _words(entity), entity=entity):
        return dict.fromkeys(
            graph.get_urns_by_filter(
                entity_types=[entity], status=wanted, extra_or_filters=filters, skip_cache=True
            )
        )


def scroll(
    graph: DataHubGraph,
    entity: str,
    aspects: Sequence[str],
    *,
    filters: RawSearchFilter | None = None,
    removed: bool = False,
    warn: NoteLeftOut = log_left_out,
) -> Iterator[tuple[str, Aspects]]:
    """Every entity of a type, with some of its aspects: one request for a thousand of them.

    Clients and servers without DataHub's scroll endpoint are asked for urns first, and for aspects
    in batches then. So they are when the client cannot read one entity of a page, to find it out.

    Args:
        graph: The client.
        entity: The entity type, for example `dataset`.
        aspects: Names of the aspects wanted; an entity that has none of them does not come.
        filters: DataHub's filter: one of its clauses must hold. Both ways know the conditions
            EQUAL, IN, CONTAIN and EXISTS.
        removed: Whether soft-deleted entities come too.
        warn: Told of each entity that cannot be read.

    Yields:
        Urns and aspects, each entity once.

    Raises:
        UnknownEntityTypeError: The server has no such entity type.
        UnreadableCatalogError: The server gives no answer.
    """
    seen: set[str] = set()
    try:
        for urn, found in _pages(graph, entity, aspects, filters=filters, removed=removed):
            if urn not in seen:
                seen.add(urn)
                yield urn, found
    except _NoScrollError:
        logger.info("Reading entities of type %s by their urns", entity)
    else:
        return
    urns = _urns(graph, entity, filters=filters, removed=removed)
    for batch in batches((urn for urn in urns if urn not in seen), _BATCH):
        yield from fetch(graph, entity, batch, aspects, warn=warn).items()


def fetch(
    graph: DataHubGraph,
    entity: str,
    urns: Iterable[str],
    aspects: Sequence[str],
    *,
    warn: NoteLeftOut = log_left_out,
) -> dict[str, Aspects]:
    """Some aspects of the entities named: one request for five hundred of them.

    Args:
        graph: The client.
        entity: Their entity type.
        urns: Which entities; soft-deleted ones come too.
        aspects: Names of the aspects wanted.
        warn: Told of each entity that cannot be read.

    Returns:
        Those that exist and have any of the aspects.

    Raises:
        UnknownEntityTypeError: The server has no such entity type.
        UnreadableCatalogError: The server gives no answer.
    """
    found: dict[str, Aspects] = {}
    for batch in batches(urns, _BATCH):
        found |= _fetch_batch(graph, entity, batch, aspects, warn=warn)
    return found


def _fetch_batch(
    graph: DataHubGraph, entity: str, urns: list[str], aspects: Sequence[str], *, warn: NoteLeftOut
) -> dict[str, Aspects]:
    """One request, and if the client cannot read an entity of its answer, one for each half."""
    try:
        with reading(graph, _words(entity), entity=entity):
            return graph.get_entities(entity, urns, list(aspects), with_system_metadata=True)
    except _MALFORMED as error:
        if len(urns) == 1:
            warn(urns[0], f"the client cannot read it: {error}")
            return {}
    middle = len(urns) // 2
    return {
        urn: known
        for half in (urns[:middle], urns[middle:])
        for urn, known in _fetch_batch(graph, entity, half, aspects, warn=warn).items()
    }
