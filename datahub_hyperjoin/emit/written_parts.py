"""Parts of a written state: lineage edges, and the columns listed under each glossary term."""

from collections.abc import Callable
from typing import NamedTuple

from datahub.metadata.urns import SchemaFieldUrn


class WrittenEdge(NamedTuple):
    """A lineage edge between two columns."""

    upstream: str
    """URN of the upstream column."""

    downstream: str
    """URN of the downstream column."""

    adds_table: bool
    """Whether this source also wrote the edge between the datasets of the two columns."""

    @property
    def datasets(self) -> tuple[str, str]:
        """The URNs of the upstream and the downstream dataset."""
        return dataset_of_column(self.upstream), dataset_of_column(self.downstream)


def dataset_of_column(column: str) -> str:
    """Return the URN of a column's dataset."""
    return SchemaFieldUrn.from_string(column).parent


def united_terms(one: dict[str, list[str]], other: dict[str, list[str]]) -> dict[str, list[str]]:
    """Merge two maps, each from the URN of a glossary term to the URNs of its columns."""
    return {urn: [*one.get(urn, ()), *other.get(urn, ())] for urn in one.keys() | other.keys()}


def filtered_terms(
    terms: dict[str, list[str]], keep: Callable[[str], bool]
) -> dict[str, list[str]]:
    """Drop the columns that fail a condition, then drop the terms that have no columns left."""
    kept = {urn: [*filter(keep, columns)] for urn, columns in terms.items()}
    return {urn: columns for urn, columns in kept.items() if columns}
