"""Test the comparison of columns by the trigrams of their cells, and how vectors are stored."""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer
from sklearn.preprocessing import normalize
from sklearn.random_projection import SparseRandomProjection

from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.signals import cells as cells_module
from datahub_hyperjoin.model.signals.cells import (
    CellSimilarity,
    StoredVectors,
    count_trigrams,
    scale_rows,
)

COLUMNS = (
    ("Amsterdam", "Zürich", "New York"),
    ("YORK, NEW", "ZURICH", "amsterdm"),
    ("12", "777", "4"),
    (),
    ("Osaka", "Kyoto"),
)
# The types that checkers infer from scikit-learn's defaults are wrong.
PROJECTION: dict[str, Any] = {
    "n_components": 1024,
    "density": 0.05,
    "dense_output": True,
    "random_state": 0,
}
PLACES = np.arange(len(COLUMNS))[None, :]


def bags(columns: Sequence[Sequence[str]]) -> list[Counter[str]]:
    """Count the trigrams of all words in each column, in lower case and without accents."""
    found = []
    for cells in columns:
        text = unicodedata.normalize("NFKD", " ".join(cells).lower())
        plain = "".join(letter for letter in text if not unicodedata.combining(letter))
        words = [f" {word} " for word in re.split(r"\s+", plain) if word]
        found.append(Counter(word[at : at + 3] for word in words for at in range(len(word) - 2)))
    return found


def brute_force(columns: Sequence[Sequence[str]]) -> np.ndarray:
    counted = bags(columns)
    known = sorted(set().union(*counted))
    held = np.array([[bag[window] for window in known] for bag in counted], dtype=float)
    rarity = 1 + np.log((1 + len(held)) / (1 + (held > 0).sum(axis=0)))
    weights = np.where(held > 0, 1 + np.log(np.maximum(held, 1)), 0) * rarity
    lengths = np.linalg.norm(weights, axis=1, keepdims=True)
    unit = weights / np.maximum(lengths, 1e-12)
    return unit @ unit.T


def test_cosines_are_about_those_of_the_formula() -> None:
    found = CellSimilarity(COLUMNS).between(PLACES, PLACES)[0]
    np.testing.assert_allclose(found, brute_force(COLUMNS), atol=0.12)


def test_vectors_of_many_columns_are_half_as_wide(monkeypatch: pytest.MonkeyPatch) -> None:
    few = CellSimilarity(COLUMNS)
    monkeypatch.setattr("datahub_hyperjoin.model.signals.cells._MANY", len(COLUMNS) - 1)
    many = CellSimilarity(COLUMNS)
    assert (few.vectors.width, many.vectors.width) == (1024, 512)
    found = many.between(PLACES, PLACES)[0]
    np.testing.assert_allclose(found, brute_force(COLUMNS), atol=0.17)


def test_the_error_of_the_projection_is_small() -> None:
    random = np.random.default_rng(0)
    syllables = [a + b for a in "bdfgklmnprst" for b in "aeiou"]
    columns = [["".join(random.choice(syllables, 3)) for _ in range(40)] for _ in range(60)]
    columns += [column[:20] for column in columns[:20]]
    places = np.arange(len(columns))[None, :]
    alike = CellSimilarity(columns)
    np.testing.assert_allclose(np.linalg.norm(alike.vectors.as_array(), axis=1), 1, atol=1e-5)
    error = alike.between(places, places)[0] - brute_force(columns)
    assert np.sqrt(np.mean(error**2)) < 0.04
    assert (alike.vectors.as_array() == CellSimilarity(columns).vectors.as_array()).all()


def test_cells_in_another_writing_are_alike_and_others_are_not() -> None:
    found = CellSimilarity(COLUMNS).between(PLACES, PLACES)[0]
    assert found[0, 1] > 0.5
    assert max(found[0, 4], found[0, 2]) < 0.1
    assert not found[3].any()


def test_pairs_are_looked_up_query_by_query() -> None:
    alike = CellSimilarity(COLUMNS)
    every = alike.between(PLACES, PLACES)[0]
    one, other = np.array([[0, 1], [4, 2]]), np.array([[1, 0, 3], [2, 2, 4]])
    found = alike.between(one, other)
    for query in range(2):
        expected = every[np.ix_(one[query], other[query])]
        np.testing.assert_allclose(found[query], expected, atol=1e-6)


@pytest.mark.parametrize("columns", [[(), ()], [("", " "), ("",)]])
def test_columns_without_cells_are_like_nothing(columns: list[tuple[str, ...]]) -> None:
    alike = CellSimilarity(columns)
    both = np.array([[0, 1]])
    assert not alike.between(both, both).any()
    assert not alike.vectors.as_array().any()


def test_sampled_cells_are_read_as_written(make_lake: Callable[..., Lake]) -> None:
    lake = make_lake({"a": {"x": ["Alpha Beta", "Gamma"]}, "b": {"y": ["beta, alpha", "gamm"]}})
    samples = [profile.sample for profile in lake.profiles]
    both = np.array([[0, 1]])
    assert CellSimilarity(samples).between(both, both)[0, 0, 1] > 0.5


def test_vectors_are_those_of_scikit_learn_but_for_rounding() -> None:
    random = np.random.default_rng(0)
    columns = [
        ["".join(random.choice([*"aeiouklmnst -É"], 8)) for _ in range(size)]
        for size in range(30, 0, -1)
    ]
    counts = sparse.vstack([*count_trigrams([*map(" ".join, columns)], 2**16)])
    weighted = TfidfTransformer(sublinear_tf=True).fit_transform(counts)
    drawn = SparseRandomProjection(**PROJECTION).fit(np.zeros((1, 2**16), dtype=np.float32))
    projected = (weighted @ drawn.components_.astype(np.float32).T).toarray()
    expected = np.asarray(normalize(projected))
    # Half a step of the greatest of the integers to which numbers are rounded.
    most = expected.max() / 32_767
    np.testing.assert_allclose(
        CellSimilarity(columns).vectors.as_array(), expected, rtol=0, atol=most
    )


@pytest.mark.parametrize("at_once", [1, 2, 1024])
def test_blocks_of_any_size_give_the_same_vectors(
    monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    expected = CellSimilarity(COLUMNS).vectors.as_array()
    monkeypatch.setattr(cells_module, "_TEXTS", at_once)
    assert np.array_equal(CellSimilarity(COLUMNS).vectors.as_array(), expected)


@pytest.mark.parametrize("precision", [np.float32, np.float64])
def test_rows_are_those_of_scikit_learn(precision: type[np.floating]) -> None:
    random = np.random.default_rng(0)
    rows = random.standard_normal((50, 400)) * (random.random((50, 400)) < 0.2)
    matrix = sparse.csr_array(rows.astype(precision))
    matrix.data[:40] = 0
    found = scale_rows(matrix)
    assert found.dtype == precision
    assert np.array_equal(found.toarray(), normalize(matrix.tocsr()).toarray())


def test_empty_rows_stay_empty() -> None:
    matrix = sparse.csr_array(np.array([[0.0, 0.0], [0.0, -2.0]]))
    assert scale_rows(matrix).toarray().tolist() == [[0, 0], [0, -1]]


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
