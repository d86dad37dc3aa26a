"""The joins in DataHub, as a source of joins."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click
from datahub.ingestion.graph.client import DataHubGraph
from typing_extensions import override

from datahub_hyperjoin.cli.sources import JoinSource
from datahub_hyperjoin.graphql import (
    accept,
    all_joins,
    find_dataset,
    find_join,
    joins_of_dataset,
    reject,
    undo,
)
from datahub_hyperjoin.graphql.columns import decide_columns, find_columns
from datahub_hyperjoin.graphql.errors import THE_CATALOG, UnknownNameError
from datahub_hyperjoin.graphql.find import find_path_end
from datahub_hyperjoin.graphql.read import catalog_reader, statements_of_joins
from datahub_hyperjoin.joins import Join, Statement, Verdict
from datahub_hyperjoin.joins.path_search import ReadJoins
from datahub_hyperjoin.joins.paths import PathEnd
from datahub_hyperjoin.metadata.urns import dataset_urn

if TYPE_CHECKING:
    from datahub_hyperjoin.export import DeclaredColumns


@dataclass(frozen=True)
class CatalogJoins(JoinSource):
    """The joins in DataHub, which also keeps the decisions."""

    graph: DataHubGraph
    where: str = THE_CATALOG

    @override
    def writes_to(self) -> None:
        return None

    @override
    def joins(self, *, hidden: bool = False) -> Sequence[Join]:
        return all_joins(self.graph, hidden=hidden)

    @override
    def joins_of(self, dataset: str, *, hidden: bool = False) -> Sequence[Join]:
        return joins_of_dataset(self.graph, find_dataset(self.graph, dataset), hidden=hidden)

    @override
    def find_join(self, name: str) -> Join:
        return find_join(self.graph, name)

    @override
    def find_decidable(self, name: str) -> Join:
        try:
            return find_join(self.graph, name)
        except UnknownNameError:
            columns = find_columns(self.graph, name)
            if columns is None:
                raise
            # Of several relationships of the two columns, people choose by the URN.
            joins = joins_of_dataset(self.graph, dataset_urn(columns.left.table), hidden=True)
            if any({*join.pairs} & {*columns.pairs, *columns.reversed.pairs} for join in joins):
                raise
            return columns

    @override
    def find_ends(self, names: Sequence[str]) -> list[PathEnd]:
        return [find_path_end(self.graph, name) for name in names]

    @override
    def reader(self) -> ReadJoins:
        return catalog_reader(self.graph)

    @override
    def declared(self, joins: Sequence[Join]) -> "DeclaredColumns":
        from datahub_hyperjoin.export import read_declared  # noqa: PLC0415 (only exports need it)

        return read_declared(self.graph, joins)

    @override
    def statements(self, joins: Sequence[Join]) -> dict[str, Statement]:
        return statements_of_joins(self.graph, joins)

    @override
    def decide(self, joins: Sequence[Join], verdict: Verdict, *, by: str | None, why: str) -> None:
        if by is not None:
            message = "--by needs --in. DataHub records the owner of the token"
            raise click.UsageError(message)
        decide = accept if verdict is Verdict.ACCEPTED else reject
        for join in joins:
            if join.urn:
                decide(self.graph, join.urn, why=why)
            else:
                decide_columns(self.graph, join, verdict)

    @override
    def undo(self, join: Join) -> Sequence[Verdict]:
        return undo(self.graph, join.urn) if join.urn else decide_columns(self.graph, join, None)
