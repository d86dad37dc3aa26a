"""Find the path of joins that an agent may use, and build the answers about it."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from itertools import accumulate, pairwise
from operator import or_

from datahub_hyperjoin.agents.answers import (
    ASK,
    CHOOSE,
    IN_A_STEP,
    NO_SAFE_JOIN,
    Answer,
    ShortNames,
    Statements,
    add_entries,
    add_unsafe,
    doubtful_rivals,
    in_short,
    legends_of,
    list_with_reasons,
    sql_of,
    with_tables,
)
from datahub_hyperjoin.joins import Join, doubts, is_safe, reasons_unsafe
from datahub_hyperjoin.joins.describe import describe_grain, summarize
from datahub_hyperjoin.joins.errors import NoPathError
from datahub_hyperjoin.joins.path_search import ReadJoins
from datahub_hyperjoin.joins.paths import JoinPath, PathEnd, fits_end, table_of, walk
from datahub_hyperjoin.joins.safety import grain_of, leads_from_key, leads_to_key
from datahub_hyperjoin.tables import ColumnId, TableId

_OTHER_COLUMNS = "Ask the user whether other columns are meant; then repeat without the column"

_OTHER_ROWS = "several paths of as few joins give other rows than each other"
_CHOOSE_PATH = "Ask the user which one is meant; then repeat with `using` and a join of this path"

Ends = tuple[PathEnd, PathEnd]
"""A path may have to start or end with a join over a column that the user means."""


def meant_by(ends: Ends, chosen: Collection[Join]) -> Callable[[Join], bool]:
    """Return whether the user may mean a join, as a function.

    Where the user named a column, joins of its table over other columns are left out. Where the
    user chose a join between two tables, the other joins between them are.
    """
    urns = {join.urn for join in chosen}
    tables = {frozenset(join.tables) for join in chosen}
    return lambda join: (
        all(fits_end(join, end) for end in ends)
        and (join.urn in urns or frozenset(join.tables) not in tables)
    )


def find_safe_path(
    read: ReadJoins,
    ends: Ends,
    meant: Callable[[Join], bool],
    *,
    min_score: float,
    most: int | None = None,
) -> JoinPath | None:
    """Find the best safe path of joins between two tables, with at most `most` joins."""
    # The rows of one table do not repeat along a safe path. Many joins that are probably right make
    # a path that is probably wrong, so the path as a whole needs the joinability of a safe join.
    try:
        path = walk(
            lambda tables: (
                join
                for join in read(tables)
                if meant(join) and not doubts(join, min_score=min_score)
            ),
            *ends,
            most=most,
            min_joinability=min_score,
        )
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


def answer_path(
    path: JoinPath, joins: Iterable[Join], statements: Statements, *, min_score: float
) -> Answer:
    """Build the answer that describes a safe path, or that asks the user to choose.

    The user chooses if several safe joins connect the same datasets, or if several safe paths have
    as few joins. The description also lists unsafe references among `joins` that the user may mean
    instead.
    """
    if path.rivals:
        return _choose_path(path)
    choices = [
        join for step in path.steps if step.alternatives for join in (step.join, *step.alternatives)
    ]
    rivals = doubtful_rivals(path.joins, joins, min_score)
    names = ShortNames([*path.joins, *choices, *rivals])
    if choices:
        answer: Answer = {
            "answer": CHOOSE,
            "why": "several joins of the same datasets give other rows than each other",
            "next": "Ask the user which one is meant; then repeat with `using`",
        }
        entries = list_with_reasons(choices, names, min_score=min_score)
        return add_entries(answer, "choices", entries, legends_of(choices, names))
    unsafe = list_with_reasons(rivals, names, min_score=min_score)
    answer = {
        "answer": "safe path",
        "datasets": [names[table] for table in path.tables],
        "grain": describe_grain([*map(names.join, path.joins)]),
        "joinability": f"{path.strength:.2f} for all joins together",
        "joins": [in_short(join, names, IN_A_STEP) for join in path.joins],
        **sql_of(path.joins, statements),
        **({"not_used": unsafe} if unsafe else {}),
    }
    return with_tables(answer, *legends_of([*path.joins, *rivals], names))


def _choose_path(path: JoinPath) -> Answer:
    names = ShortNames([*path.joins, *(join for rival in path.rivals for join in rival.joins)])
    short = path.renamed(names.column)
    rows = [short.grain_in_words, *map(short.difference_in_words, short.rivals)]
    arrows = (each.arrows for each in (short, *short.rivals))
    paths = [{"path": each, "rows": of} for each, of in zip(arrows, rows, strict=True)]
    legends = [names.legend(*each.tables) for each in (path, *path.rivals)]
    answer = {"answer": CHOOSE, "why": _OTHER_ROWS, "next": _CHOOSE_PATH}
    return add_entries(answer, "paths", paths, legends)


def explain_no_path(
    read: ReadJoins,
    ends: Ends,
    meant: Callable[[Join], bool],
    *,
    min_score: float,
    most: int | None = None,
) -> Answer:
    """Explain why no safe path of joins connects two datasets, and what would help."""
    try:
        path = walk(
            lambda tables: filter(meant, read(tables)),
            *ends,
            most=most,
            many_to_many=True,
            min_joinability=0,
        )
    except NoPathError:
        return _answer_no_path(ends, most)
    names = ShortNames(path.joins)
    answer = with_tables(
        {"answer": NO_SAFE_JOIN, "of": _shown(ends, names)},
        names.legend(*map(table_of, ends)),
    )
    unsafe = [join for join in path.joins if reasons_unsafe(join, min_score=min_score)]
    if unsafe:
        answer |= {"why": "the best path needs joins that are not safe", "next": ASK}
        return add_unsafe(answer, unsafe, names, min_score=min_score)
    answer = with_tables(answer, *legends_of(path.joins, names))
    if not path.keeps_grain:
        return {**answer, **_repeating([*map(names.join, path.joins)])}
    why = (
        f"the best path has {len(path.joins)} joins, and a joinability of only "
        f"{path.strength:.2f} for all of them together"
    )
    doubted = [summarize(names.join(join)) for join in path.joins if not join.is_confirmed]
    return {**answer, "why": why, "next": ASK, "joins": doubted}


def _answer_no_path(ends: Ends, most: int | None) -> Answer:
    names = ShortNames((), *map(table_of, ends))
    answer = with_tables(
        {"answer": NO_SAFE_JOIN, "of": _shown(ends, names)}, names.legend(*map(table_of, ends))
    )
    limit = f" of at most {most} joins" if most else ""
    if any(table_of(end) != end for end in ends):
        why = f"no path{limit} over the named columns connects these datasets"
        return {**answer, "why": why, "next": _OTHER_COLUMNS}
    return {**answer, "why": f"no path{limit} connects these datasets"}


def _shown(ends: Ends, names: ShortNames) -> str:
    shown = (names.column(end) if isinstance(end, ColumnId) else names[end] for end in ends)
    return " and ".join(map(str, shown))


def _repeating(joins: Sequence[Join]) -> Answer:
    """Explain why a path repeats rows, although each single join is safe."""
    led_to_key = list(accumulate(map(leads_to_key, joins), or_))
    turns = [
        at
        for at, (join, after) in enumerate(zip(joins[1:], led_to_key, strict=False), start=1)
        if after and leads_from_key(join)
    ]
    shared = ", ".join(joins[at].left.table.name for at in turns)
    return {
        "why": f"all rows of both sides that share a row of {shared} would be paired",
        "grain": describe_grain(joins),
        "next": _advise([joins[at:to] for at, to in pairwise([0, *turns, len(joins)])]),
        "joins": [summarize(join) for join in joins],
    }


def _advise(sides: Sequence[Sequence[Join]]) -> str:
    """Say what to aggregate before joining, if a path is safe on both sides of one table."""
    left, *others = sides
    if len(others) != 1:
        return "Ask the user for which of these datasets the result is to have a row each"
    shared = left[-1].right.table
    both = " and ".join(_side_in_words(side, shared) for side in sides)
    return f"Aggregate {both} to one row for each row of {shared} before joining them"


def _side_in_words(side: Sequence[Join], shared: TableId) -> str:
    """Name the tables on one side of a shared table, first the one whose rows refer to it."""
    tables = [side[0].left.table, *(join.right.table for join in side)]
    grain = grain_of(side)
    first, *others = sorted(
        (table for table in tables if table != shared), key=lambda table: table != grain
    )
    joined = f" (joined with {', '.join(map(str, others))})" if others else ""
    return f"{first}{joined}"
