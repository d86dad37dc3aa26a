"""The tables of a run, with their metadata from DataHub."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from datahub_hyperjoin.catalog_facts import CatalogFacts
from datahub_hyperjoin.decision_file import FiledDecision
from datahub_hyperjoin.spellings import find_spelling
from datahub_hyperjoin.tables import ColumnId, Pair, Table, TableId

if TYPE_CHECKING:
    from datahub_hyperjoin.catalog.datasets import Dataset
    from datahub_hyperjoin.catalog.relationships import Relationship


@dataclass(frozen=True, kw_only=True)
class Catalog:
    """The tables of a run, with their metadata from DataHub."""

    tables: Sequence[Table]
    """The tables that the run reads."""

    facts: CatalogFacts = field(default_factory=CatalogFacts)
    """What the catalog says about the tables."""

    datasets: Mapping[TableId, "Dataset"] = field(default_factory=dict)
    """The dataset of each table that has one."""

    relationships: Mapping[str, "Relationship"] = field(default_factory=dict)
    """All relationships of the catalog, by URN."""

    rejected: Mapping[str, Pair] = field(default_factory=dict)
    """Relationships of earlier runs that people deleted, hid or rejected, by URN. They are recorded
    because DataHub hard-deletes hidden entities after some time."""

    listed: Sequence[tuple[ColumnId, ColumnId]] = ()
    """Rejected pairs that are stored at one of their columns, which is the first of the pair."""

    deleted: Sequence[Pair] = ()
    """Pairs of earlier runs whose relationships people have hard-deleted since the last run."""

    absent: frozenset[TableId] = frozenset()
    """Tables of earlier runs that this run does not read, although nobody removed them."""

    matched: Mapping[TableId, TableId] = field(default_factory=dict)
    """Maps a table to its dataset, for each table whose dataset has another name."""

    filed: Sequence[FiledDecision] = ()
    """The decisions in the file that the recipe names."""

    def field_path(self, column: ColumnId) -> ColumnId:
        """Replace a column's plain path with the field path that DataHub uses.

        Returns:
            The column unchanged if the catalog does not know it.
        """
        dataset = self.datasets.get(column.table)
        paths = dict(dataset.columns) if dataset else {}
        path = find_spelling(column.path, paths)
        return ColumnId(column.table, paths.get(path, path))
