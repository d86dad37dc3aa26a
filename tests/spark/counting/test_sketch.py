"""Whether distinct values are counted, merged and estimated as a plain count says."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from datahub_hyperjoin.arrow_bytes import bounds_of
from datahub_hyperjoin.normal_form import hash_values
from datahub_hyperjoin.spark.counting.sketch import (
    DistinctValues,
    ValueCounts,
    distinct_values,
    estimate_distinct,
    merge_values,
    to_bytes,
)

WORDS = st.lists(st.text("abc", max_size=3), min_size=1)


def values_of(words: list[str]) -> DistinctValues:
    array = pa.array(words, pa.string())
    [found] = distinct_values(
        ValueCounts(array, np.ones(len(words), np.int64), array, bounds_of([len(words)]))
    )
    return found


@given(WORDS)
def test_counts_are_those_of_a_plain_count(words: list[str]) -> None:
    found = values_of(words)
    assert dict(zip(found.texts.to_pylist(), found.counts, strict=True)) == Counter(words)
    assert (np.diff(found.hashes.astype(object)) > 0).all()


@given(WORDS, WORDS, st.integers(1, 8))
def test_cutting_before_a_merge_loses_nothing(left: list[str], right: list[str], k: int) -> None:
    whole = values_of(left + right).smallest(k)
    parts = merge_values([values_of(left).smallest(k), values_of(right).smallest(k)]).smallest(k)
    assert parts.hashes.tolist() == whole.hashes.tolist()
    assert parts.counts.tolist() == whole.counts.tolist()
    assert parts.texts.equals(whole.texts)


@given(st.lists(WORDS | st.just([]), min_size=1, max_size=5), st.integers(1, 4))
def test_several_columns_are_gathered_as_each_alone(columns: list[list[str]], size: int) -> None:
    array = pa.array([word for words in columns for word in words], pa.string())
    bounds = bounds_of(list(map(len, columns)))
    together = distinct_values(
        ValueCounts(array, np.ones(len(array), np.int64), array, bounds), size
    )
    for found, words in zip(together, columns, strict=True):
        alone = values_of(words).smallest(size)
        assert found.hashes.tolist() == alone.hashes.tolist()
        assert found.counts.tolist() == alone.counts.tolist()
        assert found.texts.equals(alone.texts)


def test_the_first_spelling_is_kept() -> None:
    normal, written = pa.array(["rome", "rome"]), pa.array(["Rome", "ROME"])
    [found] = distinct_values(ValueCounts(normal, np.array([2, 3]), written, bounds_of([2])))
    assert (found.texts.to_pylist(), found.counts.tolist()) == (["Rome"], [5])


@pytest.mark.parametrize("distinct", [1, 1024, 1025, 5_000, 100_000])
def test_the_number_of_distinct_values_is_exact_and_then_close(distinct: int) -> None:
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
