"""What is known of a column after some of its rows, and how two such parts add up.

A tally is of bounded size however long the column is, and the tally of a whole column is the
merge of its parts' tallies. That lets one pass over a table see it a batch at a time.

Many columns are tallied at once, their distinct values end to end in one array: most columns are
short, and what takes time is then the number of calls and not what they do.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from datahub_hyperjoin.arrow_bytes import Mask, Places, StringBytes, bounds_of, cut, reduce_each
from datahub_hyperjoin.normal_form import normal_forms
from datahub_hyperjoin.spark.counting.kinds import MISSING, kinds_of, type_of
from datahub_hyperjoin.spark.counting.sketch import (
    NO_VALUES,
    DistinctValues,
    Spellings,
    distinct_values,
    merge,
)
from datahub_hyperjoin.spark.counting.written import Written
from datahub_hyperjoin.tables import DataType

_MISSING = pa.array(MISSING)
_LONGEST_MISSING = max(map(len, MISSING))
_OPENINGS = np.frombuffer("".join(sorted({word[0] for word in MISSING})).encode(), np.uint8)
_LONGEST_KEPT = 1000
_NO_LENGTH = (2**31, 0)


@dataclass(frozen=True, slots=True, eq=False)
class Tally:
    """What some rows of a column hold."""

    rows: int
    """Rows seen."""

    nulls: int
    """Of these, rows without a value."""

    kinds: frozenset[DataType]
    """Kinds of the values, those of `missing` aside."""

    values: DistinctValues
    """The distinct values with the smallest hashes."""

    missing: DistinctValues
    """Words such as `NA`, which only the whole column can tell from values."""

    lengths: tuple[int, int]
    """Length of the shortest and of the longest value, those of `missing` aside."""

    @property
    def type(self) -> DataType:
        """The type that the kinds make."""
        return type_of(self.kinds)

    def settled(self, *, text: bool | None = None) -> "Tally":
        """Decides what words such as `NA` are, once the whole column is seen.

        Args:
            text: Whether it is a column of text; without it, as these rows tell.

        Returns:
            In a column of text they are values, in any other they are nulls.
        """
        if not len(self.missing):
            return self
        if text is None:
            text = bool(self.kinds) and self.type is DataType.TEXT
        if text:
            [extremes] = _extremes(self.missing.written, np.array([0, len(self.missing)]))
            lengths = _enclosing(self.lengths, extremes)
            values = merge([self.values, self.missing])
            return replace(self, values=values, missing=NO_VALUES, lengths=lengths)
        nulls = self.nulls + int(self.missing.counts.sum())
        return replace(self, nulls=nulls, missing=NO_VALUES)


NOTHING = Tally(0, 0, frozenset(), NO_VALUES, NO_VALUES, _NO_LENGTH)
"""The tally of no rows."""


def tally(columns: Sequence[Written], size: int) -> list[Tally]:
    """Says what one batch of each of several columns holds.

    Args:
        columns: Their texts.
        size: Distinct values kept of each.

    Returns:
        Their tallies.
    """
    parts = cut([column.values.get_total_buffer_size() for column in columns])
    return [one for part in parts for one in _tallied(columns[part], size)]


def add(left: Tally, right: Tally, *, size: int) -> Tally:
    """The tally of two parts of a column.

    Args:
        left: Of the rows before.
        right: Of the rows after.
        size: Distinct values kept.

    Returns:
        Of both together.
    """
    kinds = left.kinds | right.kinds
    return Tally(
        rows=left.rows + right.rows,
        nulls=left.nulls + right.nulls,
        kinds=frozenset({DataType.TEXT}) if DataType.TEXT in kinds else kinds,
        values=merge([left.values, right.values]).smallest(size),
        missing=merge([left.missing, right.missing]),
        lengths=_enclosing(left.lengths, right.lengths),
    )


def _tallied(columns: Sequence[Written], size: int) -> list[Tally]:
    written = pc.fill_null(pa.concat_arrays([column.values for column in columns]), "")
    normal = normal_forms(written)
    counts = np.concatenate([column.counts for column in columns])
    found = Spellings(
        normal, counts, written, bounds_of([len(column.values) for column in columns])
    )
    empty, missing = StringBytes.of(normal).lengths == 0, _missing(normal)
    nulls = reduce_each(np.add, counts * empty, found.bounds)
    values = found.chosen(~(empty | missing))
    kept = replace(values, written=_beginnings(values.written))
    facts = zip(
        [column.rows for column in columns],
        nulls.tolist(),
        kinds_of(values.normal, values.bounds),
        distinct_values(kept, size),
        distinct_values(found.chosen(missing)),
        _extremes(values.written, values.bounds),
        strict=True,
    )
    return [Tally(*fact) for fact in facts]


def _missing(normal: pa.Array) -> Mask:
    """Which normal forms are words for no value."""
    strings = StringBytes.of(normal)
    found = np.zeros(len(normal), np.bool_)
    short = np.flatnonzero(strings.lengths <= _LONGEST_MISSING)
    suspects = short[np.isin(strings.at(0, short), _OPENINGS)]
    words = normal.take(pa.array(suspects))
    found[suspects] = pc.is_in(words, value_set=_MISSING).to_numpy(zero_copy_only=False)
    return found


def _beginnings(written: pa.Array) -> pa.Array:
    """The beginning of long texts only: a column of documents must not fill the memory."""
    if StringBytes.of(written).lengths.max(initial=0) <= _LONGEST_KEPT:
        return written
    return pc.utf8_slice_codeunits(written, 0, _LONGEST_KEPT)


def _extremes(written: pa.Array, bounds: Places) -> list[tuple[int, int]]:
    """Lengths of the shortest and of the longest text of each column."""
    lengths = pc.utf8_length(written).to_numpy()
    ends = [reduce_each(end, lengths, bounds) for end in (np.minimum, np.maximum)]
    found = np.stack(ends, axis=1)
    found[np.diff(bounds) == 0] = _NO_LENGTH
    return [(shortest, longest) for shortest, longest in found.tolist()]


def _enclosing(left: tuple[int, int], right: tuple[int, int]) -> tuple[int, int]:
    return min(left[0], right[0]), max(left[1], right[1])
