"""Compare the references and joins of a run with declared references."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float

from benchmarks.directed_lake import Directed, DirectedLake
from datahub_hyperjoin.evaluate.labelled_lake import ColumnName
from datahub_hyperjoin.evaluate.metrics import Bootstrap, Interval
from datahub_hyperjoin.joins import Join, Suggestion
from datahub_hyperjoin.tables import ColumnId


@dataclass(frozen=True)
class ReferenceCounts:
    """Numbers of right, predicted and declared references in each referring table.

    Tables are the units that the bootstrap draws.
    """

    right: Float[np.ndarray, " table"]
    """Number of references that are both predicted and declared."""

    predicted: Float[np.ndarray, " table"]
    """Number of references that are predicted."""

    declared: Float[np.ndarray, " table"]
    """Number of references that are declared."""

    @property
    def precision(self) -> Interval:
        """Share of the predicted references that are declared."""
        return _share(self.right, self.predicted)

    @property
    def recall(self) -> Interval:
        """Share of the declared references that are predicted."""
        return _share(self.right, self.declared)

    @property
    def f1(self) -> Interval:
        """Harmonic mean of precision and recall."""
        return _share(2 * self.right, self.predicted + self.declared)


def _share(part: Float[np.ndarray, " table"], whole: Float[np.ndarray, " table"]) -> Interval:
    if not whole.any():
        return Interval(0.0, 0.0, 0.0)
    # Tables without any of the whole change no share, and could fill a draw alone.
    some = whole > 0
    return Bootstrap(int(some.sum())).interval(part[some], whole[some])


def judge_references(lake: DirectedLake, predicted: Iterable[Directed]) -> set[Directed]:
    """Return the predicted references that the ground truth judges, in the declared direction.

    Args:
        lake: The declared references.
        predicted: Referring and referenced columns.
    """
    return {
        lake.as_declared(pair)
        for pair in predicted
        if lake.is_judged(pair) and pair[0][0] != pair[1][0]
    }


def count_references(lake: DirectedLake, predicted: Iterable[Directed]) -> ReferenceCounts:
    """Compare predicted references with declared ones.

    Pairs for which the ground truth is incomplete do not count.

    Args:
        lake: The declared references.
        predicted: Referring and referenced columns.
    """
    judged = judge_references(lake, predicted)
    right = judged & lake.directions.keys()
    counts = [
        Counter(ends[0].table for ends in pairs) for pairs in (right, judged, lake.directions)
    ]
    tables = sorted(set().union(*counts))
    return ReferenceCounts(
        *(np.array([count[table] for table in tables], dtype=np.float64) for count in counts)
    )


def column_name(column: ColumnId) -> ColumnName:
    """Return the name of a column as a labelled lake writes it.

    Args:
        column: The column.
    """
    return ColumnName(Path(column.table.name).stem, column.path)


def ends_of(join: Join) -> Directed:
    """Return the names of both columns of a join.

    Args:
        join: The join.
    """
    return column_name(join.left), column_name(join.right)


def references_of(joins: Iterable[Join]) -> Iterator[Directed]:
    """Yield the referring and the referenced column of each directed join.

    Joins of several columns are left out.

    Args:
        joins: Joins with roles.
    """
    for join in joins:
        if join.referring and join.referenced and not join.further:
            yield column_name(join.referring), column_name(join.referenced)


def count_emitted(lake: DirectedLake, joins: Iterable[Join]) -> int:
    """Count the declared references that a run emits, in any role.

    Args:
        lake: The declared references.
        joins: The joins of a run.
    """
    emitted = {frozenset(ends_of(join)) for join in joins}
    return sum(frozenset(pair) in emitted for pair in lake.directions)


def count_shadowed(lake: DirectedLake, joins: Sequence[Join]) -> tuple[int, int]:
    """Count the table pairs that have a declared reference, but whose best join is no reference.

    Args:
        lake: The declared references.
        joins: The joins of a run.

    Returns:
        The number of such pairs of tables, and of all pairs of tables with a declared reference.
    """
    best: dict[frozenset[str], Join] = {}
    for join in sorted(joins, key=lambda join: (join.role.place, -join.joinability)):
        best.setdefault(frozenset(end.table for end in ends_of(join)), join)
    tables = {frozenset(end.table for end in pair) for pair in lake.directions}
    shadowed = sum(pair in best and not best[pair].role.is_directed for pair in tables)
    return shadowed, len(tables)


def first_right(lake: DirectedLake, suggestions: Iterable[Suggestion]) -> float:
    """Return the share of foreign-key columns whose first suggestion is right.

    Args:
        lake: The query columns with their true partners, and the declared references.
        suggestions: The suggestions of a run.
    """
    first: Mapping[ColumnName, ColumnName] = {
        column_name(each.query): column_name(each.candidate)
        for each in suggestions
        if each.rank == 1
    }
    truth = lake.labelled.truth
    columns = {referring for referring, _ in lake.directions if referring in truth}
    return sum(first.get(column) in truth[column] for column in columns) / max(len(columns), 1)
