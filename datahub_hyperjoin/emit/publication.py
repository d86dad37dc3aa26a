"""The joins of a run, and what is written of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from datahub_hyperjoin.emit.config import EmitConfig
from datahub_hyperjoin.emit.queries import query_of
from datahub_hyperjoin.joins import CrosswalkJoin, Join, JoinedColumns, Statement
from datahub_hyperjoin.metadata.urns import JOIN_OVERVIEW, document_urn
from datahub_hyperjoin.tables import ColumnId, TableId


@dataclass(frozen=True, kw_only=True)
class Publication:
    """The joins to write, and facts about their tables.

    Columns have the field paths of the catalog.
    """

    joins: Sequence[Join]
    """Verified joins with their evidence, best first."""

    ranks: Mapping[tuple[ColumnId, ColumnId], int] = field(default_factory=dict)
    """The rank of each suggested partner of a column."""

    titles: Mapping[TableId, str]
    """For each table, the name that users know."""

    model_version: str
    """Version of the model that suggested the joins."""

    statements: Mapping[JoinedColumns, Statement] = field(default_factory=dict)
    """The SQL of joins, or the reasons why they have none."""

    implied: frozenset[JoinedColumns] = frozenset()
    """Joins that the other joins of the same value domain imply. Only the properties of columns
    list these joins."""

    crosswalks: Sequence[CrosswalkJoin] = ()
    """Joins in two steps, best first."""

    unread: frozenset[TableId] = frozenset()
    """Tables that this run did not read. Their metadata is not withdrawn."""

    described: frozenset[TableId] = frozenset()
    """Tables that this run did not read, but whose joins it judged by names."""

    shared: Sequence[Join] = ()
    """Joins that only other pipelines publish. This run also lists them in properties of its
    columns and datasets."""

    now: int = 0
    """Time of writing, in milliseconds since 1970. Metadata that does not change keeps its time."""

    @property
    def linking(self) -> list[Join]:
        """The joins that are not implied by other joins.

        Each of them is written as metadata of its own.
        """
        return [join for join in self.joins if join.pairs not in self.implied]

    @property
    def tables(self) -> frozenset[TableId]:
        """The tables that take part in joins."""
        return frozenset(end.table for join in self.joins for end in (join.left, join.right))

    def shown_by(self, config: EmitConfig) -> frozenset[str]:
        """Return the URNs of the queries and documents that `config` enables for these joins.

        Args:
            config: The layers to write.
        """
        joins = [*self.joins, *(join.as_join for join in self.crosswalks)] if config.queries else ()
        tables = self.tables if config.documents else ()
        guides = [*map(document_urn, tables), *([JOIN_OVERVIEW] if tables else ())]
        return frozenset([*map(query_of, joins), *guides])
