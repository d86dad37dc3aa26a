"""Compare the rows of suggested paths with those of declared references, in DuckDB."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb

from benchmarks.directed_lake import Directed, DirectedLake
from datahub_hyperjoin.graphql.errors import NoPathError
from datahub_hyperjoin.graphql.joins import CatalogJoin
from datahub_hyperjoin.graphql.paths import find_path
from datahub_hyperjoin.graphql.steps import Step
from datahub_hyperjoin.tables import TableId

_ROWS = "SELECT COUNT(*), SUM(HASH(t0, t{})::HUGEINT) FROM {}"

Rows = tuple[int, int | None]
"""The number of rows of a join, and a checksum of their columns from its first and last table."""

Condition = tuple[str, str, str, str]
"""The left table and column, and the right table and column, of a condition."""


@dataclass(frozen=True)
class PathRows:
    """Counts of suggested paths that return the declared rows, and of those that do not."""

    equal: int
    """Number of paths that return the rows of a declared reference."""

    named: int
    """Number of other paths of one join that list a join with these rows as an alternative."""

    refused: int
    """Number of pairs of tables for which no safe path is known."""

    different: tuple[str, ...]
    """A description of each path that returns other rows than the declared reference."""


def compare_path_rows(lake: DirectedLake, joins: Iterable[CatalogJoin], tables: Path) -> PathRows:
    """Compare suggested paths with the declared references between the same tables.

    Args:
        lake: The declared references.
        joins: The joins of a run.
        tables: The folder with the tables of the lake.
    """
    known = tuple(joins)
    ids = {Path(table.name).stem: table for join in known for table in join.tables}
    declared: defaultdict[tuple[str, str], list[Directed]] = defaultdict(list)
    for referring, referenced in lake.directions:
        declared[referring.table, referenced.table].append((referring, referenced))
    equal, named, refused, different = 0, 0, 0, []
    with duckdb.connect() as connection:
        _create_views(connection, tables)
        for (start, end), references in declared.items():
            path = _path(known, ids.get(start), ids.get(end))
            if not path:
                refused += 1
                continue
            rows = _count(connection, [_condition(step.join) for step in path])
            others = [_count(connection, [_condition(join)]) for join in path[0].alternatives]
            expected = [
                _count(connection, [(a.table, a.column, b.table, b.column)]) for a, b in references
            ]
            if rows in expected:
                equal += 1
            elif len(path) == 1 and any(other in expected for other in others):
                named += 1
            else:
                conditions = " and ".join(step.join.condition for step in path)
                different.append(f"{start} to {end} by {conditions}: {rows[0]} of {expected[0][0]}")
    return PathRows(equal, named, refused, tuple(different))


def _path(
    joins: Sequence[CatalogJoin], start: TableId | None, end: TableId | None
) -> tuple[Step, ...]:
    if start is None or end is None:
        return ()
    try:
        return find_path(joins, start, end).steps
    except NoPathError:
        return ()


def _condition(join: CatalogJoin) -> Condition:
    left, right = join.left, join.right
    return Path(left.table.name).stem, left.path, Path(right.table.name).stem, right.path


def _count(connection: duckdb.DuckDBPyConnection, conditions: Sequence[Condition]) -> Rows:
    """Count the rows of a chain of joined tables."""
    source = f"{_quoted(conditions[0][0])} AS t0"
    for number, (_, left, table, right) in enumerate(conditions):
        source += f" JOIN {_quoted(table)} AS t{number + 1}"
        source += f" ON t{number}.{_quoted(left)} = t{number + 1}.{_quoted(right)}"
    [(count, total)] = connection.execute(_ROWS.format(len(conditions), source)).fetchall()
    return count, total


def _create_views(connection: duckdb.DuckDBPyConnection, tables: Path) -> None:
    for path in sorted(tables.glob("*.csv")):
        table = connection.read_csv(str(path), header=True, all_varchar=True)
        table.create_view(path.stem)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
