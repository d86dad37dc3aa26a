"""Verify references to composite keys on all rows of both tables.

For each reference, uniqueness, containment, fan-out and matches by chance are measured. Most
proposed references are refuted by the tuples of both tables. Of many references, a second job
therefore counts only for the others how many rows would match by chance: the tuples of the
referring columns with one of them shuffled. A tuple of several references is counted once.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from datahub_hyperjoin.joins import MIN_TUPLE_CONTAINMENT, ColumnPairs, CompositeEvidence
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.read import with_absolute_paths
from datahub_hyperjoin.spark.verification.pair_counts import PairCounts, evidence_of
from datahub_hyperjoin.spark.verification.process_counts import count_without_spark
from datahub_hyperjoin.spark.verification.values import ColumnTuple, RequestedColumns, value_files
from datahub_hyperjoin.spark.verification.verify import (
    NoteUnread,
    log_unread,
    unread_tables,
)
from datahub_hyperjoin.tables import ColumnId, Table, TableId

_TableTuple = tuple[TableId, ColumnTuple]
_AT_ONCE = 256
"""With at most this many references, one job counts all tuples. A second job would take more time
than it saves."""
_NO_COUNTS, _NO_CONFIG = PairCounts(0, 0, 0), ProfileConfig()

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def verify_composites(
    session: "SparkSession | None",
    tables: Sequence[Table],
    references: Sequence[ColumnPairs],
    *,
    texts: AbstractSet[ColumnId],
    config: ProfileConfig = _NO_CONFIG,
    note_unread: NoteUnread = log_unread,
) -> dict[ColumnPairs, CompositeEvidence]:
    """Measure how well referring columns match the composite keys that they may reference.

    Args:
        session: Runs up to two Spark jobs; None to read all tables in this process.
        references: The referring and the referenced columns of each reference.
        texts: Columns of text, in which words such as `NA` are values.
        config: Provides the size from which a table is read by many tasks.
        note_unread: Receives the tables that cannot be read: their references are not refuted.

    Returns:
        Evidence by reference, without references whose tables or columns cannot be read. Of
        many references, matches by chance are counted only for unique keys that hold nine tenths of
        the tuples.
    """

    def count(
        requests: list[RequestedColumns], to_count: Collection[tuple[int, int]]
    ) -> Mapping[tuple[int, int], PairCounts]:
        if session is None:
            counts = count_without_spark(requests, to_count, synonyms={})
        else:
            # PySpark takes a tenth of a second to import; small lakes need none.
            from datahub_hyperjoin.spark.verification.pair_jobs import (  # noqa: PLC0415
                count_requests,
            )
            from datahub_hyperjoin.spark.verification.partition_routes import (  # noqa: PLC0415
                partition_lake,
            )

            partition = partial(partition_lake, session, synonyms={}, config=config)
            counts = count_requests(partition, requests, to_count)
        for table in unread_tables(requests, counts):
            note_unread(table)
        return counts

    def measure(wanted: Mapping[ColumnPairs, Sequence[_TableTuple]]) -> _TupleCounts:
        return _count_tuples(count, tables, wanted, texts, config)

    if len(references) <= _AT_ONCE:
        counted = measure({one: (*_tuples_of(one)[:1], *_shuffled(one)) for one in references})
        found = _all_evidence(counted, references)
        return {one: _with_chance(counted, one, evidence) for one, evidence in found.items()}
    found = _all_evidence(measure({one: _tuples_of(one) for one in references}), references)
    promising = [
        one
        for one, evidence in found.items()
        if evidence.is_unique and evidence.evidence.left_containment >= MIN_TUPLE_CONTAINMENT
    ]
    counted = measure({one: _shuffled(one) for one in promising})
    return found | {one: _with_chance(counted, one, found[one]) for one in promising}


@dataclass(frozen=True)
class _TupleCounts:
    """The counts of shared values and matching rows for pairs of column tuples."""

    numbers: Mapping[_TableTuple, int]
    counts: Mapping[tuple[int, int], PairCounts]

    def of(self, left: _TableTuple, right: _TableTuple) -> PairCounts:
        return self.counts.get((self.numbers[left], self.numbers[right]), _NO_COUNTS)

    def has_read(self, value: _TableTuple) -> bool:
        return (self.numbers[value], self.numbers[value]) in self.counts

    def share(self, left: _TableTuple, right: _TableTuple) -> float:
        """Return the share of the left rows that match a right row."""
        return self.of(left, right).rows / max(self.of(left, left).rows, 1)


def _tuples_of(reference: ColumnPairs) -> tuple[_TableTuple, _TableTuple]:
    """Return the referring and the referenced column tuple of a composite reference."""
    paths = [tuple(end.path for end in ends) for ends in zip(*reference, strict=True)]
    (first, last), *_ = reference
    return (first.table, ColumnTuple(paths[0])), (last.table, ColumnTuple(paths[1]))


def _shuffled(reference: ColumnPairs) -> tuple[_TableTuple, ...]:
    """Return shuffled copies of the referring columns, followed by the key.

    In each copy, the values of one column are moved to random rows. The matches of a copy with the
    key thus show how many rows would match by chance if this column had nothing to do with the
    others.
    """
    (table, referring), key = _tuples_of(reference)
    # Of two columns, shuffling the second instead of the first makes no difference.
    count = len(referring.paths) if len(referring.paths) > 2 else 1  # noqa: PLR2004 (a pair)
    by_chance = ((table, replace(referring, shuffled=column)) for column in range(count))
    return (*by_chance, key)


def _count_tuples(
    count: Callable[
        [list[RequestedColumns], Collection[tuple[int, int]]], Mapping[tuple[int, int], PairCounts]
    ],
    tables: Sequence[Table],
    wanted: Mapping[ColumnPairs, Sequence[_TableTuple]],
    texts: AbstractSet[ColumnId],
    config: ProfileConfig,
) -> _TupleCounts:
    """Count the rows of column tuples, and the rows that match the key of their reference.

    `wanted` holds the tuples of columns of each reference. The last is the key, with which the
    others are compared. `count` counts their values; `texts` are the columns of text. `config`
    names the store in which values are kept.
    """
    distinct = dict.fromkeys(chain.from_iterable(wanted.values()))
    numbers = {value: number for number, value in enumerate(distinct)}
    requests = _requests(tables, numbers, texts, value_files(config, tables))
    # A tuple is also counted with itself: this gives its rows, and shows that it was read.
    to_count = {(number, number) for number in numbers.values()}
    for *referring, key in wanted.values():
        to_count |= {(numbers[value], numbers[key]) for value in referring}
    return _TupleCounts(numbers, count(requests, to_count) if requests else {})


def _requests(
    tables: Sequence[Table],
    numbers: Mapping[_TableTuple, int],
    texts: AbstractSet[ColumnId],
    files: Mapping[TableId, Path],
) -> list[RequestedColumns]:
    """Build one request per table for the column tuples to count.

    `numbers` maps each tuple to its number, and `texts` are the columns of text. `files` keep the
    values of tables.
    """
    tuples: dict[TableId, dict[ColumnTuple, int]] = {}
    for (table, wanted), number in numbers.items():
        tuples.setdefault(table, {})[wanted] = number
    return [
        RequestedColumns(
            table,
            {},
            texts=frozenset(
                path
                for wanted in tuples[table.id]
                for path in wanted.paths
                if ColumnId(table.id, path) in texts
            ),
            tuples=tuples[table.id],
            kept=files.get(table.id),
        )
        for table in with_absolute_paths(tables)
        if table.id in tuples
    ]


def _all_evidence(
    counted: _TupleCounts, references: Sequence[ColumnPairs]
) -> dict[ColumnPairs, CompositeEvidence]:
    """Compute the evidence for all references between tables that were read."""
    found = {}
    for reference in references:
        left, right = _tuples_of(reference)
        if counted.has_read(left) and counted.has_read(right):
            referring, key = counted.of(left, left), counted.of(right, right)
            found[reference] = CompositeEvidence(
                evidence=evidence_of(referring, key, counted.of(left, right)),
                tuples=referring.shared,
                matched=counted.share(left, right),
            )
    return found


def _with_chance(
    counted: _TupleCounts, reference: ColumnPairs, evidence: CompositeEvidence
) -> CompositeEvidence:
    *by_chance, key = _shuffled(reference)
    return replace(evidence, by_chance=tuple(counted.share(value, key) for value in by_chance))
