"""Verify joins by parts of cells and by ids of a type on all rows of both tables."""

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import TYPE_CHECKING

from datahub_hyperjoin.cell_parts import CellParts, PartKind
from datahub_hyperjoin.joins import ColumnPairs, Evidence
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.verification.counting import (
    CARDINALITY,
    Counted,
    CountedPair,
    NoteUnread,
    ValueCounter,
    log_unread,
)
from datahub_hyperjoin.spark.verification.values import ColumnTuple
from datahub_hyperjoin.tables import ColumnId, Table
from datahub_hyperjoin.value_forms import Notation

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PartsOfPairs = tuple[ColumnPairs, CellParts]
"""Pairs of columns, of which the first is taken apart, and how it is."""


def verify_parts(
    session: "SparkSession | None",
    tables: Sequence[Table],
    wanted: Sequence[PartsOfPairs],
    *,
    texts: AbstractSet[ColumnId],
    config: ProfileConfig,
    note_unread: NoteUnread = log_unread,
) -> dict[PartsOfPairs, Evidence]:
    """Measure how well parts of cells match other columns; without tables that cannot be read."""
    counter = ValueCounter(session, config, note_unread)
    pairs = [ends for one in wanted for ends in _ends(*one)]
    found = iter(counter.count(tables, pairs, texts=texts, synonyms={}))
    counted = zip(wanted, zip(found, found, strict=True), strict=True)
    return {
        one: _evidence(*one, in_parts, as_written)
        for one, (in_parts, as_written) in counted
        if in_parts and as_written
    }


def _ends(pairs: ColumnPairs, parts: CellParts) -> Iterator[tuple[Counted, Counted]]:
    """Yield what is counted: the parts with the other columns, and both as they are written."""
    (column, other), *_ = pairs
    match parts.kind:
        case PartKind.ELEMENTS | PartKind.TEXT:
            yield (column, parts.words), (other, "")
        case PartKind.NUMBER:
            yield (column, parts.words), (other, Notation.PADDED)
        case PartKind.NUMBERS:
            own, its = parts.sides(str(other))
            yield (column, own.words), (other, its.words)
        case PartKind.JOINED:
            paths = tuple(each.path for _, each in pairs)
            yield (column, ""), (other.table, ColumnTuple(paths, glue=parts.mark))
        case PartKind.OF_TYPE:
            paths = tuple(each.path for each, _ in pairs)
            yield (column.table, ColumnTuple(paths, of_type=parts.mark)), (other, "")
    yield (column, ""), (other, "")


def _evidence(
    pairs: ColumnPairs, parts: CellParts, in_parts: CountedPair, as_written: CountedPair
) -> Evidence:
    evidence = replace(
        in_parts.evidence,
        compared_as=parts.words,
        rows_as_written=0 if len(pairs) > 1 else as_written.both.joined,
    )
    if parts.kind is not PartKind.ELEMENTS:
        return evidence
    # A row joins with as many rows as its list has elements.
    return replace(
        evidence,
        cardinality=CARDINALITY[in_parts.left.is_unique, False],
        left_fan_out=in_parts.both.joined / max(as_written.left.rows, 1),
    )
