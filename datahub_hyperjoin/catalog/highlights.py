"""The join queries that earlier runs showed, and what people have made of them since."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from datahub.ingestion.graph.client import DataHubGraph
from datahub.metadata.schema_classes import QueryPropertiesClass, StatusClass

from datahub_hyperjoin.catalog.bulk import aspect_of, fetch
from datahub_hyperjoin.catalog.relationships import Warn, gone
from datahub_hyperjoin.urns import AUTHOR

_ENTITY = "query"
_ASPECTS = [QueryPropertiesClass.ASPECT_NAME, StatusClass.ASPECT_NAME]


@dataclass(frozen=True, kw_only=True)
class Highlights:
    """Queries of ours, by urn."""

    hidden: frozenset[str] = frozenset()
    """Those that an earlier run hid."""

    closed: frozenset[str] = frozenset()
    """Those that a person edited, hid or deleted."""

    deleted: frozenset[str] = frozenset()
    """Those of `closed` that are gone for good."""


def read_highlights(
    graph: DataHubGraph,
    urns: Collection[str],
    *,
    written: Collection[str],
    hidden: Mapping[str, str],
    warn: Warn,
) -> Highlights:
    """Reads queries by their names.

    Args:
        graph: DataHub's server.
        urns: Which queries.
        written: Those of them that the last run wrote.
        hidden: Those that an earlier run hid, with the id of that run.
        warn: Is told of a lost catalog.

    Returns:
        What to show again, and what to leave alone.
    """
    found = fetch(graph, _ENTITY, sorted({*urns, *written}), _ASPECTS)
    shown_again: set[str] = set()
    edited: set[str] = set()
    for urn, aspects in found.items():
        status, stamp = aspects.get(StatusClass.ASPECT_NAME, (None, None))
        properties = aspect_of(aspects, QueryPropertiesClass)
        if isinstance(status, StatusClass) and status.removed:
            ours = stamp is not None and stamp.runId == hidden.get(urn)
            (shown_again if ours else edited).add(urn)
        elif properties is not None and properties.lastModified.actor != AUTHOR:
            edited.add(urn)
    deleted = gone(written, found, landed=False, warn=warn)
    return Highlights(
        hidden=frozenset(shown_again), closed=frozenset(edited) | deleted, deleted=deleted
    )
