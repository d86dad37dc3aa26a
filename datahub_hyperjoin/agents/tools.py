"""Tools with which agents look up joins, and decide about them."""

from typing import Annotated

from datahub.ingestion.graph.client import DataHubGraph
from pydantic import Field

from datahub_hyperjoin.agents.answers import (
    NO_SAFE_JOIN,
    answer_none_safe,
    assess_join,
    list_joins_of,
    suggest_safe_joins,
)
from datahub_hyperjoin.agents.columns import joins_of_named
from datahub_hyperjoin.agents.limit import Answer
from datahub_hyperjoin.agents.route import (
    answer_path,
    choose_among,
    choose_rival,
    explain_no_path,
    find_safe_path,
)
from datahub_hyperjoin.graphql import (
    CatalogJoin,
    accept,
    all_joins,
    find_dataset,
    find_join,
    joins_of_dataset,
    reject,
    undo,
)
from datahub_hyperjoin.graphql.join_sql import sql_of_joins
from datahub_hyperjoin.graphql.path_ends import find_path_end, table_of
from datahub_hyperjoin.graphql.safety import MIN_SCORE, reasons_unsafe
from datahub_hyperjoin.graphql.words import shorten
from datahub_hyperjoin.metadata.urns import table_id
from datahub_hyperjoin.wording import name_some

_LONGEST_NAME, _LONGEST_REASON = 2_000, 1_000
_MOST_WITH_SQL = 20
"""Maximum number of safe joins for which SQL is read; one answer has no room for more."""

_ITSELF = "`suggest_joins` with the same dataset as `other` lists its joins with itself"

_Name = Annotated[str, Field(max_length=_LONGEST_NAME)]
_Dataset = Annotated[_Name, Field(description="URN or name of a dataset")]
_Column = Annotated[_Name, Field(description="Column of the dataset; all columns by default")]
_End = Annotated[
    _Name,
    Field(
        description="URN or name of a dataset, or of a column over which the path must start or "
        "end, as in orders.billing_address"
    ),
]
_Join = Annotated[_Name, Field(description="A join as the tools list it, or its URN")]
_Skip = Annotated[int, Field(ge=0, description="Number of joins that earlier answers showed")]
_Why = Annotated[
    str, Field(min_length=1, max_length=_LONGEST_REASON, description="Reason that the user gave")
]


class JoinTools:
    """Tools with which agents look up joins, and decide about them.

    Joins are read from DataHub for every answer, so that a person's decision counts at once.
    """

    def __init__(self, graph: DataHubGraph, *, min_score: float = MIN_SCORE) -> None:
        self._graph = graph
        self._min_score = min_score

    def suggest_joins(
        self,
        dataset: _Dataset,
        column: _Column = "",
        other: Annotated[_Name, Field(description="Only joins with this dataset")] = "",
        skip: _Skip = 0,
    ) -> Answer:
        """List the safe joins of a dataset, best first.

        Each has its direction, cardinality, grain, share of matching rows and SQL. If none is safe,
        the answer says why.
        """
        name, joins = self._joins(dataset, column, other)
        if not joins:
            return _nothing(name)
        safe = [join for join in joins if not reasons_unsafe(join, min_score=self._min_score)]
        if not safe:
            return answer_none_safe(name, joins, min_score=self._min_score)
        statements = sql_of_joins(self._graph, safe[skip : skip + _MOST_WITH_SQL])
        return suggest_safe_joins(name, safe, statements, skip=skip)

    def joins_of_dataset(self, dataset: _Dataset, column: _Column = "", skip: _Skip = 0) -> Answer:
        """List all known joins of a dataset briefly, safe joins first.

        Each unsafe join has the reasons why it is not safe.
        """
        name, joins = self._joins(dataset, column)
        if not joins:
            return _nothing(name)
        return list_joins_of(name, joins, min_score=self._min_score, skip=skip)

    def find_join_path(
        self,
        start: _End,
        end: _End,
        using: Annotated[
            tuple[_Join, ...], Field(max_length=10, description="Joins that the user chose")
        ] = (),
        max_joins: Annotated[int | None, Field(ge=1, description="Longest path")] = None,
    ) -> Answer:
        """Find a safe way to join two datasets, directly or through other datasets.

        If the user means a certain column, name it: the path then starts or ends with a join over
        this column.

        The answer is a path with its grain and SQL, a choice that only the user can make, or the
        statement that no safe join is known. In the last case, do not join the datasets in another
        way.
        """
        known = all_joins(self._graph)
        first, last = (find_path_end(self._graph, name, known) for name in (start, end))
        if table_of(first) == table_of(last):
            return {"answer": NO_SAFE_JOIN, "why": f"both are {table_of(first)}. {_ITSELF}"}
        chosen = [find_join(self._graph, name) for name in using]
        unsafe = [join for join in chosen if reasons_unsafe(join, min_score=self._min_score)]
        if unsafe:
            return answer_none_safe("the joins in `using`", unsafe, min_score=self._min_score)
        ends = first, last
        joins = choose_among(known, ends, chosen)
        path = find_safe_path(joins, ends, min_score=self._min_score, most=max_joins)
        if path is None:
            return explain_no_path(joins, ends, min_score=self._min_score, most=max_joins)
        path = choose_rival(path, chosen)
        unused = [join.arrows for join in chosen if join.urn not in {it.urn for it in path.joins}]
        if unused:
            return {"answer": NO_SAFE_JOIN, "why": f"no safe path uses {name_some(unused)}"}
        statements = sql_of_joins(self._graph, path.joins)
        return answer_path(path, joins, statements, min_score=self._min_score)

    def explain_join(self, join: _Join) -> Answer:
        """Explain one join: its matching rows, evidence, SQL, decision and safety."""
        found = find_join(self._graph, join)
        statements = sql_of_joins(self._graph, [found])
        return assess_join(found, statements, min_score=self._min_score)

    def accept_join(self, join: _Join, why: _Why) -> Answer:
        """Record that the user accepts a join.

        Call this tool only if the user has decided so.
        """
        found = find_join(self._graph, join)
        accept(self._graph, found.urn, why=_unless_described(found, why))
        return _decided("accepted", found, why)

    def reject_join(self, join: _Join, why: _Why) -> Answer:
        """Record that the user rejects a join.

        DataHub then hides the join, and no later run suggests it.

        Call this tool only if the user has decided so.
        """
        found = find_join(self._graph, join)
        reject(self._graph, found.urn, why=_unless_described(found, why))
        return _decided("rejected", found, why)

    def undo_decision(self, join: _Join) -> Answer:
        """Remove the user's decision about a join, so that the next run decides again.

        A rejected join is shown in DataHub again. A reason that was stored stays.

        Call this tool only if the user has decided so.
        """
        found = find_join(self._graph, join)
        if not found.verdicts:
            return {"answer": "nobody has decided", "join": found.arrows}
        undo(self._graph, found.urn)
        return {"answer": "undone", "join": found.arrows}

    def _joins(self, dataset: str, column: str, other: str = "") -> tuple[str, list[CatalogJoin]]:
        """Return the name and the joins of the dataset or column that an agent asks about.

        If `other` is given, only the joins with that dataset are returned.
        """
        urn = find_dataset(self._graph, dataset)
        joins, name = joins_of_dataset(self._graph, urn), table_id(urn).name
        if column:
            joins, name = joins_of_named(joins, column), f"{name}.{column}"
        if other:
            table = table_id(find_dataset(self._graph, other))
            joins = [join for join in joins if join.right.table == table]
            name = f"{name} with {table}"
        return name, joins


def _nothing(name: str) -> Answer:
    return {"answer": NO_SAFE_JOIN, "of": name, "why": "the catalog has no join of it"}


def _unless_described(join: CatalogJoin, why: str) -> str:
    """Return the reason for a decision, or an empty text if the join already has a description.

    A reason is stored as the join's description, which must not replace an existing one.
    """
    return "" if join.description else why


def _decided(verdict: str, join: CatalogJoin, why: str) -> Answer:
    kept = {"description_kept": shorten(join.description)} if join.description else {"why": why}
    return {"answer": verdict, "join": join.arrows, **kept}
