import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import normalize
from sklearn.random_projection import SparseRandomProjection

from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.signals import cells as cells_module
from datahub_hyperjoin.model.signals.cells import CellSimilarity, count_trigrams

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
