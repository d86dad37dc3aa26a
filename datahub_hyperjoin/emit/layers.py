"""All kinds of metadata that a run can write, in the order that DataHub requires."""

from collections.abc import Iterator, Mapping
from functools import partial

from datahub.ingestion.api.workunit import MetadataWorkUnit
from datahub.ingestion.graph.client import DataHubGraph
from datahub.metadata.urns import (
    DocumentUrn,
    ErModelRelationshipUrn,
    QueryUrn,
    StructuredPropertyUrn,
)
from requests import HTTPError, RequestException

from datahub_hyperjoin.catalog.versions import SINCE_1_7, knows, read_registry
from datahub_hyperjoin.catalog.written_state import WrittenState
from datahub_hyperjoin.client_errors import is_unknown_entity
from datahub_hyperjoin.emit.assertions import Assertions
from datahub_hyperjoin.emit.config import EmitConfig
from datahub_hyperjoin.emit.contexts import Contexts
from datahub_hyperjoin.emit.documents import Documents
from datahub_hyperjoin.emit.embeds import Embeds
from datahub_hyperjoin.emit.layer import LakeSize, Layer, OwnEntities, Withdrawal, Writing
from datahub_hyperjoin.emit.lineage import JoinLineage
from datahub_hyperjoin.emit.properties import Properties
from datahub_hyperjoin.emit.queries import Queries
from datahub_hyperjoin.emit.relationships import Relationships
from datahub_hyperjoin.emit.semantic_models import SemanticModels
from datahub_hyperjoin.emit.terms import Terms
from datahub_hyperjoin.progress import Warn

LAYERS: tuple[Layer, ...] = (
    Relationships(),
    Properties(),
    Queries(),
    Documents(),
    Contexts(),
    Terms(),
    JoinLineage(),  # its edges name the queries that were written
    Embeds(),
    Assertions(),
    SemanticModels(),
)

OWN_ENTITIES = {layer.entity: layer for layer in LAYERS if isinstance(layer, OwnEntities)}
"""The layers of entities that this source creates, by the entity type."""


def write_layers(run: Writing) -> Iterator[MetadataWorkUnit]:
    """Convert joins to the kinds of metadata that the recipe selects."""
    for layer in LAYERS:
        if layer.is_on(run.config):
            yield from layer.write(run)


# This percentage switches the fail-safe off.
_EVERYTHING = 100.0


def withdraw(
    last: WrittenState, current: WrittenState, *, namespace: str, threshold: float, warn: Warn
) -> tuple[list[MetadataWorkUnit], WrittenState]:
    """Withdraw outdated metadata, unless it is more than `threshold` % of the last state."""
    # More is taken for a mistake, such as a missing folder. Then the union of both states is
    # stored, so that the next run can withdraw what this one did not.
    gone = Withdrawal(last=last, current=current, namespace=namespace)
    total, removed = last.size, gone.stale.size
    if total and removed / total * 100 > threshold and threshold < _EVERYTHING:
        warn(
            "Nothing withdrawn",
            "Too many joins have disappeared since the last run. If that is correct, raise "
            "`stateful_ingestion.fail_safe_threshold`",
            f"{removed} of the {total} columns, datasets, queries, documents and lineage edges "
            f"that the last run wrote have no join now ({removed / total:.0%}); the threshold is "
            f"{threshold:g}%",
        )
        return [], current.merged_with(last)
    return [unit for layer in LAYERS for unit in layer.withdraw(gone)], current


_EXAMPLES = {
    "erModelRelationship": ErModelRelationshipUrn("hyperjoin").urn(),
    "structuredProperty": StructuredPropertyUrn("hyperjoin").urn(),
    "query": QueryUrn("hyperjoin").urn(),
    "document": DocumentUrn("hyperjoin").urn(),
}
"""A URN of each entity type that a server may not know; the entities need not exist."""


def find_unsupported(graph: DataHubGraph, config: EmitConfig) -> dict[str, str]:
    """Find the enabled kinds of metadata that the DataHub server does not support."""
    # A server that cannot be asked counts as one that supports every layer.
    registry = read_registry(graph)
    ask = partial(_ask, graph) if registry is None else partial(_look_up, registry)
    lacks = {layer.key: ", ".join(ask(layer.needs)) for layer in LAYERS if layer.is_on(config)}
    return {layer: missing for layer, missing in lacks.items() if missing}


def _look_up(
    registry: Mapping[str, set[str]], needs: Mapping[str, tuple[str, ...]]
) -> Iterator[str]:
    for entity, aspects in needs.items():
        if entity in registry:
            lacks = (aspect for aspect in aspects if aspect not in registry[entity])
            yield from (f"the aspect {aspect} of {entity}" for aspect in lacks)
        else:
            yield f"the entity type {entity}"


def _ask(graph: DataHubGraph, needs: Mapping[str, tuple[str, ...]]) -> Iterator[str]:
    # Without a registry only missing entity types can be found: the server names them in an error.
    for entity, aspects in needs.items():
        for aspect in SINCE_1_7.intersection(aspects):
            if not knows(graph, aspect):
                yield f"the aspect {aspect} of {entity}"
        if entity in _EXAMPLES and not _knows(graph, entity, aspects):
            yield f"the entity type {entity}"


def _knows(graph: DataHubGraph, entity: str, aspects: tuple[str, ...]) -> bool:
    try:
        graph.get_entities(entity, [_EXAMPLES[entity]], list(aspects))
    except (RequestException, ValueError) as error:
        return not (isinstance(error, HTTPError) and is_unknown_entity(entity, error))
    return True


_TAGS = 12
"""Tags of roles and bands, and the state of the run."""


def estimate_records(size: LakeSize, config: EmitConfig) -> int:
    """Estimate how many records a first run writes, in two significant digits.

    >>> estimate_records(LakeSize(tables=76, columns=777, described=76), EmitConfig())
    1000
    """
    records = _TAGS + sum(
        layer.records + layer.per_table * size.tables + layer.per_join * size.joins
        for layer in LAYERS
        if layer.is_on(config)
    )
    return int(float(f"{records:.1e}"))
