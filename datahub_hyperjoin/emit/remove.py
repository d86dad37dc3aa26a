"""Find what this source wrote and withdrew, and delete it for good.

Runs hide entities rather than delete them, and take single values out of others' entities. Once all
is withdrawn, this deletes what only this source wrote: hidden entities, aspects that hold nothing
any more, checkpoints, and the definitions that nothing uses.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import quote

from datahub.ingestion.graph.client import DataHubGraph
from datahub.metadata.schema_classes import (
    EmbedClass,
    ERModelRelationshipPropertiesClass,
    GlobalTagsClass,
    GlossaryTermsClass,
    StatusClass,
    StructuredPropertiesClass,
    StructuredPropertyDefinitionClass,
    UpstreamLineageClass,
    _Aspect,
)
from datahub.utilities.urns.urn import guess_entity_type

from datahub_hyperjoin.catalog.entities import (
    Aspects,
    aspect_of,
    by_type,
    is_removed,
    reading,
    scroll,
)
from datahub_hyperjoin.catalog.relationships import is_copied
from datahub_hyperjoin.catalog.versions import SINCE_1_7, knows
from datahub_hyperjoin.emit.layers import OWN_ENTITIES
from datahub_hyperjoin.emit.pipelines import checkpoint_jobs, read_other_pipelines
from datahub_hyperjoin.emit.relationships import OUR_TAGS
from datahub_hyperjoin.emit.terms import node_urn
from datahub_hyperjoin.errors import UnknownEntityTypeError
from datahub_hyperjoin.metadata.urns import (
    AI_CONTEXT,
    DECIDING_PROPERTIES,
    DECIDING_TAGS,
    DELETED_JOINS,
    flat_property_urn,
    property_urn,
)
from datahub_hyperjoin.visible import logger_of

logger = logger_of(__name__)

_COLUMN, _COLUMN_KEY, _STAMP = "schemaField", "schemaFieldKey", "auditStamp"
_PARTS = {
    _COLUMN: (StructuredPropertiesClass.ASPECT_NAME, GlossaryTermsClass.ASPECT_NAME, AI_CONTEXT),
    "dataset": (
        StructuredPropertiesClass.ASPECT_NAME,
        EmbedClass.ASPECT_NAME,
        UpstreamLineageClass.ASPECT_NAME,
    ),
}
"""The aspects of others' entities that this source may create, by the entity type."""


@dataclass(frozen=True)
class Leftovers:
    """What this source wrote and DataHub still has."""

    removable: Mapping[str, Sequence[str]]
    """URNs of what nobody sees or uses any more, by the entity type."""

    decided: int
    """Number of hidden relationships about which people decided."""

    visible: int
    """Number of entities or values that are still shown: not everything was withdrawn."""

    empty: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Aspects of others' entities that this source created and that hold nothing any more, by the
    URN of the entity."""


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
    pipelines = read_other_pipelines(graph, None, _log)
    visible = visible or sum(each.state.size for each in pipelines if each.active)
    if visible:
        return Leftovers(removable, decided, visible)
    used, empty = _read_parts(graph, {each.name for each in pipelines})
    removable |= _find_definitions(graph, namespace, used, keep_decisions=decided > 0)
    removable["dataJob"] = [urn for each in pipelines for urn in checkpoint_jobs(each.name)]
    return Leftovers(removable, decided, visible, empty)


def _log(title: str, message: str, context: str) -> None:
    logger.warning("Another pipeline was not read: %s. %s: %s", title, message, context)


def delete_for_good(graph: DataHubGraph, leftovers: Leftovers) -> Iterator[str]:
    """Delete all that is left, and yield the URN of each entity."""
    for urn, aspects in leftovers.empty.items():
        with reading(graph, "Empty aspects"):
            _delete_aspects(graph, urn, aspects)
        yield urn
    for urn in (urn for urns in leftovers.removable.values() for urn in urns):
        with reading(graph, "An entity to delete"):
            graph.hard_delete_entity(urn)
        yield urn


def _delete_aspects(graph: DataHubGraph, urn: str, aspects: Sequence[str]) -> None:
    """Delete aspects of an entity, and the whole entity if it is a column without any other."""
    entity = guess_entity_type(urn)
    own = f"{graph.config.server}/openapi/v3/entity/{entity}/{quote(urn, safe='')}"
    for aspect in aspects:
        # The client has no call for it.
        graph._session.delete(f"{own}/{aspect}").raise_for_status()  # noqa: SLF001
    if entity == _COLUMN and graph.get_entity_raw(urn)["aspects"].keys() <= {_COLUMN_KEY}:
        graph.hard_delete_entity(urn)


def _read_parts(
    graph: DataHubGraph, pipelines: Collection[str]
) -> tuple[set[str], dict[str, list[str]]]:
    """Return the structured properties with values, and the empty aspects of these pipelines."""
    used = set[str]()
    empty: dict[str, list[str]] = defaultdict(list)
    for entity, kinds in _PARTS.items():
        names = [name for name in kinds if name not in SINCE_1_7 or knows(graph, name)]
        for urn, aspects in scroll(graph, entity, names, removed=True):
            properties = aspect_of(aspects, StructuredPropertiesClass)
            assigned = properties.properties if properties else []
            used.update(each.propertyUrn for each in assigned if each.values)
            for name, (aspect, stamp) in aspects.items():
                # The server keeps the name of the pipeline that created an aspect.
                is_own = stamp is not None and stamp.pipelineName in pipelines
                if name in names and is_own and _is_empty(aspect):
                    empty[urn].append(name)
    return used, dict(empty)


def _is_empty(aspect: _Aspect) -> bool:
    held = aspect.to_obj()
    return not any(value for name, value in held.items() if name != _STAMP)


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
    graph: DataHubGraph, namespace: str, used: Collection[str], *, keep_decisions: bool
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
            urn for urn in defined if urn.startswith(begin) and urn not in kept.intersection(used)
        ),
        **{entity: sorted(urns) for entity, urns in by_type(existing).items()},
    }
