"""Count the rows of both tables of each join that have a value, and those that have a partner.

The evidence of a join counts rows with a value only. How many rows a table has is known from the
profiles of its columns. A large table is profiled by a sample, whose share of rows with a value
tells about how many rows there are.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from datahub_hyperjoin.joins import Cardinality, Evidence, Join, RowCounts, is_in_two_steps
from datahub_hyperjoin.tables import ColumnId, ColumnProfile, TableId, TableProfile

_TO_ONE = {Cardinality.MANY_ONE, Cardinality.ONE_ONE}

_Profiles = Mapping[ColumnId, ColumnProfile]


def with_row_counts(joins: Sequence[Join], profiles: Iterable[TableProfile]) -> tuple[Join, ...]:
    """Add the counts of both tables' rows to the evidence of joins.

    Returns:
        The joins in their order. Joins through a crosswalk alone have no counts.
    """
    columns = {column.id: column for profile in profiles for column in profile.columns}
    totals = _count_tables(joins, columns)
    return tuple(_with_counts(join, totals, columns) for join in joins)


def _count_tables(joins: Iterable[Join], profiles: _Profiles) -> dict[TableId, int]:
    """Count the rows of each table.

    A column was profiled on all rows if as many of them have a value as were counted on the data.
    """
    known: dict[TableId, tuple[bool, int, int]] = {}
    for join in joins:
        if join.further or join.measured.compared_as:
            continue
        for column, evidence in _sides(join):
            profile, filled = profiles[column], _filled(evidence)
            sampled = profile.rows - profile.nulls
            if filled and sampled:
                total = round(profile.rows * filled / sampled)
                # The more values a sample has, the better the estimate.
                found = (filled == sampled, sampled, total)
                known[column.table] = max(found, known.get(column.table, found))
    return {table: total for table, (_, _, total) in known.items()}


def _with_counts(join: Join, totals: Mapping[TableId, int], profiles: _Profiles) -> Join:
    if is_in_two_steps(join.measured):
        return join
    left, right = (
        _count(evidence, totals.get(column.table, profiles[column].rows), profiles[column])
        for column, evidence in _sides(join)
    )
    return replace(join, evidence=replace(join.measured, left_counts=left, right_counts=right))


def _sides(join: Join) -> Iterator[tuple[ColumnId, Evidence]]:
    """Yield the first column of each side, with the evidence as seen from this side."""
    yield join.left, join.measured
    yield join.right, join.measured.reversed


def _filled(evidence: Evidence) -> int:
    """Return the number of left rows with a value; 0 if the join returns no row to tell it."""
    return round(evidence.rows / evidence.left_fan_out) if evidence.left_fan_out else 0


def _count(evidence: Evidence, total: int, profile: ColumnProfile) -> RowCounts:
    """Count the rows on the left, of which `profile` describes the first column."""
    filled = _filled(evidence) or round(total * profile.completeness)
    matched = None
    if evidence.cardinality in _TO_ONE:
        matched = evidence.rows
    elif evidence.reversed.cardinality in _TO_ONE:
        matched = evidence.shared  # each value of a unique column is in one row
    return RowCounts(total=max(total, filled), filled=filled, matched=matched)
