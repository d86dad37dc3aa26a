"""The part of the catalog that a run covers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from datahub.metadata.schema_classes import (
    BrowsePathsV2Class,
    DomainsClass,
    GlobalTagsClass,
)

from datahub_hyperjoin.catalog.entities import Aspects, aspect_of
from datahub_hyperjoin.decision_file import WrittenDecision
from datahub_hyperjoin.tables import TableId


@dataclass(frozen=True, kw_only=True)
class DatasetFilter:
    """A filter for datasets by domain, container and tag."""

    domains: Sequence[str] = ()
    """URNs or IDs of the domains whose datasets are kept; empty for all."""

    containers: Sequence[str] = ()
    """URNs or IDs of the containers (databases, schemas, folders) whose datasets are kept, at any
    level; empty for all."""

    tags: Sequence[str] = ()
    """URNs or names of the tags whose datasets are kept; empty for all."""

    def __bool__(self) -> bool:
        return bool(self.domains or self.containers or self.tags)

    @property
    def aspects(self) -> tuple[str, ...]:
        """The names of the DataHub aspects that the filter reads."""
        return tuple(
            aspect.ASPECT_NAME
            for aspect, wanted in (
                (DomainsClass, self.domains),
                (BrowsePathsV2Class, self.containers),
                (GlobalTagsClass, self.tags),
            )
            if wanted
        )

    def matches(self, aspects: Aspects) -> bool:
        """Return whether a dataset passes the filter."""
        domains = aspect_of(aspects, DomainsClass)
        browse_path = aspect_of(aspects, BrowsePathsV2Class)
        tags = aspect_of(aspects, GlobalTagsClass)
        # A browse path lists the containers of all levels; its other entries have no URN.
        containers = [entry.urn for entry in browse_path.path] if browse_path else ()
        return (
            _has_one_of("domain", self.domains, domains.domains if domains else ())
            and _has_one_of("container", self.containers, containers)
            and _has_one_of("tag", self.tags, [tag.tag for tag in tags.tags] if tags else ())
        )


def _has_one_of(kind: str, wanted: Sequence[str], actual: Sequence[str | None]) -> bool:
    prefix = f"urn:li:{kind}:"
    urns = {name if name.startswith(prefix) else prefix + name for name in wanted}
    return not urns or not urns.isdisjoint(actual)


@dataclass(frozen=True, kw_only=True)
class PlatformInstance:
    """One instance of a data platform, or the whole platform, in one DataHub environment."""

    platform: str
    """DataHub platform; empty for all platforms."""

    env: str
    """DataHub environment."""

    instance: str | None = None
    """Name of the platform instance; None for the whole platform."""

    def contains(self, table: TableId) -> bool:
        """Return whether a table belongs to this platform instance, judging by the table's name.

        >>> eu = PlatformInstance(platform="postgres", env="PROD", instance="eu")
        >>> eu.contains(TableId("postgres", "eu.shop.orders"))
        True
        >>> eu.contains(TableId("postgres", "shop.orders"))
        False
        """
        # Connectors that write names in lower case do so with that of the instance, too.
        start = f"{self.instance}.".casefold()
        within = not self.instance or table.name.casefold().startswith(start)
        return within and self.covers(table)

    def covers(self, table: TableId) -> bool:
        """Return whether a table is on this platform and in this environment."""
        return self.platform in {"", table.platform} and table.env == self.env


@dataclass(frozen=True, kw_only=True)
class FolderNames:
    """The rules by which DataHub names the tables in the recipe's local folder."""

    folder: Path
    """The local folder that the recipe names."""

    instance: PlatformInstance
    """The platform instance of the datasets of these tables."""

    stated: bool = False
    """Whether the recipe states the names (`catalog.names`)."""

    def parts_of(self, table: TableId) -> tuple[str, ...]:
        """Return the name of a table as a path, without the platform instance."""
        prefix = f"{self.instance.instance}." if self.instance.instance else ""
        return tuple(table.name.removeprefix(prefix).split("/"))


@dataclass(frozen=True, kw_only=True)
class Scope:
    """The part of the catalog that a run covers."""

    instances: tuple[PlatformInstance, ...]
    """Platform instances of the run's tables."""

    folder: FolderNames | None = None
    """How the tables of the local folder are named; None if the recipe has no such folder."""

    dataset_filter: DatasetFilter
    """Keeps datasets by domain, container and tag."""

    known_only: bool
    """Whether tables and columns that the catalog does not know are left out."""

    described: bool = False
    """Whether datasets that the run does not read get suggestions by names."""

    max_queries: int
    """Maximum number of SQL queries that are read."""

    personal_tags: tuple[str, ...] = ()
    """Regular expressions for the tags and glossary terms of personal columns."""

    namespace: str
    """Namespace of this package's structured properties."""

    renamed: Mapping[TableId, TableId] = field(default_factory=dict)
    """New names of tables, as the recipe states them."""

    decisions: Sequence[WrittenDecision] = ()
    """The decisions of the recipe's file."""
