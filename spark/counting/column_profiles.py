"""Build column profiles from aggregates."""

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from datahub_hyperjoin.arrow_bytes import Indices, bounds_of, chunks_of, reduce_each
from datahub_hyperjoin.spark.columns import Column
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.counting.aggregate import ColumnAggregate
from datahub_hyperjoin.spark.counting.notations import column_notations
from datahub_hyperjoin.spark.counting.patterns import patterns
from datahub_hyperjoin.spark.counting.sketch import DistinctValues, estimate_distinct, to_bytes
from datahub_hyperjoin.tables import ColumnId, ColumnProfile, DataType, Lengths
from datahub_hyperjoin.value_forms import Notation


class CountedColumn(NamedTuple):
    """A column, with the aggregate of its values in all rows."""

    id: ColumnId
    """The column."""

    position: int
    """Position of the column in the table, from 0."""

    aggregate: ColumnAggregate
    """Aggregate of the column's values. It holds one more hash than the sketch will keep."""


def profile_columns(columns: Sequence[CountedColumn], config: ProfileConfig) -> list[ColumnProfile]:
    """Build the profiles of several columns.

    Returns:
        One profile per column. The mean length covers the values in the sketch, each cut to its
        first 1000 characters; the patterns cover the sample.
    """
    resolved = [
        CountedColumn(column.id, column.position, column.aggregate.resolve_null_words())
        for column in columns
    ]
    sizes = [len(column.aggregate.values) * column.aggregate.lengths[1] for column in resolved]
    # Columns are processed in chunks so that their texts fit in memory together.
    return [
        profile for chunk in chunks_of(sizes) for profile in _profile_chunk(resolved[chunk], config)
    ]


def opaque_profile(id_: ColumnId, column: Column, *, rows: int) -> ColumnProfile:
    """Build a profile without values for a column whose values cannot be compared."""
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


def _profile_chunk(columns: Sequence[CountedColumn], config: ProfileConfig) -> list[ColumnProfile]:
    """Profile several columns together, because this takes fewer calls to Arrow.

    Sketch, sample and patterns nest: the sample is the beginning of the sketch, and the patterns
    are those of the sample. All samples are converted to Python in one call, because the calls
    take longer than the conversion.
    """
    sketches = [column.aggregate.values.smallest(config.sketch_size) for column in columns]
    samples = [values.smallest(config.sample_size) for values in sketches]
    texts, bounds = _concatenate_texts(samples)
    all_texts = texts.to_pylist()
    sample_texts = [
        tuple(all_texts[begin:end]) for begin, end in itertools.pairwise(bounds.tolist())
    ]
    column_patterns = patterns(texts, bounds, config.pattern_count)
    notations = column_notations(samples, [column.aggregate.forms for column in columns])
    parts = zip(
        *(columns, sketches, samples, sample_texts, _means(sketches), column_patterns, notations),
        strict=True,
    )
    return [
        ColumnProfile(
            id=id_,
            position=position,
            type=aggregate.type,
            rows=aggregate.rows,
            nulls=aggregate.nulls,
            # The estimate may exceed the number of rows that have a value.
            distinct=min(
                estimate_distinct(aggregate.values.hashes, config.sketch_size),
                aggregate.rows - aggregate.nulls,
            ),
            sketch=to_bytes(sketch.hashes),
            sample=sample_text,
            counts=tuple(sample.counts.tolist()),
            lengths=_lengths(aggregate.lengths, mean),
            patterns=shapes,
            notation=notation,
            form_sketch=_form_sketch(aggregate, notation, config.sketch_size),
        )
        for (id_, position, aggregate), sketch, sample, sample_text, mean, shapes, notation in parts
    ]


def _form_sketch(aggregate: ColumnAggregate, notation: Notation | None, size: int) -> bytes:
    if notation is None or notation not in aggregate.forms:
        return b""
    return to_bytes(aggregate.forms[notation][:size])


def _concatenate_texts(columns: Sequence[DistinctValues]) -> tuple[pa.Array, Indices]:
    texts = pa.concat_arrays([values.texts for values in columns])
    return texts, bounds_of([len(values) for values in columns])


def _means(columns: Sequence[DistinctValues]) -> list[float]:
    """For each column, return the mean length of its texts.

    It is 0 for a column without values.
    """
    texts, bounds = _concatenate_texts(columns)
    sums = reduce_each(np.add, pc.utf8_length(texts).to_numpy(), bounds)
    return (sums / np.maximum(np.diff(bounds), 1)).tolist()


def _lengths(extremes: tuple[int, int], mean: float) -> Lengths:
    shortest, longest = extremes
    # The shortest length of no values is greater than any length.
    return Lengths(shortest=min(shortest, longest), mean=mean, longest=longest)
