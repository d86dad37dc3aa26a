"""Make and undo decisions about the joins of a run."""

from collections import Counter
from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from datahub_hyperjoin.catalog.filed_decisions import find_decided_columns
from datahub_hyperjoin.decision_file import FiledDecision, WrittenDecision
from datahub_hyperjoin.discovery.errors import UnknownTableError
from datahub_hyperjoin.discovery.progress import RunProgress
from datahub_hyperjoin.joins import CrosswalkJoin, Join, JoinedColumns, Verdict
from datahub_hyperjoin.metadata.urns import dataset_urn
from datahub_hyperjoin.tables import TableId


def decided_columns(join: Join | CrosswalkJoin) -> JoinedColumns:
    """Return the pairs of columns by which a decision identifies a join."""
    return ((join.left, join.right),) if isinstance(join, CrosswalkJoin) else join.pairs


def build_written_decision(
    columns: JoinedColumns,
    tables: Sequence[TableId],
    verdict: Verdict,
    *,
    by: str = "",
    reason: str = "",
) -> WrittenDecision:
    """Build a decision about a join as the file of decisions stores it."""
    counts = Counter(table.name for table in tables)
    for table in {column.table for pair in columns for column in pair}.difference(tables):
        near = get_close_matches(table.name, counts, n=3)
        raise UnknownTableError.named(table.name, near=near)
    left, right = (
        dataset_urn(column.table) if counts[column.table.name] > 1 else column.table.name
        for column in columns[0]
    )
    return WrittenDecision(
        left_table=left,
        left_columns=tuple(own.path for own, _ in columns),
        right_table=right,
        right_columns=tuple(other.path for _, other in columns),
        verdict=verdict,
        by=by,
        reason=reason,
    )


def find_decided_tables(
    written: Sequence[WrittenDecision], tables: Iterable[TableId]
) -> tuple[FiledDecision, ...]:
    """Find the tables that each decision names, without warnings about unknown tables.

    A table outside the run becomes None.
    """
    # The run has warned already.
    return find_decided_columns(written, {table: table for table in tables}, RunProgress().warn)


def with_decision(filed: Sequence[FiledDecision], new: FiledDecision) -> tuple[FiledDecision, ...]:
    """Add a decision, and drop all earlier decisions about the same join.

    Args:
        new: The new decision, which takes the place of the first one.
    """
    earlier = [number for number, each in enumerate(filed) if _is_same_join(each, new)]
    start = earlier[0] if earlier else len(filed)
    kept = without_decision(filed[start:], new)
    return (*filed[:start], new, *kept)


def without_decision(
    filed: Iterable[FiledDecision], undone: FiledDecision
) -> tuple[FiledDecision, ...]:
    """Remove all decisions about one join."""
    return tuple(each for each in filed if not _is_same_join(each, undone))


def _is_same_join(one: FiledDecision, other: FiledDecision) -> bool:
    if one.columns or other.columns:
        return one.columns == other.columns
    # Of tables that the run does not know, only the names can be compared.
    return str(one.written) == str(other.written)
