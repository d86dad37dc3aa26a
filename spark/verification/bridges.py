"""Verify joins through crosswalks on all rows of their tables.

Spark joins the distinct values of the left columns with the rows of the crosswalks, and these with
the distinct values of the right columns. Only hashes and counts of rows are joined, so a join that
multiplies rows costs no more than another.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, TypeVar

import pyarrow as pa

from datahub_hyperjoin.joins import Bridge, Cardinality, Evidence
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.databases.engines import Databases
from datahub_hyperjoin.spark.read import with_absolute_paths
from datahub_hyperjoin.spark.verification.bridge_counts import (
    VALUE_ROW,
    BridgeCounts,
    MatchCounts,
    count_bridges,
    unpack_values,
)
from datahub_hyperjoin.spark.verification.crosswalk_rows import (
    ENTRY_ROW,
    RequestedCrosswalks,
    Sides,
    entries_of_table,
)
from datahub_hyperjoin.spark.verification.hash_partition import partition_values
from datahub_hyperjoin.spark.verification.values import RequestedColumns, read_values
from datahub_hyperjoin.spark.verification.verify import NoteUnread, log_unread
from datahub_hyperjoin.tables import ColumnId, Table, TableId
from datahub_hyperjoin.visible import logger_of

logger = logger_of(__name__)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_AS_WRITTEN = ""
_Item = TypeVar("_Item", bound=Hashable)
_DEFAULT_CONFIG = ProfileConfig()
_NO_TEXTS: AbstractSet[ColumnId] = frozenset()


@dataclass(frozen=True, slots=True)
class _Numbers:
    """Integers that identify columns, crosswalks and joins in Spark rows.

    A join through a crosswalk is a bridge; its left and right columns are the ends.
    """

    ends: Mapping[ColumnId, int]
    crosswalks: Mapping[tuple[TableId, Sides], int]
    bridges: Sequence[Bridge]

    @classmethod
    def of(cls, bridges: Sequence[Bridge]) -> "_Numbers":
        ends = dict.fromkeys(column for bridge in bridges for column in bridge.pair)
        crosswalks = dict.fromkeys(map(_crosswalk, bridges))
        return cls(_numbered(ends), _numbered(crosswalks), bridges)

    def links(self) -> list[tuple[int, int, int, int]]:
        """For each join, return four integers that identify the join, its columns and crosswalk.

        They stand for the join, its left column, its crosswalk and its right column, in this order.
        """
        return [
            (
                number,
                self.ends[bridge.left],
                self.crosswalks[_crosswalk(bridge)],
                self.ends[bridge.right],
            )
            for number, bridge in enumerate(self.bridges)
        ]


def verify_bridges(
    session: "SparkSession | None",
    tables: Sequence[Table],
    bridges: Sequence[Bridge],
    *,
    texts: AbstractSet[ColumnId] = _NO_TEXTS,
    config: ProfileConfig = _DEFAULT_CONFIG,
    note_unread: NoteUnread = log_unread,
) -> dict[Bridge, Evidence]:
    """Measure how well pairs of columns join through crosswalks (bridges).

    Args:
        session: Runs the Spark jobs; None to read all tables in this process.
        texts: Columns of text, in which words such as `NA` are values; a part of a table cannot
            tell, so the profiles of whole tables do.
        config: Provides the size from which a table is read by many tasks.
        note_unread: Receives the tables that cannot be read: their bridges are not refuted.

    Returns:
        Evidence by bridge, without bridges of which a table cannot be read. See
        `CrosswalkJoin.evidence` for its meaning.
    """
    numbers = _Numbers.of([*dict.fromkeys(bridges)])
    located = {table.id: table for table in with_absolute_paths(tables)}
    logger.info("Verifying %s joins through crosswalks", len(numbers.bridges))
    columns = _requested_columns(located, numbers.ends, texts)
    crosswalks = _requested_crosswalks(located, numbers.crosswalks, texts)
    if session is None:
        counts = _count_in_process(numbers, columns, crosswalks)
    else:
        # PySpark takes a tenth of a second to import; small lakes need none.
        from datahub_hyperjoin.spark.native.frames import spark_error_text  # noqa: PLC0415
        from datahub_hyperjoin.spark.native.jobs import SPARK_ERRORS  # noqa: PLC0415
        from datahub_hyperjoin.spark.verification.bridge_jobs import (  # noqa: PLC0415
            count_bridges_on_spark,
            find_unreadable,
        )

        try:
            links = numbers.links()
            counts = count_bridges_on_spark(session, links, columns, crosswalks, config)
        except SPARK_ERRORS as error:
            logger.warning("Not verified: joins through crosswalks. %s", spark_error_text(error))
            unread = find_unreadable(session, columns, crosswalks, config)
            # If every table can be read alone, the job failed for another reason, for all of them.
            requested = [each.table.id for each in columns] + [e.table.id for e in crosswalks]
            for table in sorted(unread or {*requested}):
                note_unread(table)
            rest = [each for each in numbers.bridges if unread.isdisjoint(_tables(each))]
            again = partial(verify_bridges, session, tables, texts=texts, config=config)
            return again(rest, note_unread=note_unread) if unread and rest else {}
    for table in _unread(numbers, counts):
        note_unread(table)
    return _evidence(numbers, counts)


def _tables(bridge: Bridge) -> set[TableId]:
    return {bridge.left.table, bridge.crosswalk, bridge.right.table}


def _crosswalk(bridge: Bridge) -> tuple[TableId, Sides]:
    return bridge.crosswalk, (bridge.left_via.path, bridge.right_via.path)


def _numbered(items: Iterable[_Item]) -> dict[_Item, int]:
    return {item: number for number, item in enumerate(items)}


def _requested_columns(
    tables: Mapping[TableId, Table], ends: Mapping[ColumnId, int], texts: AbstractSet[ColumnId]
) -> list[RequestedColumns]:
    """Request the left and right columns of all joins, grouped so that each table is read once.

    `ends` maps each of these columns to its number in Spark rows; `texts` has the columns of text.
    """
    columns: dict[TableId, dict[str, dict[str, int]]] = defaultdict(dict)
    for column, number in ends.items():
        columns[column.table][column.path] = {_AS_WRITTEN: number}
    return [
        RequestedColumns(tables[table], paths, texts=_texts(table, paths, texts))
        for table, paths in columns.items()
        if table in tables
    ]


def _requested_crosswalks(
    tables: Mapping[TableId, Table],
    crosswalks: Mapping[tuple[TableId, Sides], int],
    texts: AbstractSet[ColumnId],
) -> list[RequestedCrosswalks]:
    sides: dict[TableId, dict[Sides, int]] = defaultdict(dict)
    for (table, both), number in crosswalks.items():
        sides[table][both] = number
    return [
        RequestedCrosswalks(
            tables[table], numbers, texts=_texts(table, chain.from_iterable(numbers), texts)
        )
        for table, numbers in sides.items()
        if table in tables
    ]


def _texts(table: TableId, paths: Iterable[str], texts: AbstractSet[ColumnId]) -> frozenset[str]:
    return frozenset(path for path in paths if ColumnId(table, path) in texts)


def _count_in_process(
    numbers: _Numbers,
    columns: Sequence[RequestedColumns],
    crosswalks: Sequence[RequestedCrosswalks],
) -> BridgeCounts:
    with Databases() as databases:
        parts = [*partition_values(read_values(columns, {}, databases), count=1)]
        entries = [rows for each in crosswalks for rows in entries_of_table(each, databases)]
    # Each column is in one part, so none of its values occurs twice.
    return count_bridges(
        numbers.links(),
        pa.Table.from_batches(unpack_values(iter(parts)), VALUE_ROW),
        pa.Table.from_batches(entries, ENTRY_ROW),
    )


def _unread(numbers: _Numbers, counts: BridgeCounts) -> list[TableId]:
    """List the tables in which a joined column or a crosswalk could not be read."""
    ends, crosswalks = numbers.ends.items(), numbers.crosswalks.items()
    unread = {column.table for column, number in ends if number not in counts.totals}
    return sorted(unread.union(table for (table, _), at in crosswalks if at not in counts.read))


def _evidence(numbers: _Numbers, counts: BridgeCounts) -> dict[Bridge, Evidence]:
    totals, none = counts.totals, MatchCounts()
    return {
        numbers.bridges[at]: _evidence_of(
            counts.shared.get(at, 0),
            (counts.left.get(at, none), *totals[left_end]),
            (counts.right.get(at, none), *totals[right_end]),
        )
        for at, left_end, crosswalk, right_end in numbers.links()
        if left_end in totals and crosswalk in counts.read and right_end in totals
    }


def _evidence_of(
    shared: int, left: tuple[MatchCounts, int, int], right: tuple[MatchCounts, int, int]
) -> Evidence:
    """Compute the evidence for a join from the counts of its two columns.

    Each side has its counts of matching values, its number of distinct values and that of rows.
    """
    (from_left, left_values, left_rows), (from_right, right_values, right_rows) = left, right
    sides = ("ONE" if reached.most <= 1 else "N" for reached in (from_right, from_left))
    return Evidence(
        shared=shared,
        left_containment=from_left.values / left_values,
        right_containment=from_right.values / right_values,
        cardinality=Cardinality("_".join(sides)),
        left_fan_out=from_left.rows / left_rows,
        # The rows of the join are the same from both sides.
        right_fan_out=from_left.rows / right_rows,
        rows=from_left.rows,
    )
