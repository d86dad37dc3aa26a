"""Verify references to composite keys on all rows of both tables.

For each reference, uniqueness, containment, fan-out and matches by chance are measured. Most
proposed references are refuted by the tuples of both tables. Of many references, a second job
therefore counts only for the others how many rows would match by chance: the tuples of the
referring columns with one of them shuffled. A tuple of several references is counted once.
"""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from datahub_hyperjoin.joins import MIN_TUPLE_CONTAINMENT, ColumnPairs, CompositeEvidence
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.verification.counting import (
    CountedPair,
    NoteUnread,
    ValueCounter,
    log_unread,
)
from datahub_hyperjoin.spark.verification.values import ColumnTuple
from datahub_hyperjoin.tables import ColumnId, Table, TableId

_TableTuple = tuple[TableId, ColumnTuple]
_Measured = dict[ColumnPairs, list[CountedPair | None]]
"""For each reference, the counts of its tuples of columns with its key."""
_AT_ONCE = 256
"""With at most this many references, one job counts all tuples. A second job would take more time
than it saves."""
_NO_CONFIG = ProfileConfig()

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
    counter = ValueCounter(session, config, note_unread)

    def measure(wanted: Mapping[ColumnPairs, Sequence[_TableTuple]]) -> _Measured:
        # The last tuple of a reference is its key, with which the others are compared.
        pairs = [(end, key) for *referring, key in wanted.values() for end in referring]
        found = iter(counter.count(tables, pairs, texts=texts, synonyms={}))
        return {one: [*islice(found, len(ends) - 1)] for one, ends in wanted.items()}

    if len(references) <= _AT_ONCE:
        wanted = {one: (*_tuples_of(one)[:1], *_shuffled(one)) for one in references}
        counted = measure(wanted)
        found = _all_evidence(counted)
        return {one: _with_chance(found[one], counted[one][1:]) for one in found}
    found = _all_evidence(measure({one: _tuples_of(one) for one in references}))
    promising = [
        one
        for one, evidence in found.items()
        if evidence.is_unique and evidence.evidence.left_containment >= MIN_TUPLE_CONTAINMENT
    ]
    counted = measure({one: _shuffled(one) for one in promising})
    return found | {one: _with_chance(found[one], counted[one]) for one in promising}


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


def _all_evidence(counted: _Measured) -> dict[ColumnPairs, CompositeEvidence]:
    """Compute the evidence for all references between tables that were read."""
    return {
        reference: CompositeEvidence(
            evidence=pair.evidence, tuples=pair.left.shared, matched=_share(pair)
        )
        for reference, [pair, *_] in counted.items()
        if pair
    }


def _with_chance(
    evidence: CompositeEvidence, shuffled: Sequence[CountedPair | None]
) -> CompositeEvidence:
    return replace(evidence, by_chance=tuple(map(_share, shuffled)))


def _share(pair: CountedPair | None) -> float:
    """Return the share of the left rows that match a right row."""
    return pair.both.rows / max(pair.left.rows, 1) if pair else 0.0
