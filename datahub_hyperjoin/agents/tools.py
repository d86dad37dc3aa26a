"""Tools with which agents look up joins, and decide about them."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from itertools import accumulate
from operator import or_
from typing import Annotated

from datahub.ingestion.graph.client import DataHubGraph
from pydantic import Field

from datahub_hyperjoin.agents.answers import (
    ASK,
    CHOOSE,
    NO_SAFE_JOIN,
    Answer,
    Statements,
    add_entries,
    answer_none_safe,
    assess_join,
    joins_of_named,
    list_joins_of,
    list_with_reasons,
    sql_of,
    suggest_safe_joins,
)
from datahub_hyperjoin.graphql import (
    JoinPath,
    accept,
    all_joins,
    find_dataset,
    find_join,
    find_path,
    joins_of_dataset,
    reject,
    undo,
)
from datahub_hyperjoin.graphql.find import find_path_end
from datahub_hyperjoin.graphql.read import sql_of_joins
from datahub_hyperjoin.joins import MIN_SCORE, Join, doubts, is_safe, reasons_unsafe
from datahub_hyperjoin.joins.describe import describe, describe_grain, shorten, summarize
from datahub_hyperjoin.joins.errors import NoPathError
from datahub_hyperjoin.joins.paths import PathEnd, fits_end, table_of
from datahub_hyperjoin.joins.safety import leads_from_key, leads_to_key
from datahub_hyperjoin.metadata.urns import table_id
from datahub_hyperjoin.wording import name_some

# A path may have to start or end with a join over a column that the user means.

_OTHER_COLUMNS = "Ask the user whether other columns are meant; then repeat without the column"

_OTHER_ROWS = "several paths of as few joins give other rows than each other"
_CHOOSE_PATH = "Ask the user which one is meant; then repeat with `using` and a join of this path"

_IN_A_STEP = ("join", "cardinality", "rows", "compare", "decided")
"""What an agent has to know of each join of a path."""

_MOST_RIVALS = 3
"""Maximum number of unsafe joins that an answer names beside a path."""

Ends = tuple[PathEnd, PathEnd]


def find_safe_path(
    joins: Sequence[Join], ends: Ends, *, min_score: float, most: int | None = None
) -> JoinPath | None:
    """Find the best safe path of joins between two tables, with at most `most` joins."""
    # The rows of one table do not repeat along a safe path. Many joins that are probably right make
    # a path that is probably wrong, so the path as a whole needs the joinability of a safe join.
    trusted = [join for join in joins if not doubts(join, min_score=min_score)]
    try:
        path = find_path(trusted, *ends, most=most, min_joinability=min_score)
    except NoPathError:
        return None
    rivals = tuple(rival for rival in path.rivals if is_safe(*rival.joins, min_score=min_score))
    safe = is_safe(*path.joins, min_score=min_score)
    return replace(path, rivals=rivals) if safe else None


def choose_rival(path: JoinPath, chosen: Collection[Join]) -> JoinPath:
    """Return the one of a path and its rivals that uses all joins that the user chose."""
    urns, paths = {join.urn for join in chosen}, (path, *path.rivals)
    fitting = [each for each in paths if urns.issubset(join.urn for join in each.joins)]
    return replace(fitting[0], rivals=tuple(fitting[1:])) if fitting else path


def choose_among(joins: Sequence[Join], ends: Ends, chosen: Collection[Join]) -> list[Join]:
    """Return the joins that the user may mean."""
    # Where the user named a column, joins of its table over other columns are left out. Where the
    # user chose a join between two tables, the other joins between them are.
    urns = {join.urn for join in chosen}
    tables = {frozenset(join.tables) for join in chosen}
    return [
        join
        for join in joins
        if all(fits_end(join, end) for end in ends)
        and (join.urn in urns or frozenset(join.tables) not in tables)
    ]


def answer_path(
    path: JoinPath, joins: Sequence[Join], statements: Statements, *, min_score: float
) -> Answer:
    """Build the answer that describes a safe path, or that asks the user to choose."""
    # The user chooses if several safe joins connect the same datasets, or if several safe paths
    # have as few joins. The description also lists unsafe references among `joins` that the user
    # may mean instead.
    if path.rivals:
        rows = [path.grain_in_words, *map(path.difference_in_words, path.rivals)]
        arrows = (each.arrows for each in (path, *path.rivals))
        paths = [{"path": each, "rows": of} for each, of in zip(arrows, rows, strict=True)]
        answer = {"answer": CHOOSE, "why": _OTHER_ROWS, "next": _CHOOSE_PATH}
        return add_entries(answer, "paths", paths)
    choices = [
        join for step in path.steps if step.alternatives for join in (step.join, *step.alternatives)
    ]
    if choices:
        answer = {
            "answer": CHOOSE,
            "why": "several joins of the same datasets give other rows than each other",
            "next": "Ask the user which one is meant; then repeat with `using`",
        }
        return add_entries(answer, "choices", list_with_reasons(choices, min_score=min_score))
    unsafe = list_with_reasons(_doubtful_rivals(path, joins, min_score), min_score=min_score)
    return {
        "answer": "safe path",
        "datasets": [table.name for table in path.tables],
        "grain": describe_grain(path.joins),
        "joinability": f"{path.strength:.2f} for all joins together",
        "joins": [
            {key: words for key, words in describe(join).items() if key in _IN_A_STEP}
            for join in path.joins
        ],
        **sql_of(path.joins, statements),
        **({"not_used": unsafe} if unsafe else {}),
    }


def _doubtful_rivals(path: JoinPath, joins: Sequence[Join], min_score: float) -> list[Join]:
    """List unsafe references that the user may mean instead of a path."""
    # They connect the same two tables as a join of the path, or the two ends of the path.
    tables = {frozenset(join.tables) for join in path.joins}
    tables.add(frozenset((path.tables[0], path.tables[-1])))
    rivals = (
        join
        for join in joins
        if frozenset(join.tables) in tables and join.open and join.role.is_directed
    )
    return [join for join in rivals if reasons_unsafe(join, min_score=min_score)][:_MOST_RIVALS]


def explain_no_path(
    joins: Sequence[Join], ends: Ends, *, min_score: float, most: int | None = None
) -> Answer:
    """Explain why no safe path of joins connects two datasets, and what would help."""
    start, end = ends
    answer: Answer = {"answer": NO_SAFE_JOIN, "of": f"{start} and {end}"}
    try:
        path = find_path(joins, start, end, most=most, many_to_many=True, min_joinability=0)
    except NoPathError:
        limit = f" of at most {most} joins" if most else ""
        if any(table_of(end) != end for end in ends):
            why = f"no path{limit} over the named columns connects these datasets"
            return {**answer, "why": why, "next": _OTHER_COLUMNS}
        return {**answer, "why": f"no path{limit} connects these datasets"}
    unsafe = [join for join in path.joins if reasons_unsafe(join, min_score=min_score)]
    if unsafe:
        answer |= {"why": "the best path needs joins that are not safe", "next": ASK}
        return add_entries(answer, "unsafe", list_with_reasons(unsafe, min_score=min_score))
    if not path.keeps_grain:
        return {**answer, **_repeating(path)}
    why = (
        f"the best path has {len(path.joins)} joins, and a joinability of only "
        f"{path.strength:.2f} for all of them together"
    )
    doubted = [summarize(join) for join in path.joins if not join.is_confirmed]
    return {**answer, "why": why, "next": ASK, "joins": doubted}


def _repeating(path: JoinPath) -> Answer:
    """Explain why a path repeats rows, although each single join is safe."""
    led_to_key = list(accumulate(map(leads_to_key, path.joins), or_))
    shared = [
        join.left.table
        for join, after in zip(path.joins[1:], led_to_key, strict=False)
        if after and leads_from_key(join)
    ]
    via = ", ".join(table.name for table in shared)
    return {
        "why": f"all rows of both datasets that share a row of {via} would be paired",
        "grain": describe_grain(path.joins),
        "next": f"Aggregate both datasets to one row for each row of {via} before joining them",
        "joins": [summarize(join) for join in path.joins],
    }


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
        return self._decide(accept, "accepted", join, why)

    def reject_join(self, join: _Join, why: _Why) -> Answer:
        """Record that the user rejects a join.

        DataHub then hides the join, and no later run suggests it.

        Call this tool only if the user has decided so.
        """
        return self._decide(reject, "rejected", join, why)

    def undo_decision(self, join: _Join) -> Answer:
        """Remove the user's decision about a join, so that the next run decides again.

        A rejected join is shown in DataHub again. A reason that was stored stays.

        Call this tool only if the user has decided so.
        """
        found = find_join(self._graph, join)
        if not (found.published and found.published.verdicts):
            return {"answer": "nobody has decided", "join": found.arrows}
        undo(self._graph, found.urn)
        return {"answer": "undone", "join": found.arrows}

    def _decide(self, decide: Callable[..., None], decision: str, join: str, why: str) -> Answer:
        found = find_join(self._graph, join)
        # A reason is stored as the join's description, which must not replace an existing one.
        kept = found.description
        decide(self._graph, found.urn, why="" if kept else why)
        words = {"description_kept": shorten(kept)} if kept else {"why": why}
        return {"answer": decision, "join": found.arrows, **words}

    def _joins(self, dataset: str, column: str, other: str = "") -> tuple[str, list[Join]]:
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
