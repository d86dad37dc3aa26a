"""What is known of a column after some of its rows, and how two such parts add up.

A tally is of bounded size however long the column is, and the tally of a whole column is the
merge of its parts' tallies. That lets one pass over a table see it a batch at a time.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from datahub_hyperjoin.normal import normal_forms
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.kinds import MISSING, kinds_of, type_of
from datahub_hyperjoin.spark.patterns import patterns
from datahub_hyperjoin.spark.sketch import (
    Values,
    distinct_values,
    estimate_distinct,
    merge,
    no_values,
    to_bytes,
)
from datahub_hyperjoin.tables import ColumnId, ColumnProfile, DataType, Lengths

_MISSING = pa.array(MISSING)
_EXACT_FLOATS = 2.0**53
_SHAPED = 256
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

    values: Values
    """The distinct values with the smallest hashes."""

    missing: Values
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
            lengths = _enclosing(self.lengths, _extremes(self.missing.written))
            values = merge([self.values, self.missing])
            return replace(self, values=values, missing=no_values(), lengths=lengths)
        nulls = self.nulls + int(self.missing.counts.sum())
        return replace(self, nulls=nulls, missing=no_values())


NOTHING = Tally(0, 0, frozenset(), no_values(), no_values(), _NO_LENGTH)
"""The tally of no rows."""


def tally(column: pa.Array, size: int) -> Tally:
    """Counts one batch of a column.

    Args:
        column: The rows, of any type that has a text.
        size: Distinct values kept.

    Returns:
        Its tally.
    """
    found = pc.value_counts(_plain(column))
    written, counts = _texts(found.field("values")), found.field("counts").to_numpy()
    normal = normal_forms(pc.fill_null(written, ""))
    missing, filled = pc.is_in(normal, value_set=_MISSING), pc.not_equal(normal, "")

    def chosen(rows: pa.Array) -> tuple[pa.Array, np.ndarray, pa.Array]:
        mask = rows.to_numpy(zero_copy_only=False)
        return normal.filter(rows), counts[mask], written.filter(rows)

    of_values = chosen(pc.and_not(filled, missing))
    return Tally(
        rows=len(column),
        nulls=int(chosen(pc.invert(filled))[1].sum()),
        kinds=kinds_of(of_values[0]),
        values=_bounded(distinct_values(*of_values).smallest(size)),
        missing=distinct_values(*chosen(missing)),
        lengths=_extremes(of_values[2]),
    )


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


def profile_column(
    id_: ColumnId, position: int, whole: Tally, *, config: ProfileConfig
) -> ColumnProfile:
    """The profile of a column from the tally of all its rows.

    Args:
        id_: Which column.
        position: Its place in the table.
        whole: Its tally, of one value more than the sketch has room for.
        config: How much to keep.

    Returns:
        The profile. Mean length is that of the values kept, each up to its first 1000 characters;
        shapes are those of the first 256 of them.
    """
    settled = whole.settled()
    values = settled.values.smallest(config.sketch_size)
    sample = values.smallest(config.sample_size)
    distinct = estimate_distinct(settled.values.hashes, config.sketch_size)
    return ColumnProfile(
        id=id_,
        position=position,
        type=settled.type,
        rows=settled.rows,
        nulls=settled.nulls,
        distinct=min(distinct, settled.rows - settled.nulls),
        sketch=to_bytes(values.hashes),
        sample=tuple(sample.written.to_pylist()),
        counts=tuple(sample.counts.tolist()),
        lengths=_lengths(settled.lengths, values.written),
        patterns=patterns(values.smallest(_SHAPED).written, config.pattern_count),
    )


def _lengths(extremes: tuple[int, int], written: pa.Array) -> Lengths:
    if not len(written):
        return Lengths(shortest=0, mean=0.0, longest=0)
    mean = pc.mean(pc.utf8_length(written)).as_py()
    return Lengths(shortest=extremes[0], mean=mean, longest=extremes[1])


def _bounded(values: Values) -> Values:
    """Keeps the beginning of long texts only: a column of documents must not fill the memory."""
    return replace(values, written=pc.utf8_slice_codeunits(values.written, 0, _LONGEST_KEPT))


def _extremes(written: pa.Array) -> tuple[int, int]:
    if not len(written):
        return _NO_LENGTH
    found = pc.min_max(pc.utf8_length(written)).as_py()
    return found["min"], found["max"]


def _enclosing(left: tuple[int, int], right: tuple[int, int]) -> tuple[int, int]:
    return min(left[0], right[0]), max(left[1], right[1])


def _plain(column: pa.Array) -> pa.Array:
    """The rows in a type that Arrow can count and write."""
    if isinstance(column, pa.ExtensionArray):
        return _plain(column.storage)
    for is_type, plain in _PLAIN:
        if is_type(column.type):
            return plain(column)
    return column


_PLAIN: tuple[tuple[Callable[[pa.DataType], bool], Callable[[pa.Array], pa.Array]], ...] = (
    (pa.types.is_dictionary, lambda column: _plain(column.dictionary_decode())),
    (pa.types.is_string_view, lambda column: column.cast(pa.string())),
    (pa.types.is_large_string, lambda column: column.cast(pa.string())),
    (pa.types.is_float16, lambda column: column.cast(pa.float32())),
    (pa.types.is_duration, lambda column: column.cast(pa.int64())),
    (pa.types.is_timestamp, lambda column: column.cast(pa.timestamp(column.type.unit))),
)


def _texts(distinct: pa.Array) -> pa.Array:
    written = distinct.cast(pa.string())
    if not pa.types.is_floating(distinct.type):
        return written
    # Arrow writes great whole floats with an exponent; an identifier has none.
    whole = pc.and_(
        pc.equal(pc.floor(distinct), distinct), pc.less(pc.abs(distinct), _EXACT_FLOATS)
    )
    whole = pc.fill_null(whole, False)  # noqa: FBT003 (Arrow's signature)
    if not pc.any(whole).as_py():
        return written
    digits = pc.if_else(whole, distinct, None).cast(pa.int64()).cast(pa.string())
    return pc.if_else(whole, digits, written)
