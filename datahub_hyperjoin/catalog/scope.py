"""The part of the catalog that a run covers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from datahub.metadata.schema_classes import (
    BrowsePathsV2Class,
    DomainsClass,
    GlobalTagsClass,
    _Aspect,
)

from datahub_hyperjoin.catalog.entities import Aspects, aspect_of
from datahub_hyperjoin.decision_file import WrittenDecision
from datahub_hyperjoin.tables import TableId


@dataclass(frozen=True, kw_only=True)
class DatasetFilter:
    """A filter for datasets by domain, container and tag."""

    domains: Sequence[str] = ()
    containers: Sequence[str] = ()
    tags: Sequence[str] = ()

    def __bool__(self) -> bool:
        return bool(self.domains or self.containers or self.tags)

    @property
    def aspects(self) -> tuple[str, ...]:
        """The names of the DataHub aspects that the filter reads."""
        kinds: dict[type[_Aspect], Sequence[str]] = {
            DomainsClass: self.domains,
            BrowsePathsV2Class: self.containers,
            GlobalTagsClass: self.tags,
        }
        return tuple(kind.ASPECT_NAME for kind, wanted in kinds.items() if wanted)

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
    instance: str | None = None

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
    instance: PlatformInstance
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
    folder: FolderNames | None = None  # None if the recipe has no local folder
    dataset_filter: DatasetFilter
    known_only: bool
    """Whether tables and columns that the catalog does not know are left out."""

    described: bool = False
    """Whether datasets that the run does not read get suggestions by names."""

    max_queries: int
    personal_tags: tuple[str, ...] = ()
    namespace: str
    renamed: Mapping[TableId, TableId] = field(default_factory=dict)
    decisions: Sequence[WrittenDecision] = ()
