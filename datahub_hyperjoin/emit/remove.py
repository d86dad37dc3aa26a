"""Find what this source wrote and withdrew, and delete it for good.

Runs hide entities rather than delete them. Once all is withdrawn, this deletes what only this
source wrote: hidden entities, and the definitions that nothing uses any more.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from datahub.ingestion.graph.client import DataHubGraph
from datahub.metadata.schema_classes import (
    ERModelRelationshipPropertiesClass,
    GlobalTagsClass,
    StatusClass,
    StructuredPropertyDefinitionClass,
)

from datahub_hyperjoin.catalog.entities import (
    Aspects,
    aspect_of,
    by_type,
    is_removed,
    reading,
    scroll,
)
from datahub_hyperjoin.catalog.relationships import is_copied
from datahub_hyperjoin.emit.layers import OWN_ENTITIES
from datahub_hyperjoin.emit.relationships import OUR_TAGS
from datahub_hyperjoin.emit.terms import node_urn
from datahub_hyperjoin.errors import UnknownEntityTypeError
from datahub_hyperjoin.metadata.urns import (
    DECIDING_PROPERTIES,
    DECIDING_TAGS,
    DELETED_JOINS,
    flat_property_urn,
    property_urn,
)


@dataclass(frozen=True)
class Leftovers:
    """What this source wrote and DataHub still has."""

    removable: Mapping[str, Sequence[str]]
    """URNs of what nobody sees or uses any more, by the entity type."""

    decided: int
    """Number of hidden relationships about which people decided."""

    visible: int
    """Number of entities that are still shown: not everything was withdrawn."""


def find_leftovers(graph: DataHubGraph, namespace: str) -> Leftovers:
    """Find what runs with a namespace wrote and withdrew."""
    removable: dict[str, list[str]] = {}
    decided = visible = 0
    for entity in OWN_ENTITIES:
        for urn, aspects in _scroll_own(graph, entity, namespace):
            if not is_removed(aspects):
                visible += 1
            elif _is_decided(aspects):
                decided += 1
            else:
                removable.setdefault(entity, []).append(urn)
    if not visible:
        removable |= _find_definitions(graph, namespace, keep_decisions=decided > 0)
    return Leftovers(removable, decided, visible)


def delete_for_good(graph: DataHubGraph, urns: Sequence[str]) -> Iterator[str]:
    """Delete entities, and yield the URN of each."""
    for urn in urns:
        with reading(graph, "An entity to delete"):
            graph.hard_delete_entity(urn)
        yield urn


def _scroll_own(graph: DataHubGraph, entity: str, namespace: str) -> Iterator[tuple[str, Aspects]]:
    """Read the entities of a type that this source wrote and nobody edited."""
    layer = OWN_ENTITIES[entity]
    names = [layer.info.ASPECT_NAME, StatusClass.ASPECT_NAME]
    names += (
        [GlobalTagsClass.ASPECT_NAME] if layer.info is ERModelRelationshipPropertiesClass else []
    )
    try:
        for urn, aspects in scroll(graph, entity, names, removed=True):
            info, stamp = aspects.get(layer.info.ASPECT_NAME, (None, None))
            if isinstance(info, layer.info):
                is_own = layer.is_own(urn, info, namespace)
                if is_own and not layer.is_edited(info, stamp):
                    yield urn, aspects
    except UnknownEntityTypeError:
        return


def _is_decided(aspects: Aspects) -> bool:
    tags = aspect_of(aspects, GlobalTagsClass)
    assigned = tags.tags if tags else []
    return any(tag.tag in DECIDING_TAGS and not is_copied(tag.attribution) for tag in assigned)


def _find_definitions(
    graph: DataHubGraph, namespace: str, *, keep_decisions: bool
) -> dict[str, list[str]]:
    """Find the definitions of this source, apart from those that hold people's decisions."""
    begin = property_urn(namespace, ""), flat_property_urn(namespace, "")
    kept = {property_urn(namespace, name) for name in (*DECIDING_PROPERTIES, DELETED_JOINS)}
    names = [StructuredPropertyDefinitionClass.ASPECT_NAME]
    defined = (urn for urn, _ in scroll(graph, "structuredProperty", names, removed=True))
    others = [*OUR_TAGS, *([] if keep_decisions else DECIDING_TAGS), node_urn(namespace)]
    with reading(graph, "Tags and term groups"):
        existing = [urn for urn in others if graph.exists(urn)]
    return {
        "structuredProperty": sorted(
            urn for urn in defined if urn.startswith(begin) and urn not in kept
        ),
        **{entity: sorted(urns) for entity, urns in by_type(existing).items()},
    }
