"""Test that words of similar meaning have similar vectors, and that every word has one."""

import numpy as np

from benchmarks.rivals.words import word_vectors


def test_words_of_one_meaning_are_near() -> None:
    vectors = word_vectors(["france", "germany", "lipase", "enzyme", "monday"])
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines = units @ units.T
    assert cosines[0, 1] > cosines[0, 2:].max()
    assert cosines[2, 3] > max(cosines[2, 0], cosines[2, 4])


def test_a_word_is_the_mean_of_its_pieces_and_nothing_is_zeros() -> None:
    [word, number, none] = word_vectors(["qxzwvk", "20240131", " "])
    assert np.abs(word).max() > 0
    assert np.abs(number).max() > 0
    assert not none.any()
