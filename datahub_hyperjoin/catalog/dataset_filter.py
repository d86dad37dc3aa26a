"""Which datasets a run is about, by what people filed them under."""

from collections.abc import Sequence
from dataclasses import dataclass

from datahub.metadata.schema_classes import (
    BrowsePathsV2Class,
    DomainsClass,
    GlobalTagsClass,
)

from datahub_hyperjoin.catalog.bulk import Aspects, aspect_of


@dataclass(frozen=True, kw_only=True)
class DatasetFilter:
    """Domains, containers and tags of which a dataset must have one each; none asks for nothing."""

    domains: Sequence[str] = ()
    """Urns of domains, or their ids."""

    containers: Sequence[str] = ()
    """Urns of containers, or their ids: databases, schemas, folders, near or far above."""

    tags: Sequence[str] = ()
    """Urns of tags, or their names."""

    def __bool__(self) -> bool:
        return bool(self.domains or self.containers or self.tags)

    @property
    def aspects(self) -> tuple[str, ...]:
        """Names of the aspects that tell."""
        return tuple(
            aspect.ASPECT_NAME
            for aspect, asked in (
                (DomainsClass, self.domains),
                (BrowsePathsV2Class, self.containers),
                (GlobalTagsClass, self.tags),
            )
            if asked
        )

    def holds(self, aspects: Aspects) -> bool:
        """Whether a dataset is one of those.

        Args:
            aspects: What is known of it.

        Returns:
            Always true if nothing is asked for.
        """
        domains = aspect_of(aspects, DomainsClass)
        above = aspect_of(aspects, BrowsePathsV2Class)
        tags = aspect_of(aspects, GlobalTagsClass)
        return (
            _meet("domain", self.domains, domains.domains if domains else ())
            and _meet(
                "container", self.containers, [one.urn for one in above.path] if above else ()
            )
            and _meet("tag", self.tags, [one.tag for one in tags.tags] if tags else ())
        )


def _meet(kind: str, asked: Sequence[str], found: Sequence[str | None]) -> bool:
    prefix = f"urn:li:{kind}:"
    urns = {one if one.startswith(prefix) else prefix + one for one in asked}
    return not urns or not urns.isdisjoint(found)
