"""Test vectorised operations on bytes against Python's own."""

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from datahub_hyperjoin.arrow_bytes import (
    StringBytes,
    bounds_of,
    chunks_of,
    index_within,
    reduce_each,
)

STRINGS = st.lists(st.text("ab-é", max_size=4), max_size=12)


@given(STRINGS, st.integers(0, 12), st.integers(-3, 3))
def test_bytes_are_those_of_each_string(strings: list[str], skipped: int, position: int) -> None:
    array = pa.array(strings, pa.string())[skipped:]
    found = StringBytes.of(array)
    encoded = [string.encode() for string in strings[skipped:]]
    assert found.lengths.tolist() == [*map(len, encoded)]
    assert found.containing(found.data == ord("-")).tolist() == [b"-" in each for each in encoded]
    assert found.count(found.data == ord("-")).tolist() == [each.count(b"-") for each in encoded]
    letters = bytes(1 + (byte != ord("-")) for byte in range(256))
    bits = [sum({letters[byte] for byte in each}) for each in encoded]
    assert found.classes(letters).tolist() == bits
    expected = [each[position:][:1] for each in encoded if -len(each) <= position < len(each)]
    rows = np.flatnonzero([-len(each) <= position < len(each) for each in encoded])
    assert found.at(position)[rows].tobytes() == b"".join(expected)
    assert found.at(position, rows).tobytes() == b"".join(expected)
    assert np.count_nonzero(found.at(position)) == len(expected)


@given(st.lists(st.integers(0, 9), max_size=20), st.integers(1, 20))
def test_chunks_have_all_items_and_a_limited_size(sizes: list[int], limit: int) -> None:
    chunks = [sizes[chunk] for chunk in chunks_of(sizes, limit)]
    assert [size for chunk in chunks for size in chunk] == sizes
    assert all(len(chunk) == 1 or sum(chunk) <= limit for chunk in chunks)


@given(st.lists(st.lists(st.integers(-9, 9), max_size=4), max_size=8))
def test_each_sequence_is_reduced_alone(sequences: list[list[int]]) -> None:
    bounds = bounds_of([*map(len, sequences)])
    values = np.array([value for each in sequences for value in each], np.int64)
    assert reduce_each(np.add, values, bounds).tolist() == [*map(sum, sequences)]
    assert index_within(bounds).tolist() == [nth for each in sequences for nth in range(len(each))]


def test_no_sequence_has_one_bound() -> None:
    assert bounds_of([]).tolist() == [0]
