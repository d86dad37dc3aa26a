"""Everything that is asked of DataHub before a table is read."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from datahub.ingestion.graph.client import DataHubGraph
from datahub.metadata.schema_classes import StructuredPropertiesClass

from datahub_hyperjoin.catalog.assemble import assemble_facts
from datahub_hyperjoin.catalog.bulk import aspect_of, fetch
from datahub_hyperjoin.catalog.dataset_filter import DatasetFilter
from datahub_hyperjoin.catalog.datasets import Dataset, PlatformInstance, read_datasets
from datahub_hyperjoin.catalog.decisions import Decision, read_decisions
from datahub_hyperjoin.catalog.relationships import (
    Relationship,
    Warn,
    gone,
    left_out,
    read_relationships,
)
from datahub_hyperjoin.catalog.statistics import read_statistics
from datahub_hyperjoin.catalog.usage import count_joined
from datahub_hyperjoin.catalog_facts import CatalogFacts
from datahub_hyperjoin.errors import (
    UnknownDatasetsError,
    UnknownEntityTypeError,
    UnreadableCatalogError,
)
from datahub_hyperjoin.tables import ColumnId, Pair, Table, TableId
from datahub_hyperjoin.urns import REJECTED, property_urn

logger = logging.getLogger(__name__)

Key = TypeVar("Key")
Value = TypeVar("Value")

_NAMED = 5
"""Tables that a message names; a number stands for the others."""


@dataclass(frozen=True, kw_only=True)
class Scope:
    """Which part of the catalog a run is about."""

    homes: tuple[PlatformInstance, ...]
    """Where its tables stand."""

    among: DatasetFilter
    """What its datasets must be filed under."""

    known_only: bool
    """Whether tables that the catalog does not know are left out."""

    queries: int
    """Most SQL queries that are read."""

    namespace: str
    """What the structured properties' names begin with."""


@dataclass(frozen=True, kw_only=True)
class History:
    """What earlier runs of the same pipeline remember."""

    written: Mapping[str, Pair] = field(default_factory=dict)
    """The relationships of the last run, by urn."""

    refused: Mapping[str, Pair] = field(default_factory=dict)
    """The relationships of any run that people deleted, hid or rejected, by urn."""

    hidden: Mapping[str, str] = field(default_factory=dict)
    """The relationships and queries that runs hid, with the id of the run that did."""

    columns: Sequence[str] = ()
    """Urns of some columns that have properties since the last run."""


@dataclass(frozen=True, kw_only=True)
class Catalog:
    """What there is to search, and what is known of it."""

    tables: Sequence[Table]
    """What can be read, and may be."""

    knowledge: CatalogFacts = field(default_factory=CatalogFacts)
    """What the catalog says of it."""

    datasets: Mapping[TableId, Dataset] = field(default_factory=dict)
    """The catalog's own entries."""

    relationships: Mapping[str, Relationship] = field(default_factory=dict)
    """Who relates what already, by urn."""

    refused: Mapping[str, Pair] = field(default_factory=dict)
    """The relationships of ours that people deleted, hid or rejected, by urn. DataHub deletes for
    good in time what is hidden, so they must be remembered."""

    deleted: Sequence[Pair] = ()
    """The pairs of those that are gone since the last run."""

    silent: Sequence[PlatformInstance] = ()
    """Where databases gave no answer this time: what stands there is not known to be gone."""

    def field_path(self, column: ColumnId) -> ColumnId:
        """A column by the path that the catalog files it under.

        Args:
            column: A column by its plain path.

        Returns:
            The same column if the catalog does not know it.
        """
        dataset = self.datasets.get(column.table)
        paths = dict(dataset.columns) if dataset else {}
        return ColumnId(column.table, paths.get(column.path, column.path))


@dataclass(frozen=True)
class _People:
    """What people related, refused and decided."""

    relationships: dict[str, Relationship]
    refused: dict[str, Pair]
    deleted: list[Pair]
    decisions: dict[Pair, Decision]


def read_catalog(
    graph: DataHubGraph, tables: Sequence[Table], *, scope: Scope, history: History, warn: Warn
) -> Catalog:
    """Reads what DataHub knows of some tables, and what its people decided about their joins.

    Args:
        graph: DataHub's server.
        tables: What could be read.
        scope: Which part of the catalog to look at.
        history: What earlier runs remember.
        warn: Is told of what is left out.

    Returns:
        The tables that may be read, and what is known of them.

    Raises:
        UnknownDatasetsError: The catalog knows none of the tables.
        UnreadableCatalogError: The server gives no answer.
    """
    datasets = {
        dataset.table: dataset
        for dataset in read_datasets(graph, scope.homes, among=scope.among, warn=left_out(warn))
    }
    chosen = _choose(tables, datasets, scope=scope, warn=warn)
    people = _listen(graph, scope=scope, history=history, warn=warn)
    knowledge = assemble_facts(
        datasets=datasets.values(),
        relationships=people.relationships.values(),
        decisions=people.decisions,
        queries=_if_readable(
            lambda: count_joined(graph, [*datasets.values()], most=scope.queries, warn=warn), warn
        ),
        statistics=_if_readable(
            lambda: read_statistics(graph, [table.id for table in chosen]), warn
        ),
    )
    return Catalog(
        tables=chosen,
        knowledge=knowledge,
        datasets=datasets,
        relationships=people.relationships,
        refused=people.refused,
        deleted=people.deleted,
    )


def _listen(graph: DataHubGraph, *, scope: Scope, history: History, warn: Warn) -> _People:
    relationships = _where_known(
        lambda: read_relationships(graph, known=history.written, hidden=history.hidden, warn=warn),
    )
    landed = _landed(graph, history, scope.namespace, warn)
    missing = gone(history.written, relationships, landed=landed, warn=warn)
    earlier = {**history.refused, **{urn: history.written[urn] for urn in missing}}
    deleted = {urn: pair for urn, pair in earlier.items() if urn not in relationships}
    decisions = _where_known(
        lambda: read_decisions(
            graph,
            namespace=scope.namespace,
            relationships=relationships.values(),
            deleted=deleted,
            warn=warn,
        )
    )
    hidden = {
        one.urn: one.pairs[0]
        for one in relationships.values()
        if one.pairs and (one.hidden_by_people or (one.ours and REJECTED in one.tags))
    }
    return _People(
        relationships=relationships,
        refused={**deleted, **hidden},
        deleted=sorted(history.written[urn] for urn in missing),
        decisions=decisions,
    )


def _landed(graph: DataHubGraph, history: History, namespace: str, warn: Warn) -> bool:
    """Whether the catalog has any of the properties that the last run wrote."""
    ours = property_urn(namespace, "")
    name = StructuredPropertiesClass.ASPECT_NAME
    held = _if_readable(lambda: fetch(graph, "schemaField", history.columns, [name]), warn)
    assigned = (aspect_of(aspects, StructuredPropertiesClass) for aspects in held.values())
    return any(
        one.propertyUrn.startswith(ours) for has in assigned if has for one in has.properties
    )


def _where_known(read: Callable[[], dict[Key, Value]]) -> dict[Key, Value]:
    """Nothing, where the server has no such entities; what needs them says so when it writes."""
    try:
        return read()
    except UnknownEntityTypeError as error:
        logger.info("%s", error)
        return {}


def _if_readable(read: Callable[[], dict[Key, Value]], warn: Warn) -> dict[Key, Value]:
    """Nothing, where the server does not give what the run can do without."""
    try:
        return _where_known(read)
    except UnreadableCatalogError as error:
        warn("Catalog read in part", "The run goes on without what it would have told", str(error))
        return {}


def _choose(
    tables: Sequence[Table], datasets: Mapping[TableId, Dataset], *, scope: Scope, warn: Warn
) -> list[Table]:
    """The tables that the catalog knows, or all."""
    known = [table for table in tables if table.id in datasets]
    unknown = [table.id for table in tables if table.id not in datasets]
    if not scope.known_only or not unknown:
        return list(tables)
    if not known:
        first = unknown[0]
        raise UnknownDatasetsError.on_platform(first.platform, first.env, example=first.name)
    if scope.among:
        logger.info("Left out by domain, container or tag, or unknown: %s tables", len(unknown))
        return known
    warn(
        "Tables not in the catalog",
        "They are left out; ingest them with their own source, or set `catalog.known_only: false`",
        shorten([*map(str, unknown)]),
    )
    return known


def shorten(names: Sequence[str]) -> str:
    """Some names, and how many there are besides.

    >>> shorten(["a", "b"])
    'a, b'
    >>> shorten([f"table_{at}" for at in range(7)])
    'table_0, table_1, table_2, table_3, table_4 and 2 more'
    """
    more = len(names) - _NAMED
    shown = ", ".join(names[:_NAMED])
    return f"{shown} and {more} more" if more > 0 else shown
