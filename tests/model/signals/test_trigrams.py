from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.feature_extraction.text import HashingVectorizer

from datahub_hyperjoin.model.signals.cells import count_trigrams

BUCKETS = 2**16

# The types that checkers infer from scikit-learn's defaults are wrong.
BAG: dict[str, Any] = {
    "analyzer": "char_wb",
    "ngram_range": (3, 3),
    "strip_accents": "unicode",
    "n_features": BUCKETS,
    "alternate_sign": False,
    "norm": None,
    "dtype": np.float32,
}


def count_all(texts: list[str], buckets: int) -> sparse.csr_array:
    return sparse.csr_array(sparse.vstack([*count_trigrams(texts, buckets)]))


def counted_by_scikit_learn(texts: list[str]) -> np.ndarray:
    return np.asarray(HashingVectorizer(**BAG).transform(texts).toarray())


@settings(max_examples=50)
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=30), min_size=1))
def test_the_counts_are_those_of_scikit_learn(texts: list[str]) -> None:
    found = count_all(texts, BUCKETS).toarray()
    assert found.dtype == np.float32
    assert np.array_equal(found, counted_by_scikit_learn(texts))


def test_odd_letters_are_counted_as_by_scikit_learn() -> None:
    texts = [
        "Zürich ÅÄÖ ﬁne",
        "\uff21\uff22\u3000c\u2003d\x1ee\x85f",
        "\x00b\x00",
        "🎉🎉 x",
        "ǅ ß İ",
        " \t",
    ]
    found = count_all(texts, BUCKETS).toarray()
    assert np.array_equal(found, counted_by_scikit_learn(texts))


def test_many_texts_keep_their_order() -> None:
    texts = [f"text {number}" for number in range(2500)]
    found = count_all(texts, BUCKETS)
    assert found.shape == (2500, BUCKETS)
    assert np.array_equal(found.toarray(), counted_by_scikit_learn(texts))


def test_half_of_a_surrogate_pair_is_a_letter() -> None:
    assert count_all(["\ud83c"], BUCKETS).sum() == 1


def test_no_texts_have_no_counts() -> None:
    assert count_all([], BUCKETS).shape == (0, BUCKETS)
