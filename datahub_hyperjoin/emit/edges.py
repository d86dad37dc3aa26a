"""Patches of lineage, applied as DataHub's server does.

The server files an edge between columns under its operation, its downstream column, its query and
its upstream column, and keeps one confidence, the least, for all upstream columns of the first
three. It patches no lineage in which an edge has several downstream columns.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from datahub.metadata.urns import CorpUserUrn
from typing_extensions import Self

from datahub_hyperjoin.emit.keyed import Change, Document, steps

_NONE = "NONE"
_OURS = CorpUserUrn("_ingestion").urn()
"""Who wrote an edge between datasets, if we did."""

_Group = tuple[str, str, str]
"""Operation, downstream column and query."""


def _score(element: Document) -> float:
    """The server keeps single precision."""
    return float(np.float32(element.get("confidenceScore", 1.0)))


@dataclass(frozen=True)
class _Lineage:
    upstreams: dict[str, Any]
    """Edges between datasets, by the upstream one."""

    groups: dict[_Group, dict[str, float]]
    """Edges between columns: the confidence by the upstream column."""

    @classmethod
    def read(cls, document: Document) -> Self:
        groups: dict[_Group, dict[str, float]] = {}
        for element in document.get("fineGrainedLineages") or []:
            operation = element.get("transformOperation") or _NONE
            query = element.get("query") or _NONE
            score = _score(element)
            for downstream in element.get("downstreams") or []:
                group = groups.setdefault((operation, downstream, query), {})
                group.update(dict.fromkeys(element.get("upstreams") or [], score))
        upstreams = {one["dataset"]: one for one in document.get("upstreams") or []}
        return cls(upstreams, groups)

    def _ours(self, dataset: str) -> bool:
        """Whether there is an edge from a dataset that we wrote."""
        stamp = self.upstreams.get(dataset, {}).get("auditStamp", {})
        return stamp.get("actor") == _OURS

    def settled(self, group: _Group) -> tuple[frozenset[str], float]:
        """What the server makes of a group."""
        found = self.groups.get(group, {})
        return frozenset(found), min(found.values(), default=1.0)

    def write(self) -> Document:
        elements = [
            {
                "transformOperation": operation,
                "downstreams": [downstream],
                "query": query,
                "upstreams": list(found),
                "confidenceScore": min(found.values()),
            }
            for (operation, downstream, query), found in self.groups.items()
            if found
        ]
        return {"upstreams": list(self.upstreams.values()), "fineGrainedLineages": elements}

    def change(self, way: Sequence[str], change: Change) -> bool:
        """Makes a change, and says whether it is one."""
        removal = change["op"] == "remove"
        match way:
            case ["upstreams", dataset]:
                if (not self._ours(dataset)) if removal else (dataset in self.upstreams):
                    return False
                place: dict[str, Any] = self.upstreams
                value = change.get("value")
            case ["fineGrainedLineages", operation, downstream, query, dataset]:
                place = self.groups.setdefault((operation, downstream, query), {})
                value = None if removal else _score(change["value"])
                if place.get(dataset) == value:
                    return False
            case _:
                message = f"{change['path']} is no edge"
                raise LookupError(message)
        if removal:
            del place[dataset]
        else:
            place[dataset] = value
        return True


def patchable(document: Document) -> bool:
    """Whether the server can patch a dataset's lineage.

    Args:
        document: The lineage that the catalog holds, as JSON.

    >>> patchable({"fineGrainedLineages": [{"downstreams": ["a", "b"]}]})
    False
    """
    elements = document.get("fineGrainedLineages") or []
    return all(len(element.get("downstreams") or []) == 1 for element in elements)


def trim_edges(document: Document, changes: Iterable[Change]) -> tuple[list[Change], Document]:
    """The part of a patch of lineage that changes something.

    An edge between datasets that is there already stays as it is, and of those only ours are
    removed: that of someone else, who may have replaced ours, says the same.

    Args:
        document: The lineage that the catalog holds, as JSON.
        changes: The patch.

    Returns:
        The changes to send, none if they change nothing together, and the lineage after them.

    Raises:
        LookupError: The patch changes something else than single edges.
    """
    before, after = _Lineage.read(document), _Lineage.read(document)
    kept = [change for change in changes if after.change(steps(change["path"]), change)]
    moved = {group for group in after.groups if before.settled(group) != after.settled(group)}
    sent = [change for change in kept if _matters(steps(change["path"]), moved)]
    same = not moved and before.upstreams.keys() == after.upstreams.keys()
    return ([], document) if same else (sent, after.write())


def _matters(way: Sequence[str], moved: set[_Group]) -> bool:
    return way[0] == "upstreams" or (way[1], way[2], way[3]) in moved
