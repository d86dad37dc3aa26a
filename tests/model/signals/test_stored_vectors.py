"""Test that stored vectors are those of the items, however they are stored."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from datahub_hyperjoin.model.signals.cells import StoredVectors

numbers = arrays(np.int16, (4, 3), elements=st.integers(-9, 9))
items = st.lists(st.integers(0, 3), max_size=8).map(lambda each: np.array(each, dtype=np.int64))


@given(numbers, items, items)
def test_integers_are_read_with_their_scale(
    stored: np.ndarray, of_item: np.ndarray, asked: np.ndarray
) -> None:
    scale = np.array([1, 0.5, 0.25, 0], dtype=np.float32)
    vectors = StoredVectors(stored, scale, of_item)
    expected = (stored * scale[:, None])[of_item]
    assert len(vectors) == len(of_item)
    assert vectors.width == 3
    assert np.array_equal(vectors.as_array(), expected)
    assert vectors.as_array().dtype == np.float32
    asked = asked[asked < len(of_item)]
    assert np.array_equal(vectors.at(asked), expected[asked])
    assert np.array_equal(vectors.select(asked).as_array(), expected[asked])


@given(arrays(np.float32, (5, 3), elements=st.floats(0, 1, width=32)), st.permutations(range(5)))
def test_vectors_of_single_precision_stay_as_they_are(
    vectors: np.ndarray, order: list[int]
) -> None:
    stored = StoredVectors.of(vectors)
    assert stored.as_array() is vectors
    turned = stored.select(np.array(order))
    assert np.array_equal(turned.as_array(), vectors[order])
