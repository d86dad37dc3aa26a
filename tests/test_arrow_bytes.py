"""Whether strings seen as bytes are seen whole."""

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from datahub_hyperjoin.arrow_bytes import StringBytes, bounds_of, cut, nth_of, reduce_each

STRINGS = st.lists(st.text("ab-é", max_size=4), max_size=12)


@given(STRINGS, st.integers(0, 12), st.integers(-3, 3))
def test_bytes_are_those_of_each_string(strings: list[str], skipped: int, place: int) -> None:
    array = pa.array(strings, pa.string())[skipped:]
    found = StringBytes.of(array)
    encoded = [string.encode() for string in strings[skipped:]]
    assert found.lengths.tolist() == [*map(len, encoded)]
    assert found.having(found.data == ord("-")).tolist() == [b"-" in each for each in encoded]
    assert found.count(found.data == ord("-")).tolist() == [each.count(b"-") for each in encoded]
    letters = bytes(1 + (byte != ord("-")) for byte in range(256))
    bits = [sum({letters[byte] for byte in each}) for each in encoded]
    assert found.classes(letters).tolist() == bits
    expected = [each[place:][:1] for each in encoded if -len(each) <= place < len(each)]
    rows = np.flatnonzero([-len(each) <= place < len(each) for each in encoded])
    assert found.at(place)[rows].tobytes() == b"".join(expected)
    assert found.at(place, rows).tobytes() == b"".join(expected)
    assert np.count_nonzero(found.at(place)) == len(expected)


@given(st.lists(st.integers(0, 9), max_size=20), st.integers(1, 20))
def test_parts_are_all_and_none_is_too_great(sizes: list[int], most: int) -> None:
    parts = [sizes[part] for part in cut(sizes, most)]
    assert [size for part in parts for size in part] == sizes
    assert all(len(part) == 1 or sum(part) <= most for part in parts)


@given(st.lists(st.lists(st.integers(-9, 9), max_size=4), max_size=8))
def test_each_sequence_is_reduced_alone(sequences: list[list[int]]) -> None:
    bounds = bounds_of([*map(len, sequences)])
    values = np.array([value for each in sequences for value in each], np.int64)
    assert reduce_each(np.add, values, bounds).tolist() == [*map(sum, sequences)]
    assert nth_of(bounds).tolist() == [nth for each in sequences for nth in range(len(each))]


def test_nothing_end_to_end_is_nothing() -> None:
    assert bounds_of([]).tolist() == [0]
