"""The profiles of columns from the tallies of all their rows."""

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from datahub_hyperjoin.arrow_bytes import Places, bounds_of, cut, reduce_each
from datahub_hyperjoin.spark.columns import Column
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.counting.patterns import patterns
from datahub_hyperjoin.spark.counting.sketch import DistinctValues, estimate_distinct, to_bytes
from datahub_hyperjoin.spark.counting.tally import Tally
from datahub_hyperjoin.tables import ColumnId, ColumnProfile, DataType, Lengths


class Whole(NamedTuple):
    """A column all rows of which are tallied."""

    id: ColumnId
    """Which column."""

    position: int
    """Its place in the table."""

    tally: Tally
    """Its tally, of one value more than the sketch has room for."""


def profile_columns(columns: Sequence[Whole], config: ProfileConfig) -> list[ColumnProfile]:
    """The profiles of columns, of one table or of several.

    Args:
        columns: The columns.
        config: How much to keep.

    Returns:
        As many profiles. Mean length is that of the values kept, each up to its first 1000
        characters; shapes are those of the sample.
    """
    settled = [Whole(one.id, one.position, one.tally.settled()) for one in columns]
    sizes = [len(one.tally.values) * one.tally.lengths[1] for one in settled]
    return [profile for some in cut(sizes) for profile in _profiled(settled[some], config)]


def opaque_profile(id_: ColumnId, column: Column, *, rows: int) -> ColumnProfile:
    """The profile of a column whose values cannot be compared.

    Args:
        id_: Which column.
        column: The same as its table has it.
        rows: Rows of the table.

    Returns:
        A profile without values.
    """
    return ColumnProfile(
        id=id_,
        position=column.position,
        type=column.opaque or DataType.NESTED,
        rows=rows,
        nulls=0,
        distinct=0,
        sketch=b"",
        sample=(),
        counts=(),
        lengths=Lengths(shortest=0, mean=0.0, longest=0),
        patterns=(),
    )


def _profiled(columns: Sequence[Whole], config: ProfileConfig) -> list[ColumnProfile]:
    kept = [one.tally.values.smallest(config.sketch_size) for one in columns]
    sampled = [values.smallest(config.sample_size) for values in kept]
    texts, bounds = _end_to_end(sampled)
    listed = texts.to_pylist()
    samples = [tuple(listed[begin:end]) for begin, end in itertools.pairwise(bounds.tolist())]
    shaped = patterns(texts, bounds, config.pattern_count)
    facts = zip(columns, kept, sampled, samples, _means(kept), shaped, strict=True)
    return [
        ColumnProfile(
            id=id_,
            position=position,
            type=whole.type,
            rows=whole.rows,
            nulls=whole.nulls,
            distinct=min(
                estimate_distinct(whole.values.hashes, config.sketch_size),
                whole.rows - whole.nulls,
            ),
            sketch=to_bytes(values.hashes),
            sample=sample,
            counts=tuple(some.counts.tolist()),
            lengths=_lengths(whole.lengths, mean),
            patterns=found,
        )
        for (id_, position, whole), values, some, sample, mean, found in facts
    ]


def _end_to_end(columns: Sequence[DistinctValues]) -> tuple[pa.Array, Places]:
    written = pa.concat_arrays([values.written for values in columns])
    return written, bounds_of([len(values) for values in columns])


def _means(columns: Sequence[DistinctValues]) -> list[float]:
    """Mean length of each column's texts, 0 without any."""
    written, bounds = _end_to_end(columns)
    sums = reduce_each(np.add, pc.utf8_length(written).to_numpy(), bounds)
    return (sums / np.maximum(np.diff(bounds), 1)).tolist()


def _lengths(extremes: tuple[int, int], mean: float) -> Lengths:
    shortest, longest = extremes
    return Lengths(shortest=min(shortest, longest), mean=mean, longest=longest)
