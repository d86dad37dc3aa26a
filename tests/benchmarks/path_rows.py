"""In DuckDB, compare the rows of suggested paths with the rows of declared references."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb

from benchmarks.directed_lake import DirectedLake
from datahub_hyperjoin.joins import Join
from datahub_hyperjoin.joins.errors import NoPathError
from datahub_hyperjoin.joins.paths import JoinPath, find_path
from datahub_hyperjoin.tables import TableId

_ROWS = "SELECT COUNT(*), SUM(HASH(t0, t{})::HUGEINT) FROM {}"

Rows = tuple[int, int | None]
"""The row count of a join, and a checksum of the columns from the first and the last table."""

Condition = tuple[str, str, Sequence[tuple[str, str]]]
"""The left and the right table of a join, and the columns that must be equal, left ones first."""


@dataclass(frozen=True, kw_only=True)
class PathRows:
    """Counts of suggested paths that return the declared rows, or other rows."""

    equal: int
    """Number of paths that return the rows of a declared reference."""

    named: int
    """Number of paths that return other rows, but also name a join with the declared rows. This
    join is an alternative to a path of one join, or joins the ends of a longer path directly."""

    refused: int
    """Number of pairs of tables for which no safe path is known."""

    refused_named: int
    """Number of refused pairs whose error message names a direct join that returns the declared
    rows."""

    alone: int
    """Number of paths that list no alternative, so that nobody has to choose."""

    alone_equal: int
    """Number of paths that list no alternative and return the rows of a declared reference."""

    different: tuple[str, ...]
    """A description of each path that returns other rows than the declared reference."""


def compare_path_rows(lake: DirectedLake, joins: Iterable[Join], tables: Path) -> PathRows:
    """Compare suggested paths with the references between the same tables, in either direction.

    Args:
        lake: The declared references.
        joins: The joins of a run.
        tables: The folder with the tables of the lake.
    """
    known = tuple(joins)
    ids = {Path(table.name).stem: table for join in known for table in join.tables}
    outcomes: Counter[str] = Counter()
    different = []
    with duckdb.connect() as connection:
        _create_views(connection, tables)
        for (start, end), references in _references_between(lake).items():
            path = _path(known, ids.get(start), ids.get(end))
            expected = [_count(connection, [condition]) for condition in references]
            beside = _beside(path) if path else _named_by_error(known, ids.get(start), ids.get(end))
            is_named = any(_count(connection, [_condition(join)]) in expected for join in beside)
            if not path:
                outcomes["refused"] += 1
                outcomes["refused_named"] += is_named
                continue
            rows = _count(connection, [*map(_condition, path.joins)])
            alone = not any(step.alternatives for step in path.steps)
            outcomes["alone"] += alone
            outcomes["alone_equal"] += alone and rows in expected
            if rows in expected:
                outcomes["equal"] += 1
            elif is_named:
                outcomes["named"] += 1
            else:
                conditions = " and ".join(join.condition for join in path.joins)
                different.append(f"{start} to {end} by {conditions}: {rows[0]} of {expected[0][0]}")
    return PathRows(
        equal=outcomes["equal"],
        named=outcomes["named"],
        refused=outcomes["refused"],
        refused_named=outcomes["refused_named"],
        alone=outcomes["alone"],
        alone_equal=outcomes["alone_equal"],
        different=tuple(different),
    )


def _references_between(lake: DirectedLake) -> Mapping[tuple[str, str], Sequence[Condition]]:
    """Group references by their two tables; keep the groups that contain a declared reference.

    The tables are in the order of the first declared reference. References that the ground truth
    implies follow the declared ones.
    """
    between: dict[tuple[str, str], list[Condition]] = {}
    for number, (referring, referenced) in enumerate((*lake.directions, *sorted(lake.implied))):
        ends, reverse = (referring.table, referenced.table), (referenced.table, referring.table)
        if reverse in between:
            between[reverse].append(
                (referenced.table, referring.table, [(referenced.column, referring.column)])
            )
        elif ends in between or number < len(lake.directions):
            between.setdefault(ends, []).append(
                (referring.table, referenced.table, [(referring.column, referenced.column)])
            )
    return between


def _path(joins: Sequence[Join], start: TableId | None, end: TableId | None) -> JoinPath | None:
    if start is None or end is None:
        return None
    try:
        return find_path(joins, start, end)
    except NoPathError:
        return None


def _beside(path: JoinPath) -> tuple[Join, ...]:
    """Return the direct joins that are offered as alternatives to a path."""
    return path.steps[0].alternatives if len(path.joins) == 1 else path.direct


def _named_by_error(
    joins: Sequence[Join], start: TableId | None, end: TableId | None
) -> tuple[Join, ...]:
    """Return the direct joins that the error names if no safe path is known."""
    if start is None or end is None:
        return ()
    try:
        path = find_path(joins, start, end, many_to_many=True, min_joinability=0)
    except NoPathError:
        return ()
    return path.direct or (path.joins if len(path.joins) == 1 else ())


def _condition(join: Join) -> Condition:
    left, right = (Path(table.name).stem for table in join.tables)
    return left, right, [(one.path, other.path) for one, other in join.pairs]


def _count(connection: duckdb.DuckDBPyConnection, conditions: Sequence[Condition]) -> Rows:
    """Count the rows of a chain of joined tables."""
    source = f"{_quoted(conditions[0][0])} AS t0"
    for number, (_, table, pairs) in enumerate(conditions):
        equal = (
            f"t{number}.{_quoted(left)} = t{number + 1}.{_quoted(right)}" for left, right in pairs
        )
        source += f" JOIN {_quoted(table)} AS t{number + 1} ON {' AND '.join(equal)}"
    [(count, total)] = connection.execute(_ROWS.format(len(conditions), source)).fetchall()
    return count, total


def _create_views(connection: duckdb.DuckDBPyConnection, tables: Path) -> None:
    for path in sorted(tables.glob("*.csv")):
        table = connection.read_csv(str(path), header=True, all_varchar=True)
        table.create_view(path.stem)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
