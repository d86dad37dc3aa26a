"""Filter datasets by domain, container and tag."""

from collections.abc import Sequence
from dataclasses import dataclass

from datahub.metadata.schema_classes import (
    BrowsePathsV2Class,
    DomainsClass,
    GlobalTagsClass,
)

from datahub_hyperjoin.catalog.entities import Aspects, aspect_of


@dataclass(frozen=True, kw_only=True)
class DatasetFilter:
    """A filter for datasets by domain, container and tag.

    A dataset must match each criterion that is set. An empty filter keeps all datasets.
    """

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
