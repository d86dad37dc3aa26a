"""Count the values of columns part by part, and merge the counts of the parts.

A partial aggregate has a bounded size, however long the column is. The aggregate of a whole column
is the merge of the aggregates of its parts, so one pass can read a table batch by batch.

Many columns are counted in one call, with their distinct values concatenated in one array. Most
columns are short, so the number of calls costs more than the work in them.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from typing import Generic, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from datahub_hyperjoin.arrow_bytes import (
    Indices,
    Mask,
    StringBytes,
    bounds_of,
    chunks_of,
    reduce_each,
)
from datahub_hyperjoin.normal_form import Hashes, normal_forms
from datahub_hyperjoin.spark.counting.notations import form_sketches
from datahub_hyperjoin.spark.counting.sketch import (
    NO_VALUES,
    DistinctValues,
    ValueCounts,
    distinct_values,
    merge_values,
)
from datahub_hyperjoin.spark.counting.texts import (
    MARKERS,
    NULL_WORDS,
    TextCounts,
    common_type,
    count_texts,
    types_of,
)
from datahub_hyperjoin.tables import DataType, ValueHash
from datahub_hyperjoin.value_forms import Notation

_NULL_WORDS = pa.array(NULL_WORDS)
_MARKERS = pa.array(MARKERS)
_MAY_BE_MARKER = np.isin(np.arange(64), [*map(len, MARKERS)])
"""Whether a marker has this length in bytes."""
_HAS_EDGES_OF_MARKER = np.zeros(1 << 16, np.bool_)
_EDGES = [ord(marker[0]) << 8 | ord(marker[-1]) for marker in MARKERS]
_HAS_EDGES_OF_MARKER[_EDGES] = True
"""Whether a marker begins with the first and ends with the second of two bytes."""
_LONGEST_NULL_WORD = max(map(len, NULL_WORDS))
_FIRST_BYTES = np.frombuffer("".join(sorted({word[0] for word in NULL_WORDS})).encode(), np.uint8)
LONGEST_TEXT = 1000
"""Number of characters kept of each text."""
_NO_LENGTHS = (2**31, 0)
"""Neutral element of `_merge_lengths`."""


@dataclass(frozen=True, slots=True, eq=False)
class ColumnAggregate:
    """The counts, types and distinct values of a column, or of some of its rows."""

    rows: int
    """Number of rows counted."""

    nulls: int
    """Number of these rows without a value."""

    types: frozenset[DataType]
    """Types of the values, not counting `null_words`."""

    values: DistinctValues
    """The distinct values with the smallest hashes."""

    null_words: DistinctValues
    """Words such as `NA`, which are nulls or values depending on the type of the whole column."""

    lengths: tuple[int, int]
    """Lengths of the shortest and of the longest value, not counting `null_words`."""

    forms: Mapping[Notation, Hashes] = field(default_factory=dict)
    """For each possible notation of the values, the smallest hashes after conversion from this
    notation. A notation that is not listed changes none of the values."""

    markers: DistinctValues = NO_VALUES
    """The values that often stand for a missing one, such as -1."""

    is_exact: bool = True
    """Whether each text but `markers` is in one row only, before normal forms make some of them
    equal."""

    placeholders: DistinctValues = NO_VALUES
    """The values that count as nulls, since they stand for a missing key."""

    @property
    def type(self) -> DataType:
        """The data type that fits all values of the column."""
        return common_type(self.types)

    def resolve_null_words(self, *, is_text: bool | None = None) -> "ColumnAggregate":
        """Count words such as `NA` as values in a text column, and as nulls in any other column.

        All rows of the column must have been counted. If `is_text` is None, the types of the other
        values decide.
        """
        if not len(self.null_words):
            return self
        if is_text is None:
            is_text = bool(self.types) and self.type is DataType.TEXT
        if is_text:
            [extremes] = _extremes(self.null_words.texts, np.array([0, len(self.null_words)]))
            lengths = _merge_lengths(self.lengths, extremes)
            values = merge_values([self.values, self.null_words])
            markers = merge_values([self.markers, self.null_words])
            return replace(
                self, values=values, null_words=NO_VALUES, lengths=lengths, markers=markers
            )
        nulls = self.nulls + int(self.null_words.counts.sum())
        return replace(self, nulls=nulls, null_words=NO_VALUES)


EMPTY_AGGREGATE = ColumnAggregate(0, 0, frozenset(), NO_VALUES, NO_VALUES, _NO_LENGTHS)
"""The aggregate of no rows."""


def aggregate_columns(
    columns: Sequence[TextCounts],
    size: int,
    *,
    in_forms: bool = True,
    value_hash: ValueHash = ValueHash.SIPHASH,
) -> list[ColumnAggregate]:
    """For each column, aggregate a batch of rows, and keep at most `size` distinct values.

    If `in_forms`, the values are also sketched in the notations in which they may be written.
    """
    count = partial(_aggregate_chunk, size=size, in_forms=in_forms, value_hash=value_hash)
    return _in_chunks(count, columns)


def count_all(columns: Sequence[TextCounts]) -> list[ColumnAggregate]:
    """For each column, count all values in a batch of rows, without their texts and lengths."""
    return _in_chunks(_count_chunk, columns)


def _in_chunks(
    count: Callable[[Sequence[TextCounts]], list[ColumnAggregate]], columns: Sequence[TextCounts]
) -> list[ColumnAggregate]:
    chunks = chunks_of([column.values.get_total_buffer_size() for column in columns])
    return [aggregate for chunk in chunks for aggregate in count(columns[chunk])]


def merge_aggregates(parts: Sequence[ColumnAggregate], *, size: int) -> ColumnAggregate:
    """Merge the aggregates of parts of a column, and keep at most `size` distinct values."""
    return reduce(partial(_merge_two, size=size), parts)


def _merge_two(left: ColumnAggregate, right: ColumnAggregate, *, size: int) -> ColumnAggregate:
    types = left.types | right.types
    return ColumnAggregate(
        rows=left.rows + right.rows,
        nulls=left.nulls + right.nulls,
        # Text fits all values, so the other types no longer matter.
        types=frozenset({DataType.TEXT}) if DataType.TEXT in types else types,
        values=merge_values([left.values, right.values]).smallest(size),
        null_words=merge_values([left.null_words, right.null_words]),
        lengths=_merge_lengths(left.lengths, right.lengths),
        forms={
            notation: np.union1d(_in_form(left, notation), _in_form(right, notation))[:size]
            for notation in {**left.forms, **right.forms}
        },
        markers=merge_values([left.markers, right.markers]),
        is_exact=left.is_exact and right.is_exact and _differ(left, right),
    )


def merge_counted(parts: Sequence[ColumnAggregate]) -> ColumnAggregate:
    """Merge the counts of all values in several parts of a column."""
    return ColumnAggregate(
        rows=sum(part.rows for part in parts),
        nulls=sum(part.nulls for part in parts),
        types=frozenset().union(*(part.types for part in parts)),
        values=merge_values([part.values for part in parts]),
        null_words=merge_values([part.null_words for part in parts]),
        lengths=_NO_LENGTHS,
    )


def _differ(left: ColumnAggregate, right: ColumnAggregate) -> bool:
    """Return whether two parts share no text but markers, as their smallest hashes show."""
    own = [
        part.values.where(~np.isin(part.values.hashes, part.markers.hashes))
        for part in (left, right)
    ]
    _, *at = np.intersect1d(own[0].hashes, own[1].hashes, assume_unique=True, return_indices=True)
    one, other = (each.texts.take(pa.array(index)) for each, index in zip(own, at, strict=True))
    return not pc.any(pc.equal(one, other), min_count=0).as_py()


def _in_form(part: ColumnAggregate, notation: Notation) -> Hashes:
    # A notation that is not listed leaves all values, and so all hashes, as they are.
    return part.forms.get(notation, part.values.hashes)


class _Entries(NamedTuple):
    """The texts of several columns: nulls, words that may be null, and values."""

    nulls: list[int]
    """Number of rows of each column without a value."""

    values: ValueCounts
    null_words: ValueCounts
    types: list[frozenset[DataType]]


def _entries_of(columns: Sequence[TextCounts]) -> _Entries:
    """Tell apart nulls, null words and values of all columns of a chunk at once.

    Null words stay apart until the type of the whole column is known; there are few of them, so
    all are kept.
    """
    texts = pc.fill_null(pa.concat_arrays([column.values for column in columns]), "")
    normal = normal_forms(texts)
    counts = np.concatenate([column.counts for column in columns])
    bounds = bounds_of([len(column.values) for column in columns])
    entries = ValueCounts(normal, counts, texts, bounds)
    is_null, is_null_word = StringBytes.of(normal).lengths == 0, _is_null_word(normal)
    nulls = reduce_each(np.add, counts * is_null, bounds)
    values = entries.filter(~(is_null | is_null_word))
    types = types_of(values.normal, values.bounds)
    return _Entries(nulls.tolist(), values, entries.filter(is_null_word), types)


def _count_chunk(columns: Sequence[TextCounts]) -> list[ColumnAggregate]:
    """Count all values of each column, for all columns of a chunk at once."""
    nulls, values, null_words, types = _entries_of(columns)
    # Texts would take most of the memory.
    values = replace(values, texts=pa.nulls(len(values.texts), pa.string()))
    rows = [column.rows for column in columns]
    fields = rows, nulls, types, distinct_values(values), distinct_values(null_words)
    return [ColumnAggregate(*each, _NO_LENGTHS) for each in zip(*fields, strict=True)]


def _aggregate_chunk(
    columns: Sequence[TextCounts], size: int, *, in_forms: bool, value_hash: ValueHash
) -> list[ColumnAggregate]:
    """Compute the `ColumnAggregate` of each column, for all columns of a chunk at once."""
    nulls, values, null_words, types = _entries_of(columns)
    are_markers = _are_markers(values.normal)
    shortened = replace(values, texts=_shorten(values.texts))
    forms: Sequence[Mapping[Notation, Hashes]] = [{}] * len(types)
    if in_forms:
        forms = form_sketches(values.normal, values.bounds, types, size, value_hash)
    fields = zip(
        [column.rows for column in columns],
        nulls,
        types,
        distinct_values(shortened, size, value_hash),
        distinct_values(null_words, value_hash=value_hash),
        _extremes(values.texts, values.bounds),
        forms,
        distinct_values(values.filter(are_markers), value_hash=value_hash),
        (reduce_each(np.maximum, values.counts * ~are_markers, values.bounds) <= 1).tolist(),
        strict=True,
    )
    return [ColumnAggregate(*column_fields) for column_fields in fields]


def _is_null_word(normal: pa.Array) -> Mask:
    """Return a mask that selects words such as `NA`, which may mean null.

    Length and first byte rule out nearly all values before the set look-up, which is slower.
    """
    strings = StringBytes.of(normal)
    short = np.flatnonzero(strings.lengths <= _LONGEST_NULL_WORD)
    return _mark(normal, short[np.isin(strings.at(0, short), _FIRST_BYTES)], _NULL_WORDS)


def _are_markers(normal: pa.Array) -> Mask:
    """Return a mask that selects values that often stand for a missing one."""
    strings = StringBytes.of(normal)
    lengths = strings.lengths
    suspects = np.flatnonzero(_MAY_BE_MARKER[np.minimum(lengths, len(_MAY_BE_MARKER) - 1)])
    # Length and edges rule out most values before the set look-up, as above.
    edges = strings.at(0, suspects).astype(np.uint16) << 8 | strings.at(-1, suspects)
    suspects = suspects[_HAS_EDGES_OF_MARKER[edges]]
    return _mark(normal, suspects, _MARKERS)


def _mark(normal: pa.Array, suspects: Indices, words: pa.Array) -> Mask:
    """Return a mask of those suspects that are among some words."""
    marks = np.zeros(len(normal), np.bool_)
    found = pc.is_in(normal.take(pa.array(suspects)), value_set=words)
    marks[suspects] = found.to_numpy(zero_copy_only=False)
    return marks


def _shorten(texts: pa.Array) -> pa.Array:
    """Truncate long texts, so that documents do not fill the memory."""
    # Bytes bound the characters from above, so most batches need no count of characters.
    if StringBytes.of(texts).lengths.max(initial=0) <= LONGEST_TEXT:
        return texts
    return pc.utf8_slice_codeunits(texts, 0, LONGEST_TEXT)


def _extremes(texts: pa.Array, bounds: Indices) -> list[tuple[int, int]]:
    """For each column, return the lengths of its shortest and its longest text."""
    lengths = pc.utf8_length(texts).to_numpy()
    ends = [reduce_each(end, lengths, bounds) for end in (np.minimum, np.maximum)]
    extremes = np.stack(ends, axis=1)
    extremes[np.diff(bounds) == 0] = _NO_LENGTHS
    return [(shortest, longest) for shortest, longest in extremes.tolist()]


def _merge_lengths(left: tuple[int, int], right: tuple[int, int]) -> tuple[int, int]:
    return min(left[0], right[0]), max(left[1], right[1])


# Most tables are short, and then the number of calls costs more time than the work in each. The
# texts of columns are therefore collected until there are enough to be aggregated in one call; a
# long table fills this buffer several times.

_BUFFER_BYTES = 1 << 20
"""Size at which the buffer is aggregated; a larger buffer is not faster."""
_COLUMN_BYTES = 1 << 8
"""Bytes that each column adds to the estimated size of the buffer, besides its texts."""
_MOST_PARTS = 8
"""Number of parts of a column that are merged at once, since a merge sorts all values again; more
would take more memory where values repeat."""

_Key = TypeVar("_Key", bound=Hashable)


class AggregateBuffer(Generic[_Key]):
    """The aggregates of columns, of which some batches are still waiting to be aggregated.

    Args:
        aggregate: Aggregates a batch of each of several columns.
        merge: Merges the aggregates of the first parts of a column, in their order.
    """

    def __init__(
        self,
        aggregate: Callable[[Sequence[TextCounts]], list[ColumnAggregate]],
        merge: Callable[[Sequence[ColumnAggregate]], ColumnAggregate],
    ) -> None:
        self._aggregate = aggregate
        self._merge = merge
        self._waiting: list[tuple[_Key, TextCounts]] = []
        self._bytes = 0
        self._parts: dict[_Key, list[ColumnAggregate]] = {}
        self.was_full = False
        """Whether further tables should be added to another buffer."""

    def read(self, batches: Iterable[pa.RecordBatch], key: Callable[[str], _Key]) -> int:
        """Add all columns of a table, and return its number of rows; forget it if this fails."""
        rows, keys = 0, dict[str, _Key]()
        try:
            for batch in batches:
                rows += len(batch)
                for path, column in zip(batch.schema.names, batch.columns, strict=True):
                    if path not in keys:
                        keys[path] = key(path)
                    self.add(keys[path], count_texts(column))
                self.flush_if_full()
        except Exception:
            # Earlier batches of the table may be in the buffer already.
            self.remove({*keys.values()}.__contains__)
            raise
        return rows

    def flush_if_full(self) -> None:
        """Aggregate the batches that wait if they are many."""
        if self._bytes > _BUFFER_BYTES:
            self.was_full = True
            self._flush()

    def add(self, column: _Key, texts: TextCounts) -> None:
        """Add a batch of a column, after all earlier ones of this column."""
        self._waiting.append((column, texts))
        self._bytes += texts.values.get_total_buffer_size() + _COLUMN_BYTES

    def keep(self, column: _Key, aggregate: ColumnAggregate) -> None:
        """Add the aggregate of a part of a column."""
        parts = self._parts.setdefault(column, [])
        parts.append(aggregate)
        if len(parts) == _MOST_PARTS:
            parts[:] = [self._merge(parts)]

    def finish(self) -> dict[_Key, ColumnAggregate]:
        """Return the aggregates of all columns, with those of the batches that wait."""
        self._flush()
        return {
            column: self._merge(parts) if len(parts) > 1 else parts[0]
            for column, parts in self._parts.items()
        }

    def _flush(self) -> None:
        counted = self._aggregate([texts for _, texts in self._waiting])
        for (column, _), aggregate in zip(self._waiting, counted, strict=True):
            self.keep(column, aggregate)
        self._waiting, self._bytes = [], 0

    def remove(self, is_removed: Callable[[_Key], bool]) -> None:
        """Forget columns, such as those of a table that can no longer be read."""
        self._waiting = [each for each in self._waiting if not is_removed(each[0])]
        kept = self._parts.items()
        self._parts = {column: each for column, each in kept if not is_removed(column)}
