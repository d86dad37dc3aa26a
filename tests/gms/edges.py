"""List the relationships between entities, as in the server's graph index."""

from collections.abc import Iterator
from typing import NamedTuple

from gms.store import Store


class Edge(NamedTuple):
    """A relationship from one entity to another."""

    kind: str
    source: str
    destination: str


def edges(store: Store, kinds: set[str]) -> Iterator[Edge]:
    """Yield the relationships of the given kinds, or of all kinds if none is given."""
    for kind, entity, aspect, way in _KINDS:
        if kinds and kind not in kinds:
            continue
        for urn in store.urns(entity):
            value = store.value(urn, aspect)
            if isinstance(way, str):
                yield from (Edge(kind, urn, value[way]) for _ in value and [None])
            else:
                array, name = way
                yield from (Edge(kind, urn, it[name]) for it in value.get(array, ()))


_RELATIONSHIP = ("erModelRelationship", "erModelRelationshipProperties")
_KINDS: tuple[tuple[str, str, str, str | tuple[str, str]], ...] = (
    ("ermodelrelationA", *_RELATIONSHIP, "source"),
    ("ermodelrelationB", *_RELATIONSHIP, "destination"),
    ("DownstreamOf", "dataset", "upstreamLineage", ("upstreams", "dataset")),
    ("IsAssociatedWith", "query", "querySubjects", ("subjects", "entity")),
)
