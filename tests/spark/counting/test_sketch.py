"""Test the numbers of distinct values from sketches against exact counts."""

from collections import Counter
from unittest import mock

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from datahub_hyperjoin.arrow_bytes import bounds_of
from datahub_hyperjoin.normal_form import hash_values
from datahub_hyperjoin.spark.counting import sketch
from datahub_hyperjoin.spark.counting.sketch import (
    DistinctValues,
    HashCounts,
    ValueCounts,
    distinct_values,
    estimate_distinct,
    merge_values,
    to_bytes,
)

WORDS = st.lists(st.text("abc", max_size=3), min_size=1)


def values_of(words: list[str]) -> DistinctValues:
    array = pa.array(words, pa.string())
    [values] = distinct_values(
        ValueCounts(array, np.ones(len(words), np.int64), array, bounds_of([len(words)]))
    )
    return values


@given(WORDS)
def test_counts_equal_those_of_a_plain_count(words: list[str]) -> None:
    values = values_of(words)
    assert dict(zip(values.texts.to_pylist(), values.counts, strict=True)) == Counter(words)
    assert (np.diff(values.hashes.astype(object)) > 0).all()


@given(WORDS, WORDS, st.integers(1, 8))
def test_cutting_before_merging_equals_cutting_afterwards(
    left: list[str], right: list[str], k: int
) -> None:
    whole = values_of(left + right).smallest(k)
    parts = merge_values([values_of(left).smallest(k), values_of(right).smallest(k)]).smallest(k)
    assert parts.hashes.tolist() == whole.hashes.tolist()
    assert parts.counts.tolist() == whole.counts.tolist()
    assert parts.texts.equals(whole.texts)


@given(st.lists(st.lists(st.integers(0, 9), max_size=4), max_size=40))
def test_hashes_counted_part_by_part_equal_a_plain_count(parts: list[list[int]]) -> None:
    counts = HashCounts()
    with mock.patch.object(sketch, "_MOST_WAITING", 5):
        for part in parts:
            counts.add(np.array(part, np.uint64))
        values = counts.values()
    plain = Counter(number for part in parts for number in part)
    assert dict(zip(values.hashes.tolist(), values.counts.tolist(), strict=True)) == plain
    assert values.hashes.tolist() == sorted(plain)


@given(st.lists(WORDS | st.just([]), min_size=1, max_size=5), st.integers(1, 4))
def test_grouping_columns_together_equals_grouping_each_alone(
    columns: list[list[str]], size: int
) -> None:
    array = pa.array([word for words in columns for word in words], pa.string())
    bounds = bounds_of(list(map(len, columns)))
    together = distinct_values(
        ValueCounts(array, np.ones(len(array), np.int64), array, bounds), size
    )
    for values, words in zip(together, columns, strict=True):
        alone = values_of(words).smallest(size)
        assert values.hashes.tolist() == alone.hashes.tolist()
        assert values.counts.tolist() == alone.counts.tolist()
        assert values.texts.equals(alone.texts)


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [3, 2, 1, 0]])
def test_the_shortest_text_is_kept_whichever_comes_first(order: list[int]) -> None:
    normal = pa.array(["rome", "rome", "4", "4"]).take(pa.array(order))
    written = pa.array(["Rome ", "ROME", "4.0", "4"]).take(pa.array(order))
    counts = np.array([2, 3, 1, 1])[order]
    [values] = distinct_values(ValueCounts(normal, counts, written, bounds_of([4])))
    assert dict(zip(values.texts.to_pylist(), values.counts.tolist(), strict=True)) == {
        "ROME": 5,
        "4": 2,
    }


@pytest.mark.parametrize("distinct", [1, 1024, 1025, 5_000, 100_000])
def test_the_number_of_distinct_values_is_exact_up_to_the_sketch_size(distinct: int) -> None:
    size = 1024
    kept = values_of([f"order {number}" for number in range(distinct)]).smallest(size + 1)
    estimate = estimate_distinct(kept.hashes, size)
    if distinct <= size:
        assert estimate == distinct
    else:
        assert estimate == pytest.approx(distinct, rel=4 / size**0.5)


def test_a_sketch_is_little_endian() -> None:
    hashes = hash_values(pa.array(["oslo", "rome"]))
    assert np.frombuffer(to_bytes(hashes), "<u8").tolist() == hashes.tolist()
