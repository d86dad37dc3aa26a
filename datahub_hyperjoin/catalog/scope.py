"""Value type for the part of the catalog that a run covers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from datahub_hyperjoin.catalog.dataset_filter import DatasetFilter
from datahub_hyperjoin.catalog.datasets import PlatformInstance
from datahub_hyperjoin.catalog.known_tables import FolderNames
from datahub_hyperjoin.decision_file import WrittenDecision
from datahub_hyperjoin.tables import TableId


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
