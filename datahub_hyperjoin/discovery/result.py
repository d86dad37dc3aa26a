"""The result of a run: joins, their SQL, paths between tables, and decisions."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from datahub_hyperjoin.decision_file import (
    FiledDecision,
    WrittenDecision,
    read_damaged_lines,
)
from datahub_hyperjoin.discovery.errors import ForbiddenValuesError, NoSqlError, UnknownTableError
from datahub_hyperjoin.discovery.progress import RunWarning
from datahub_hyperjoin.discovery.records import DeclaredRecord, JoinRecord, record_of, record_of_key
from datahub_hyperjoin.findings import Findings
from datahub_hyperjoin.joins import CrosswalkJoin, Join, Statement, Verdict
from datahub_hyperjoin.joins.lists import list_best_joins
from datahub_hyperjoin.names import find_spelling, names_table
from datahub_hyperjoin.storage import refuse_foreign_page
from datahub_hyperjoin.tables import ColumnId, TableId
from datahub_hyperjoin.visible import visible
from datahub_hyperjoin.wording import number_of

if TYPE_CHECKING:
    import pandas as pd

    from datahub_hyperjoin.joins.paths import JoinPath, PathEnd

_SHOWN_ROWS = 25
"""Number of joins that a notebook shows."""


@dataclass(repr=False)
class FoundJoins:
    """The joins that a run found, best first.

    Iterating over it yields its joins, and `len` counts them. Notebooks show it as a table. All
    tables, records, files and pages list the joins in the order of `joins`, so that row n is
    `joins[n]`.
    Decisions about the joins change what a later run finds, and not this result.
    """

    findings: Findings
    """The results of the run, as `datahub ingest` publishes them."""

    warnings: tuple[RunWarning, ...] = ()
    """Problems that did not stop the run."""

    filed: Sequence[FiledDecision] = ()
    """The decisions that the run applied, and those that people made since."""

    file: Path | None = None
    """The file that holds the decisions; None if they are kept in memory only."""

    keeps_values: bool = True
    """Whether the run's `profile.keep_values` allows a page with values."""

    @property
    def joins(self) -> tuple[Join, ...]:
        """The joins, best first: in the order of `datahub_hyperjoin.joins.sort_joins`."""
        return self.findings.joins

    @property
    def crosswalks(self) -> tuple[CrosswalkJoin, ...]:
        """The joins through crosswalks, best first."""
        return self.findings.crosswalks

    @property
    def tables(self) -> tuple[str, ...]:
        """The names of the tables that were read."""
        return tuple(str(each.table.id) for each in self.findings.profiles if not each.fault)

    @property
    def not_read(self) -> Mapping[str, str]:
        """The names of tables and files that were not read, each with the reason."""
        return {str(each.table.id): each.fault for each in self.findings.profiles if each.fault}

    def __iter__(self) -> Iterator[Join]:
        return iter(self.joins)

    def __len__(self) -> int:
        return len(self.joins)

    def __str__(self) -> str:
        return self.as_text()

    def as_text(self, width: int | None = None) -> str:
        """Return the best joins as `print` shows them.

        Args:
            width: Number of characters of a line, which longer names exceed. Default: any.
        """
        found = self.findings
        return list_best_joins(
            found.joins, found.crosswalks, found.named, found.derived_counts, width=width
        )

    def __repr__(self) -> str:
        return f"<FoundJoins: {self._counts}>"

    def sql(self, join: Join | CrosswalkJoin) -> str:
        """Return the SQL of a join, which `records` says was run or only written.

        Args:
            join: One of `joins` or `crosswalks`.

        Returns:
            A `SELECT` statement that returns up to 100 rows of the join.

        Raises:
            NoSqlError: The join has no SQL that returns the rows of the evidence, or no SQL was
                written.
        """
        return self._statement(join).sql

    def anti_join(self, join: Join | CrosswalkJoin) -> str:
        """Return SQL for the rows of the referring table that have no partner.

        It compares values as the tested SQL of the join does, but was not run itself.

        Args:
            join: One of `joins` or `crosswalks`.

        Returns:
            A `SELECT` statement that returns up to 100 of the rows that the join drops, with or
            without a value.

        Raises:
            NoSqlError: The join has no SQL.
        """
        from datahub_hyperjoin.sql.write import write_anti_join  # noqa: PLC0415 (the parser)

        return write_anti_join(self._statement(join))

    def path(
        self, start: str, end: str, *, many_to_many: bool = False, min_joinability: float = 0.5
    ) -> "JoinPath":
        """Find the best path of joins between two tables; many-to-many paths only if allowed.

        Args:
            start: Name of the first table; its last part suffices if no other table has it. Or a
                column over which the path starts, as in `orders.billing_address`.
            end: Name of the last table, or a column of it.
            many_to_many: Whether rows of all tables may repeat, if there is no other path.
            min_joinability: Lowest joinability of all joins of the path together.

        Returns:
            The joins in order, and the table whose rows do not repeat.

        Raises:
            UnknownTableError: A name belongs to no table, or to several.
            UnknownColumnError: A table has no such column.
            NoPathError: No path of joins connects the tables, or the best one is improbable.
        """
        from datahub_hyperjoin.graphql import catalog_join, find_path  # noqa: PLC0415 (seconds)

        ends = self._end(start), self._end(end)
        return find_path(
            map(catalog_join, self.joins),
            *ends,
            many_to_many=many_to_many,
            min_joinability=min_joinability,
        )

    @property
    def decisions(self) -> tuple[WrittenDecision, ...]:
        """All decisions about joins, to pass to `find_joins` as its argument `decisions`."""
        return tuple(each.written for each in self.filed)

    def accept(self, join: Join | CrosswalkJoin, *, by: str = "", reason: str = "") -> None:
        """Accept a join: later runs always include it in their results.

        The decision is written to the file of decisions that `find_joins` was given. Without a
        file, it is kept in `decisions`.

        Args:
            join: One of `joins` or `crosswalks`.
            by: Who decides.
            reason: Why.

        Raises:
            UnknownTableError: The join is of another run.
            UnknownColumnError: A table of this run has no such column.
            FaultyDecisionsError: The file cannot be read, or the decision could not be read back.
            UnwritablePathError: The file cannot be written.
        """
        self._decide(join, Verdict.ACCEPTED, by=by, reason=reason)

    def reject(self, join: Join | CrosswalkJoin, *, by: str = "", reason: str = "") -> None:
        """Reject a join: later runs never suggest it.

        Args:
            join: One of `joins` or `crosswalks`.
            by: Who decides.
            reason: Why.

        Raises:
            UnknownTableError: The join is of another run.
            UnknownColumnError: A table of this run has no such column.
            FaultyDecisionsError: The file cannot be read, or the decision could not be read back.
            UnwritablePathError: The file cannot be written.
        """
        self._decide(join, Verdict.REJECTED, by=by, reason=reason)

    def undo(self, decided: Join | CrosswalkJoin | WrittenDecision) -> tuple[WrittenDecision, ...]:
        """Remove the decision about a join, if any.

        Args:
            decided: The join; or the decision itself, since no run finds a rejected join.

        Returns:
            The decisions that were removed; empty if nobody had decided about the join.

        Raises:
            UnknownTableError: The join is of another run.
            UnknownColumnError: A table of this run has no such column.
            FaultyDecisionsError: The file cannot be read.
            UnwritablePathError: The file cannot be written.
        """
        from datahub_hyperjoin.catalog.filed_decisions import without_decision  # noqa: PLC0415 (as below)

        filed = self._filed(decided, Verdict.REJECTED)
        before, after = self._change(lambda earlier: without_decision(earlier, filed, self._paths))
        kept = {*map(id, after)}
        return tuple(each.written for each in before if id(each) not in kept)

    def records(self) -> list[JoinRecord]:
        """Return each join as a dictionary of plain values, for data frames and JSON."""
        found = self.findings
        return [record_of(it, found.statements.get(it.pairs), found.types) for it in self.joins]

    def declared_records(self) -> list[DeclaredRecord]:
        """Return a dictionary for each foreign key without values to compare, after `records`."""
        return [record_of_key(join, self.findings.types) for join in self.findings.declared]

    def to_pandas(self) -> "pd.DataFrame":
        """Return the joins as a pandas data frame, one row per join.

        The columns are those of `JoinRecord`.
        """
        import pandas as pd  # noqa: PLC0415 (the command does without)

        return pd.DataFrame(self.records(), columns=[*JoinRecord.__annotations__])

    def to_html(self, path: str | Path | None = None, *, values: bool = False) -> str:
        """Return the HTML page of the joins.

        The page loads nothing from the network.

        Args:
            path: File to write the page to, too.
            values: Whether the page shows up to five values of each joined column, and five without
                a partner. Personal columns, and columns that join with them, show none. Only the
                owner of the file can read a page with values.

        Raises:
            ForbiddenValuesError: The run was told to keep no values.
            UnwritablePathError: The file holds something else than a page of joins.
        """
        if values and not self.keeps_values:
            raise ForbiddenValuesError.on_page()
        if path:
            refuse_foreign_page("path", Path(path))
        from datahub_hyperjoin.page import write_page  # noqa: PLC0415 (half a second)
        from datahub_hyperjoin.storage import temporary_folder  # noqa: PLC0415

        with temporary_folder() as folder:
            page = Path(path) if path else folder / "joins.html"
            write_page(
                page,
                self.findings,
                filed=self.filed,
                file=self.file.name if self.file else "decisions.csv",
                damaged=read_damaged_lines(self.file) if self.file else (),
                values=values,
            )
            return page.read_text(encoding="utf-8")

    def _repr_html_(self) -> str:
        """Return the best joins as an HTML table, for notebooks."""
        columns = ["left", "right", "role", "joinability", "shared_values", "cardinality"]
        shown = self.to_pandas()[columns].head(_SHOWN_ROWS)
        shown = shown.assign(**{side: shown[side].map(visible) for side in ("left", "right")})
        more = f"<p>and {len(self) - len(shown)} more</p>" if len(self) > len(shown) else ""
        return f"<p>{self._counts}</p>{shown.to_html(index=False)}{more}"

    def _statement(self, join: Join | CrosswalkJoin) -> Statement:
        if self and not self.findings.statements:
            raise NoSqlError.disabled()
        name = " and ".join(f"{left} = {right}" for left, right in join.pairs)
        statement = self.findings.statements.get(join.pairs)
        if statement is None:
            raise NoSqlError.of_other_run(name)
        if not statement.sql:
            raise NoSqlError.because(name, statement.reason)
        return statement

    def _decide(
        self, join: Join | CrosswalkJoin, verdict: Verdict, *, by: str, reason: str
    ) -> None:
        from datahub_hyperjoin.catalog.filed_decisions import with_decision  # noqa: PLC0415 (as below)

        new = self._filed(join, verdict, by=by, reason=reason)
        self._change(lambda earlier: with_decision(earlier, new, self._paths))

    def _filed(
        self,
        decided: Join | CrosswalkJoin | WrittenDecision,
        verdict: Verdict,
        *,
        by: str = "",
        reason: str = "",
    ) -> FiledDecision:
        """Return a decision about a join, with the tables that it names."""
        from datahub_hyperjoin.catalog.filed_decisions import (  # noqa: PLC0415 (most decide nothing)
            find_decided_tables,
            write_decision,
        )

        if isinstance(decided, WrittenDecision):
            written = decided
        else:
            ends = ((decided.left, decided.right),)
            columns = ends if isinstance(decided, CrosswalkJoin) else decided.pairs
            for table in {column.table for pair in columns for column in pair} - {*self._tables}:
                near = get_close_matches(table.name, self._names, n=3)
                raise UnknownTableError.named(table.name, near=near)
            known = [(self._spelled(left), self._spelled(right)) for left, right in columns]
            written = write_decision(tuple(known), self._tables, verdict, by=by, reason=reason)
        [filed] = find_decided_tables([written], self._tables)
        return filed

    def _spelled(self, column: ColumnId) -> ColumnId:
        """Return a column as its table spells it; nothing is checked of a table without columns."""
        from datahub_hyperjoin.explain.errors import UnknownColumnError  # noqa: PLC0415 (as above)

        paths = self._paths[column.table]
        path = find_spelling(column.path, paths)
        if paths and path not in paths:
            raise UnknownColumnError.of_table(path, str(column.table), known=paths)
        return replace(column, path=path)

    def _change(
        self, change: Callable[[Sequence[FiledDecision]], Sequence[FiledDecision]]
    ) -> tuple[Sequence[FiledDecision], Sequence[FiledDecision]]:
        """Change the current decisions, in the file of decisions if there is one.

        The decisions before and after the change are returned.
        """
        from datahub_hyperjoin.catalog.filed_decisions import (  # noqa: PLC0415 (as above)
            change_decisions,
            find_decided_tables,
        )

        if not self.file:
            before, after = self.filed, change(self.filed)
        else:
            before, after = change_decisions(
                self.file, lambda written: find_decided_tables(written, self._tables), change
            )
        self.filed = after
        return before, after

    @property
    def _tables(self) -> list[TableId]:
        return [each.table.id for each in self.findings.profiles]

    @cached_property
    def _paths(self) -> dict[TableId, list[str]]:
        return {
            each.table.id: [column.id.path for column in each.columns]
            for each in self.findings.profiles
        }

    @property
    def _counts(self) -> str:
        return f"{number_of(len(self), 'join')} of {number_of(len(self.tables), 'table')}"

    @cached_property
    def _names(self) -> dict[str, TableId]:
        return {str(each.table.id): each.table.id for each in self.findings.profiles}

    def _end(self, name: str) -> "PathEnd":
        """Find the table, or else the column, that a name refers to."""
        from datahub_hyperjoin.explain import find_profile, split_column_name  # noqa: PLC0415
        from datahub_hyperjoin.metadata.urns import plain_path  # noqa: PLC0415

        profiles = self.findings.profiles
        if self._matching(name) or not [*split_column_name(name, profiles)]:
            return self._table(name)
        column = find_profile(name, profiles).id
        return ColumnId(column.table, plain_path(column.path))

    def _table(self, name: str) -> TableId:
        matching = self._matching(name)
        if len(matching) > 1:
            raise UnknownTableError.shared(name, names=matching)
        if not matching:
            raise UnknownTableError.named(name, near=get_close_matches(name, self._names, n=3))
        return self._names[matching[0]]

    def _matching(self, name: str) -> list[str]:
        """Return the whole names of tables that `name` may mean; a whole name means one table."""
        if name in self._names:
            return [name]
        titles = [str(each.table.id) for each in self.findings.profiles if name == each.table.title]
        ends = [known for known in self._names if names_table(name, known)]
        return sorted({*titles, *ends})
