"""Tools with which agents look up joins, and decide about them."""

from collections.abc import Callable, Collection, Iterable
from typing import Annotated

from datahub.ingestion.graph.client import DataHubGraph
from pydantic import Field

from datahub_hyperjoin.agents.answers import (
    NO_SAFE_JOIN,
    Answer,
    Asked,
    answer_none_safe,
    answer_nothing,
    assess_join,
    list_joins_of,
    suggest_safe_joins,
)
from datahub_hyperjoin.agents.path_answers import (
    answer_path,
    choose_rival,
    explain_no_path,
    find_safe_path,
    meant_by,
)
from datahub_hyperjoin.graphql import (
    accept,
    find_dataset,
    find_join,
    joins_of_dataset,
    reject,
    undo,
)
from datahub_hyperjoin.graphql.find import find_column, find_decidable, find_path_end
from datahub_hyperjoin.graphql.pairs import is_pair
from datahub_hyperjoin.graphql.read import catalog_reader, statements_of_joins
from datahub_hyperjoin.joins import MIN_SCORE, Join, is_safe, reasons_unsafe
from datahub_hyperjoin.joins.describe import describe, shorten
from datahub_hyperjoin.joins.paths import table_of
from datahub_hyperjoin.metadata.urns import table_id
from datahub_hyperjoin.tables import TableId
from datahub_hyperjoin.visible import visible
from datahub_hyperjoin.wording import name_some

_LONGEST_NAME, _LONGEST_REASON = 2_000, 1_000
_LONGEST_PATH = 6
"""Default limit of a path. Nobody means a longer one, and without a limit, the search for a path
that does not exist would read the whole catalog."""

_MOST_WITH_SQL = 20
"""Maximum number of safe joins for which SQL is read; one answer has no room for more."""

_NEXT_RUN = "it has no relationship yet: the next run reads the decision; no reason is stored"
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
JoinName = Annotated[_Name, Field(description="A join as the tools list it, or its URN")]
DecidedName = Annotated[
    _Name,
    Field(
        description="A join as the tools list it, its URN, or any two columns, as in "
        "orders.customer = customers.id"
    ),
]
_Skip = Annotated[int, Field(ge=0, description="Number of joins that earlier answers showed")]
Reason = Annotated[
    str, Field(min_length=1, max_length=_LONGEST_REASON, description="Reason that the user gave")
]


class JoinTools:
    """Tools with which agents look up joins, and decide about them.

    Joins are read from DataHub for every answer, so that a person's decision counts at once.
    """

    def __init__(self, graph: DataHubGraph, *, min_score: float = MIN_SCORE) -> None:
        self._graph, self._min_score = graph, min_score

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
        asked, joins = self._joins(dataset, column, other)
        if not joins:
            return answer_nothing(asked)
        safe = [join for join in joins if is_safe(join, min_score=self._min_score)]
        if not safe:
            return answer_none_safe(asked, joins, min_score=self._min_score)
        statements = statements_of_joins(self._graph, safe[skip : skip + _MOST_WITH_SQL])
        return suggest_safe_joins(asked, joins, statements, min_score=self._min_score, skip=skip)

    def joins_of_dataset(
        self,
        dataset: _Dataset,
        column: _Column = "",
        skip: _Skip = 0,
        *,
        members: Annotated[
            bool, Field(description="Also list further columns with values of the same set")
        ] = False,
    ) -> Answer:
        """List all known joins of a dataset briefly, safe joins first.

        Each unsafe join has the reasons why it is not safe.
        """
        asked, joins = self._joins(dataset, column, members=members)
        if not joins:
            return answer_nothing(asked)
        return list_joins_of(asked, joins, min_score=self._min_score, skip=skip)

    def find_join_path(
        self,
        start: _End,
        end: _End,
        using: Annotated[
            tuple[JoinName, ...], Field(max_length=10, description="Joins that the user chose")
        ] = (),
        max_joins: Annotated[int, Field(ge=1, description="Longest path")] = _LONGEST_PATH,
    ) -> Answer:
        """Find a safe way to join two datasets, directly or through other datasets.

        If the user means a certain column, name it: the path then starts or ends with a join over
        this column.

        The answer is a path with its grain and SQL, a choice that only the user can make, or the
        statement that no safe join is known. In the last case, do not join the datasets in another
        way.
        """
        first, last = (find_path_end(self._graph, name) for name in (start, end))
        if table_of(first) == table_of(last):
            return {"answer": NO_SAFE_JOIN, "why": f"both are {table_of(first)}. {_ITSELF}"}
        chosen = [find_join(self._graph, name) for name in using]
        unsafe = [join for join in chosen if reasons_unsafe(join, min_score=self._min_score)]
        if unsafe:
            return {
                **answer_none_safe(Asked(unsafe[0].left.table), unsafe, min_score=self._min_score),
                "of": "the joins in `using`",
            }
        ends, walked, least = (first, last), _Walked(self._graph), self._min_score
        meant = meant_by(ends, chosen)
        path = find_safe_path(walked.read, ends, meant, min_score=least, most=max_joins)
        if path is None:
            return explain_no_path(walked.read, ends, meant, min_score=least, most=max_joins)
        path = choose_rival(path, chosen)
        unused = [join.arrows for join in chosen if join.urn not in {it.urn for it in path.joins}]
        if unused:
            return {"answer": NO_SAFE_JOIN, "why": f"no safe path uses {name_some(unused)}"}
        statements = statements_of_joins(self._graph, path.joins)
        beside = filter(meant, walked.joins)
        return answer_path(path, beside, statements, min_score=self._min_score)

    def explain_join(self, join: JoinName) -> Answer:
        """Explain one join: its matching rows, evidence, SQL, decision and safety."""
        found = find_join(self._graph, join)
        statements = statements_of_joins(self._graph, [found])
        return assess_join(found, statements, min_score=self._min_score)

    def accept_join(self, join: DecidedName, why: Reason) -> Answer:
        """Record that the user accepts a join.

        Call this tool only if the user has decided so.
        """
        return self._decide(accept, "accepted", join, why)

    def question_about(self, join: str, why: str) -> str:
        """Return the question with which a person confirms that a join is accepted."""
        words = describe(find_decidable(self._graph, join))
        facts = (
            words[key] for key in ("cardinality", "rows", "compare", "decided") if key in words
        )
        return f"Accept the join {words['join']}? {'. '.join(facts)}. Reason: {visible(why)}"

    def reject_join(self, join: DecidedName, why: Reason) -> Answer:
        """Record that the user rejects a join.

        DataHub then hides the join, and no later run suggests it.

        Call this tool only if the user has decided so.
        """
        return self._decide(reject, "rejected", join, why)

    def undo_decision(self, join: JoinName) -> Answer:
        """Remove the user's decision about a join, so that the next run decides again.

        A rejected join is shown in DataHub again. A reason that was stored stays.

        Call this tool only if the user has decided so.
        """
        found = find_join(self._graph, join)
        if not found.verdicts:
            return {"answer": "nobody has decided", "join": found.arrows}
        undo(self._graph, found.urn)
        return {"answer": "undone", "join": found.arrows}

    def _decide(self, decide: Callable[..., None], decision: str, join: str, why: str) -> Answer:
        found = find_decidable(self._graph, join)
        if is_pair(found.urn):
            decide(self._graph, found.urn)
            return {"answer": decision, "join": found.arrows, "next": _NEXT_RUN}
        # A reason is stored as the join's description, which must not replace an existing one.
        kept = found.description
        decide(self._graph, found.urn, why="" if kept else why)
        words = {"description_kept": shorten(kept)} if kept else {"why": why}
        return {"answer": decision, "join": found.arrows, **words}

    def _joins(
        self, dataset: str, column: str, other: str = "", *, members: bool = False
    ) -> tuple[Asked, list[Join]]:
        """Return what an agent asks about, and its joins.

        If `other` is given, only the joins with that dataset are returned.
        """
        urn = find_dataset(self._graph, dataset)
        joins, table = joins_of_dataset(self._graph, urn, members=members), table_id(urn)
        path = find_column(self._graph, urn, column, joins) if column else ""
        if path:
            joins = [join for join in joins if path in join.paths_in(table)]
        with_table = table_id(find_dataset(self._graph, other)) if other else None
        if with_table:
            joins = [join for join in joins if join.right.table == with_table]
        return Asked(table, path, with_table), joins


class _Walked:
    """The joins of the tables on the way of a path, each read once."""

    def __init__(self, graph: DataHubGraph) -> None:
        self._read = catalog_reader(graph)
        self._joins: dict[str, Join] = {}
        self._tables: set[TableId] = set()

    def read(self, tables: Collection[TableId]) -> Iterable[Join]:
        """Return the joins of tables, as a search of paths reads them."""
        self._joins |= {join.urn: join for join in self._read({*tables} - self._tables)}
        self._tables |= {*tables}
        return [join for join in self._joins.values() if not {*tables}.isdisjoint(join.tables)]

    @property
    def joins(self) -> Iterable[Join]:
        """The joins that were read."""
        return self._joins.values()
