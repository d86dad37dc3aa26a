"""Find a safe path of joins between two datasets, or explain why no safe path exists.

A path may have to start or end with a join over a column that the user means.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import accumulate
from operator import or_

from datahub_hyperjoin.agents.answers import (
    ASK,
    CHOOSE,
    NO_SAFE_JOIN,
    Statements,
    list_with_reasons,
    sql_of,
)
from datahub_hyperjoin.agents.limit import Answer, add_entries
from datahub_hyperjoin.graphql import CatalogJoin, JoinPath, find_path
from datahub_hyperjoin.graphql.errors import NoPathError
from datahub_hyperjoin.graphql.path_ends import PathEnd, fits_end, table_of
from datahub_hyperjoin.graphql.safety import reasons_unsafe, reasons_unsafe_in_path
from datahub_hyperjoin.graphql.steps import leads_from_key, leads_to_key
from datahub_hyperjoin.graphql.words import describe_join, grain_in_words, summarize_join

_OTHER_COLUMNS = "Ask the user whether other columns are meant; then repeat without the column"

_OTHER_ROWS = "several paths of as few joins give other rows than each other"
_CHOOSE_PATH = "Ask the user which one is meant; then repeat with `using` and a join of this path"

_IN_A_STEP = ("join", "cardinality", "rows", "compare", "decided")
"""What an agent has to know of each join of a path."""

_MOST_RIVALS = 3
"""Maximum number of unsafe joins that an answer names beside a path."""

Ends = tuple[PathEnd, PathEnd]


def find_safe_path(
    joins: Sequence[CatalogJoin], ends: Ends, *, min_score: float, most: int | None = None
) -> JoinPath | None:
    """Find the best safe path of joins between two tables, with at most `most` joins.

    The rows of one table do not repeat along a safe path. Many joins that are probably right make a
    path that is probably wrong, so the path as a whole needs the joinability of a safe join.

    Args:
        ends: The first and the last table, or columns of them.
        min_score: Lowest joinability of a safe path, and of each join that nobody confirmed.
        most: Maximum number of joins; None for no limit.
    """
    trusted = [join for join in joins if not reasons_unsafe_in_path(join, min_score=min_score)]
    try:
        path = find_path(trusted, *ends, most=most, min_joinability=min_score)
    except NoPathError:
        return None
    rivals = tuple(rival for rival in path.rivals if rival.is_safe)
    return replace(path, rivals=rivals) if path.is_safe else None


def choose_rival(path: JoinPath, chosen: Collection[CatalogJoin]) -> JoinPath:
    """Return the one of a path and its rivals that uses all joins that the user chose.

    Returns:
        The best of those that use them, with the others as its rivals; the path itself if none
        does.
    """
    urns = {join.urn for join in chosen}
    fitting = [
        each for each in (path, *path.rivals) if urns.issubset(join.urn for join in each.joins)
    ]
    if not fitting:
        return path
    return replace(fitting[0], rivals=tuple(fitting[1:]))


def choose_among(
    joins: Sequence[CatalogJoin], ends: Ends, chosen: Collection[CatalogJoin]
) -> list[CatalogJoin]:
    """Return the joins that the user may mean.

    Where the user named a column, joins of its table over other columns are left out. Where the
    user chose a join between two tables, the other joins between them are.

    Args:
        ends: The first and the last table, or columns of them.
    """
    urns = {join.urn for join in chosen}
    tables = {frozenset(join.tables) for join in chosen}
    return [
        join
        for join in joins
        if all(fits_end(join, end) for end in ends)
        and (join.urn in urns or frozenset(join.tables) not in tables)
    ]


def answer_path(
    path: JoinPath, joins: Sequence[CatalogJoin], statements: Statements, *, min_score: float
) -> Answer:
    """Build the answer that describes a safe path, or that asks the user to choose.

    The user chooses if several safe joins connect the same datasets, or if several safe paths have
    as few joins. The description also lists unsafe references among `joins` that the user may mean
    instead.
    """
    if path.rivals:
        rivals = [
            {"path": each.arrows, "rows": path.difference_in_words(each)} for each in path.rivals
        ]
        paths = [{"path": path.arrows, "rows": path.grain_in_words}, *rivals]
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
        "grain": grain_in_words(path),
        "joinability": f"{path.strength:.2f} for all joins together",
        "joins": [_describe_step(join) for join in path.joins],
        **sql_of(path.joins, statements),
        **({"not_used": unsafe} if unsafe else {}),
    }


def _describe_step(join: CatalogJoin) -> Answer:
    described = describe_join(join)
    return {key: described[key] for key in _IN_A_STEP if key in described}


def _doubtful_rivals(
    path: JoinPath, joins: Sequence[CatalogJoin], min_score: float
) -> list[CatalogJoin]:
    """List unsafe references that the user may mean instead of a path.

    They connect the same two tables as a join of the path, or the two ends of the path.
    """
    tables = {frozenset(join.tables) for join in path.joins}
    tables.add(frozenset((path.tables[0], path.tables[-1])))
    rivals = (
        join
        for join in joins
        if frozenset(join.tables) in tables and join.open and join.likely_role.is_directed
    )
    return [join for join in rivals if reasons_unsafe(join, min_score=min_score)][:_MOST_RIVALS]


def explain_no_path(
    joins: Sequence[CatalogJoin], ends: Ends, *, min_score: float, most: int | None = None
) -> Answer:
    """Explain why no safe path of joins connects two datasets, and what would help.

    Args:
        ends: The first and the last table, or columns of them.
        min_score: Lowest joinability of a safe path, and of each join that nobody confirmed.
        most: Maximum number of joins; None for no limit.
    """
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
    return {**answer, **(_improbable(path) if path.is_safe else _repeating(path))}


def _improbable(path: JoinPath) -> Answer:
    """Explain that the joinability of a whole path is too low, although each join is safe.

    The answer lists the joins that a person could confirm.
    """
    return {
        "why": f"the best path has {len(path.joins)} joins, and a joinability of only "
        f"{path.strength:.2f} for all of them together",
        "next": ASK,
        "joins": [summarize_join(join) for join in path.joins if not join.is_confirmed],
    }


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
        "grain": grain_in_words(path),
        "next": f"Aggregate both datasets to one row for each row of {via} before joining them",
        "joins": [summarize_join(join) for join in path.joins],
    }
