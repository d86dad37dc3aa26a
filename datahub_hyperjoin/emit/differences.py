"""What of a run's metadata the catalog does not hold yet.

Every run makes all of its metadata anew, and what would change nothing is not sent. So a run
without news writes nothing, nothing looks newer than it is, and what a person hid is not stamped
with our name by being hidden once more.
"""

import copy
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Protocol

from datahub.configuration.common import OperationalError
from datahub.ingestion.api.workunit import MetadataWorkUnit
from datahub.ingestion.graph.client import DataHubGraph
from requests import RequestException
from typing_extensions import LiteralString

from datahub_hyperjoin.emit.present import Proposal, ServerSnapshot, target
from datahub_hyperjoin.redact import in_short

_CHUNK = 500
"""Workunits that are compared together: at most as many entities are read with one request."""


class Reporter(Protocol):
    """Takes note of what is not written, and of faults."""

    def count(self, name: str, by: int) -> None:
        """Adds to a counter."""

    def warn(self, title: LiteralString, message: LiteralString, context: str) -> None:
        """Names a fault that the run goes on without."""


def keep_changes(
    units: Iterable[MetadataWorkUnit], graph: DataHubGraph, *, report: Reporter
) -> Iterator[MetadataWorkUnit]:
    """Lets through what changes something, in order.

    Args:
        units: Everything that a run makes.
        graph: The catalog.
        report: Gets the number of those held back as `unchanged`, and a warning if the catalog
            cannot be read: what comes then passes without comparison.

    Yields:
        The workunits; a patch has only those of its changes that change something.
    """
    source, present = iter(units), ServerSnapshot()
    while chunk := list(islice(source, _CHUNK)):
        try:
            present.read(chunk, graph)
        except (RequestException, OperationalError, ValueError) as error:
            report.warn(
                "Catalog not compared",
                "What it holds already is written once more",
                in_short(str(error), graph.config.token),
            )
            yield from chunk
            yield from source
            return
        for unit in chunk:
            kept = _admit(unit, present, report)
            if kept:
                yield kept
    if present.unpatchable:
        report.warn(
            "Lineage not written",
            "DataHub patches no lineage with an edge that leads to several columns",
            ", ".join(sorted(present.unpatchable)),
        )


def _admit(
    unit: MetadataWorkUnit, present: ServerSnapshot, report: Reporter
) -> MetadataWorkUnit | None:
    place, proposal = target(unit.metadata), unit.metadata
    if not place or not isinstance(proposal, Proposal):
        return unit
    try:
        kept = present.admit(proposal, place)
    except (LookupError, TypeError):
        # A patch in a form that is not ours.
        return unit
    if kept is proposal:
        return unit
    if kept is None:
        report.count("unchanged", 1)
        return None
    trimmed = copy.copy(unit)
    trimmed.metadata = kept
    return trimmed
