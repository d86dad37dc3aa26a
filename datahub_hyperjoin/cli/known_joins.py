"""Joins without a server, as a source of joins: of a file, or found in data."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from getpass import getuser
from pathlib import Path
from typing import TYPE_CHECKING

import click
from typing_extensions import override

from datahub_hyperjoin.catalog.filed_decisions import (
    change_decisions,
    find_decided_tables,
    joins_decided,
    with_decision,
    without_decision,
    write_decision,
)
from datahub_hyperjoin.cli.output import print_warnings
from datahub_hyperjoin.cli.sources import JoinSource
from datahub_hyperjoin.decision_file import FiledDecision, WrittenDecision, read_decision_file
from datahub_hyperjoin.graphql.find import choose_dataset, choose_join, choose_path_end
from datahub_hyperjoin.joins import (
    UNVERIFIED,
    Join,
    Published,
    RunSql,
    Statement,
    Verdict,
    best_first,
)
from datahub_hyperjoin.joins.path_search import ReadJoins, reader_of
from datahub_hyperjoin.joins.paths import PathEnd
from datahub_hyperjoin.metadata.relationships import catalog_join, columns_urn, join_urn
from datahub_hyperjoin.metadata.urns import dataset_urn, table_id
from datahub_hyperjoin.tables import ColumnId, DataType, TableId

if TYPE_CHECKING:
    from datahub_hyperjoin.export import DeclaredColumns


@dataclass(frozen=True)
class KnownJoins(JoinSource):
    """Joins in memory, and the file that keeps the decisions about them."""

    where: str
    found: Sequence[Join]
    """The joins, as the catalog would have them."""

    sql: Mapping[str, Statement]
    """The SQL of joins, by the URN of the join."""

    types: Mapping[ColumnId, DataType]
    """The types of columns; none if they are unknown."""

    titles: Mapping[TableId, str]
    """Short names of tables, also of those without a join."""

    file: Path
    """The file of decisions, which need not exist."""

    @override
    def writes_to(self) -> Path:
        return self.file

    @override
    def joins(self, *, hidden: bool = False) -> Sequence[Join]:
        return [join for join in self._joins if hidden or not join.is_hidden]

    @override
    def joins_of(
        self, dataset: str, *, hidden: bool = False, members: bool = False
    ) -> Sequence[Join]:
        if members:
            message = "--members needs DataHub, of which it reads the columns"
            raise click.UsageError(message)
        table = table_id(choose_dataset(dataset.strip(), self._named, where=self.where))
        joins = (join for join in self.joins(hidden=hidden) if table in join.tables)
        return best_first(join.seen_from(table) for join in joins)

    @override
    def find_join(self, name: str) -> Join:
        return choose_join(name, self._joins, where=self.where, titles=self.titles)

    @override
    def find_ends(self, names: Sequence[str]) -> list[PathEnd]:
        def columns_of(urn: str) -> Collection[str]:
            return self._paths.get(table_id(urn), ())

        return [
            choose_path_end(name, lambda _: self._named, columns_of, where=self.where)
            for name in names
        ]

    @override
    def reader(self) -> ReadJoins:
        return reader_of(self.joins())

    @override
    def declared(self, joins: Sequence[Join]) -> "DeclaredColumns":
        from datahub_hyperjoin.export import DeclaredColumns  # noqa: PLC0415 (only exports need it)

        return DeclaredColumns(types=self.types)

    @override
    def statements(self, joins: Sequence[Join]) -> dict[str, Statement]:
        return {join.urn: self.sql[join.urn] for join in joins if join.urn in self.sql}

    @override
    def decide(self, joins: Sequence[Join], verdict: Verdict, *, by: str | None, why: str) -> None:
        who = _user() if by is None else by
        new = [self._decision(join, verdict, by=who, why=why) for join in joins]

        def decided(earlier: Sequence[FiledDecision]) -> Sequence[FiledDecision]:
            for each in new:
                earlier = with_decision(earlier, each, self._paths)
            return earlier

        change_decisions(self.file, self._filed, decided)

    @override
    def undo(self, join: Join) -> Sequence[Verdict]:
        undone = self._decision(join, Verdict.REJECTED)
        before, after = change_decisions(
            self.file, self._filed, lambda earlier: without_decision(earlier, undone, self._paths)
        )
        kept = {*map(id, after)}
        removed = (each.written.verdict for each in before if id(each) not in kept)
        return tuple(dict.fromkeys(removed))

    def _decision(
        self, join: Join, verdict: Verdict, *, by: str = "", why: str = ""
    ) -> FiledDecision:
        written = write_decision(join.pairs, self._tables, verdict, by=by, reason=why)
        left, right = join.tables
        return FiledDecision(written=written, left=left, right=right)

    @cached_property
    def _joins(self) -> list[Join]:
        """The joins with the decisions of the file, and those that only the file names."""
        by_urn: dict[str, Join] = {join.urn: join for join in self.found}
        decisions: defaultdict[str, list[FiledDecision]] = defaultdict(list)
        for each in self._filed(read_decision_file(self.file, _warn)):
            for columns, _ in joins_decided([each], self._paths):
                decisions[columns_urn(columns)].append(each)
        for urn, filed in decisions.items():
            # Of contradictory lines, the rejection counts, which is last in alphabetical order.
            last = max(filed, key=lambda each: each.written.verdict.value)
            join = by_urn.get(urn) or _join_of(last)
            by_urn[urn] = _decided(join, last.written)
        return best_first(by_urn.values())

    def _filed(self, decisions: Sequence[WrittenDecision]) -> Sequence[FiledDecision]:
        """Find the tables of decisions, also those that only the decisions name."""
        # Without its only join, which a person rejected, the file of joins lacks a table.
        platform, *others = sorted({table.platform for table in self._tables})

        def placed(table: TableId | None, name: str) -> TableId | None:
            return table or (None if others else TableId(platform, name))

        return [
            replace(
                each,
                left=placed(each.left, each.written.left_table),
                right=placed(each.right, each.written.right_table),
            )
            for each in find_decided_tables(decisions, self._tables)
        ]

    @cached_property
    def _paths(self) -> Mapping[TableId, Collection[str]]:
        """The columns of each table, as far as they are known."""
        ends = (end for join in self.found for pair in join.pairs for end in pair)
        paths: defaultdict[TableId, set[str]] = defaultdict(set)
        for column in (*ends, *self.types):
            paths[column.table].add(column.path)
        return paths

    @cached_property
    def _tables(self) -> list[TableId]:
        return sorted({*self.titles, *(table for join in self.found for table in join.tables)})

    @cached_property
    def _named(self) -> list[tuple[str, str]]:
        """The URN and the title of each table, also of those that only decisions name."""
        tables = {*self._tables, *(table for join in self._joins for table in join.tables)}
        return [(dataset_urn(table), self.titles.get(table, "")) for table in sorted(tables)]


def _join_of(filed: FiledDecision) -> Join:
    """Return the join that a person decided about, of which nothing else is known."""
    [(left, right), *further] = filed.columns
    if left.table != filed.left:
        left, right, further = right, left, [(own, other) for other, own in further]
    published = Published(band=UNVERIFIED, has_score=False, has_role=False)
    join = Join(
        left=left,
        right=right,
        joinability=1.0,
        evidence=None,
        further=tuple(further),
        published=published,
    )
    named = replace(published, urn=join_urn(join), name=join.condition)
    return replace(join, published=named)


def _decided(join: Join, decision: WrittenDecision) -> Join:
    published = join.published or Published()
    reason = decision.reason or published.description
    verdicts = (decision.verdict,)
    noted = replace(published, description=reason, verdicts=verdicts)
    return replace(join.decided(decision.verdict), published=noted)


def _warn(title: str, message: str, context: str) -> None:
    del message  # its fix is written for users of recipes
    print_warnings([f"{title}: {context}"])


def _user() -> str:
    with suppress(OSError, KeyError, ImportError):  # a container may have no name of its user
        return getuser()
    return ""


def search_joins(sources: Sequence[str], decisions: Path, *, sql: bool) -> KnownJoins:
    """Search data for joins, as `hyperjoin find` does; write their SQL only if wanted."""
    from datahub_hyperjoin.discovery.progress import RunProgress  # noqa: PLC0415 (seconds)
    from datahub_hyperjoin.discovery.run import run_discovery  # noqa: PLC0415
    from datahub_hyperjoin.joins import lone_joins  # noqa: PLC0415

    found = run_discovery(
        sources,
        RunProgress(),
        sql=RunSql.NONE if sql else None,
        decisions=read_decision_file(decisions),  # whose faults are told with the joins
    )
    print_warnings([f"{warning.title}: {warning.context}" for warning in found.warnings])
    findings = found.findings
    joins = [*found.joins, *lone_joins(found.crosswalks, found.joins), *findings.named]
    statements = {
        join_urn(join): statement
        for join in joins
        if (statement := findings.statements.get(join.pairs)) and statement.sql
    }
    return KnownJoins(
        "the data",
        best_first(map(catalog_join, joins)),
        statements,
        findings.types,
        {each.table.id: each.table.title for each in findings.profiles},
        decisions,
    )
