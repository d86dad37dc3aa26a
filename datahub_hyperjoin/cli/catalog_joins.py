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
from datahub_hyperjoin.graphql.errors import THE_CATALOG
from datahub_hyperjoin.graphql.find import find_decidable, find_path_end
from datahub_hyperjoin.graphql.pairs import is_pair
from datahub_hyperjoin.graphql.read import catalog_reader, statements_of_joins
from datahub_hyperjoin.joins import Join, Statement, Verdict
from datahub_hyperjoin.joins.path_search import ReadJoins
from datahub_hyperjoin.joins.paths import PathEnd

if TYPE_CHECKING:
    from datahub_hyperjoin.export import DeclaredColumns

_NO_REASON = "The reason is not stored: only a join that a run has written has a description"


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
    def joins_of(
        self, dataset: str, *, hidden: bool = False, members: bool = False
    ) -> Sequence[Join]:
        urn = find_dataset(self.graph, dataset)
        return joins_of_dataset(self.graph, urn, hidden=hidden, members=members)

    @override
    def find_join(self, name: str) -> Join:
        return find_join(self.graph, name)

    @override
    def find_decidable(self, name: str) -> Join:
        return find_decidable(self.graph, name)

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
            decide(self.graph, join.urn, why=why)
        if why and any(is_pair(join.urn) for join in joins):
            click.echo(_NO_REASON, err=True)

    @override
    def undo(self, join: Join) -> Sequence[Verdict]:
        return undo(self.graph, join.urn)
