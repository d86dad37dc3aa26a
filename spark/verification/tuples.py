"""Hash and count tuples of values.

A tuple combines the values of one row in several columns. The hash of a tuple is computed from the
hashes of its values: two tables have a tuple in common if all values are equal in normal form. A
row with a null in any column has no tuple, as in SQL.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from datahub_hyperjoin.arrow_bytes import StringBytes
from datahub_hyperjoin.normal_form import Hashes, hash_values, normal_forms
from datahub_hyperjoin.spark.counting.sketch import DistinctValues
from datahub_hyperjoin.spark.counting.text_counts import countable, texts_of
from datahub_hyperjoin.spark.counting.value_types import NULL_WORDS

_NULL_WORDS = pa.array(NULL_WORDS)
_FACTOR, _SHIFT = np.uint64(0x9E3779B97F4A7C15), np.uint64(29)
"""Multiplier and shift of a 64-bit mixing step (Steele et al., SplitMix, 2014)."""


@dataclass(frozen=True, slots=True)
class ColumnTuple:
    """Several columns of a table that are compared as one."""

    paths: tuple[str, ...]
    """Paths of the columns, in the order of the columns that they are compared with."""

    shuffled: int | None = None
    """Index of a column whose values are shuffled among the rows. The tuples then show how many
    rows would match by chance if this column had nothing to do with the others."""


@dataclass(frozen=True, slots=True, eq=False)
class HashedColumn:
    """The hashes of a column's values, row by row."""

    hashes: Hashes
    """Hashes of normal forms; arbitrary where there is no value."""

    is_filled: npt.NDArray[np.bool_]
    """Whether the row has a value."""


def hash_rows(column: pa.Array, *, is_text: bool) -> HashedColumn:
    """Hash the value in each row of a column.

    Args:
        column: Rows of any type that has a text form.
        is_text: Whether the whole column is text, in which words such as `NA` are values.

    Returns:
        Hashes of the normal forms; a value with an empty normal form is a null.
    """
    encoded = countable(column).dictionary_encode()
    normal = normal_forms(pc.fill_null(texts_of(encoded.dictionary), ""))
    filled = StringBytes.of(normal).lengths > 0
    if not is_text:
        filled &= ~pc.is_in(normal, value_set=_NULL_WORDS).to_numpy(zero_copy_only=False)
    codes = pc.fill_null(encoded.indices, -1).to_numpy(zero_copy_only=False)
    if not len(normal):
        return HashedColumn(np.zeros(len(codes), np.uint64), np.zeros(len(codes), np.bool_))
    # A null has the code -1, and any hash will do for it.
    return HashedColumn(hash_values(normal)[codes], filled[codes] & (codes >= 0))


def hash_tuples(columns: Iterable[HashedColumn]) -> Hashes:
    """Hash the tuple of each row, and leave out the rows in which a value is missing.

    Returns:
        One hash per row without missing values; another order of values gives another hash.

    Examples:
        >>> import pyarrow as pa
        >>> letters = hash_rows(pa.array(["a", "b", "A", None]), is_text=True)
        >>> numbers = hash_rows(pa.array([1, 1, 1, 2]), is_text=False)
        >>> first, second, third = hash_tuples([letters, numbers])
        >>> bool(first == third), bool(first == second)
        (True, False)
    """
    members = [*columns]
    is_filled = np.logical_and.reduce([member.is_filled for member in members])
    return _mix([member.hashes[is_filled] for member in members])


def count_tuples(
    batch: pa.RecordBatch,
    tuples: Collection[ColumnTuple],
    texts: Collection[str],
    seed: int = 0,
) -> dict[ColumnTuple, DistinctValues]:
    """For each tuple of columns, count the distinct combinations of values in a batch of rows.

    Args:
        texts: Paths of the columns of text, in which words such as `NA` are values.
        seed: Determines how columns are shuffled; another one for each batch of a table.

    Returns:
        The distinct hashes and the rows of each, by tuple.
    """
    columns = hash_columns(batch, tuples, texts)
    return {
        wanted: _count(_hashes_of(wanted, columns, seed))
        for wanted in tuples
        if all(path in columns for path in wanted.paths)
    }


def hash_columns(
    batch: pa.RecordBatch, tuples: Collection[ColumnTuple], texts: Collection[str]
) -> dict[str, HashedColumn]:
    """Hash the columns of a batch that belong to any of the given column tuples."""
    needed = {path for wanted in tuples for path in wanted.paths}
    return {
        path: hash_rows(batch.column(path), is_text=path in texts)
        for path in batch.schema.names
        if path in needed
    }


def _hashes_of(wanted: ColumnTuple, columns: Mapping[str, HashedColumn], seed: int) -> Hashes:
    members = [columns[path] for path in wanted.paths]
    if wanted.shuffled is None:
        return hash_tuples(members)
    is_filled = np.logical_and.reduce([member.is_filled for member in members])
    hashes = [member.hashes[is_filled] for member in members]
    # Another seed for each batch, or a table in a fixed rhythm would not be shuffled at all.
    random = np.random.default_rng(seed)
    hashes[wanted.shuffled] = random.permutation(hashes[wanted.shuffled])
    return _mix(hashes)


def _mix(hashes: Iterable[Hashes]) -> Hashes:
    first, *others = hashes
    mixed = first.copy()
    for other in others:
        mixed *= _FACTOR
        mixed ^= mixed >> _SHIFT
        mixed += other
    return mixed


def _count(hashes: Hashes) -> DistinctValues:
    distinct, counts = np.unique(hashes, return_counts=True)
    return DistinctValues(distinct, counts.astype(np.int64), pa.nulls(len(distinct), pa.string()))
