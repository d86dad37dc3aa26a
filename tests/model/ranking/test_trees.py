"""Test the evaluation of trees against LightGBM's own predictions."""

from collections.abc import Sequence
from pathlib import Path

import lightgbm
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from safetensors import safe_open
from safetensors.numpy import save_file

from benchmarks.trees.fit import DEPTH, export
from datahub_hyperjoin.model.ranking.pair_features import (
    NAME_FEATURES,
    PAIR_FEATURES,
    RISING_FEATURES,
    RISING_NAME_FEATURES,
)
from datahub_hyperjoin.model.ranking.tree_scoring import SHIPPED, SHIPPED_FOR_NAMES, SHIPPED_NETWORK
from datahub_hyperjoin.model.tree_ensemble import TreeEnsemble, shipped_trees

MAX_BYTES = 2 * 1024 * 1024


def pairs_of(features: Sequence[str]) -> st.SearchStrategy[np.ndarray]:
    """Return a strategy that draws the features of five pairs."""
    elements = st.floats(-10, 10, width=32, allow_nan=False)
    return arrays(np.float32, (5, len(features)), elements=elements)


def one_split() -> TreeEnsemble:
    """Return a tree that checks whether feature 1 is greater than one half."""
    return TreeEnsemble(
        feature=np.array([[1]]),
        threshold=np.array([[0.5]], dtype=np.float32),
        value=np.array([[-1.0, 2.0]], dtype=np.float32),
    )


def test_rows_above_the_threshold_go_to_the_right() -> None:
    rows = np.array([[9, 0.4], [0, 0.5], [0, 0.6]], dtype=np.float32)
    assert one_split()(rows).tolist() == [-1, -1, 2]


def test_the_outputs_of_all_trees_are_added() -> None:
    tree = one_split()
    twice = TreeEnsemble(*(np.vstack([array, array]) for array in vars(tree).values()))
    assert twice(np.array([[0, 1]], dtype=np.float32)).tolist() == [4]


def test_no_rows_have_no_outputs() -> None:
    assert one_split()(np.zeros((0, 2), np.float32)).shape == (0,)


def test_the_chunks_of_many_rows_join_in_order() -> None:
    rows = np.zeros((20_000, 2), np.float32)
    rows[::3, 1] = 1
    assert np.array_equal(one_split()(rows), np.where(rows[:, 1] > 0, 2.0, -1.0))


def test_trees_predict_as_in_the_library_that_trained_them() -> None:
    random = np.random.default_rng(0)
    rows = random.standard_normal((4000, 7)).astype(np.float32)
    labels = rows[:, 0] * rows[:, 1] + np.sin(rows[:, 2]) > random.standard_normal(len(rows))
    parameters = {"objective": "binary", "max_depth": DEPTH, "num_leaves": 40, "verbosity": -1}
    booster = lightgbm.train(parameters, lightgbm.Dataset(rows, labels), 30)
    expected = booster.predict(rows, raw_score=True)
    assert np.abs(export(booster)(rows) - expected).max() < 1e-5


def test_trees_come_back_from_a_file(tmp_path: Path) -> None:
    tree = one_split()
    file = tmp_path / "trees.safetensors"
    arrays = {"threshold": tree.threshold, "value": tree.value}
    save_file({"feature": tree.feature.astype(np.uint8), **arrays}, file)
    rows = np.random.default_rng(1).standard_normal((50, 2)).astype(np.float32)
    assert np.array_equal(TreeEnsemble.load(file)(rows), tree(rows))


@pytest.mark.parametrize(
    ("path", "features"),
    [
        (SHIPPED, PAIR_FEATURES),
        (SHIPPED_FOR_NAMES, NAME_FEATURES),
        (SHIPPED_NETWORK, PAIR_FEATURES),
    ],
)
def test_what_is_shipped_reads_the_features_that_it_was_trained_with(
    path: Path, features: Sequence[str]
) -> None:
    with safe_open(path, "np") as file:
        assert file.metadata()["features"].splitlines() == list(features)


@pytest.mark.parametrize(
    ("path", "features"),
    [(SHIPPED, len(PAIR_FEATURES)), (SHIPPED_FOR_NAMES, len(NAME_FEATURES))],
)
def test_the_shipped_trees_ask_for_features_that_exist(path: Path, features: int) -> None:
    trees = shipped_trees(path)
    assert trees.feature.max() < features
    assert trees.value.shape == (len(trees.feature), 2**DEPTH)
    assert trees.value.nbytes + trees.threshold.nbytes + trees.feature.shape[0] < MAX_BYTES


@settings(deadline=None, max_examples=30)
@given(data=st.data(), rise=st.floats(0.01, 5))
@pytest.mark.parametrize(
    ("path", "rows", "rising"),
    [
        (SHIPPED, pairs_of(PAIR_FEATURES), len(RISING_FEATURES)),
        (SHIPPED_FOR_NAMES, pairs_of(NAME_FEATURES), len(RISING_NAME_FEATURES)),
    ],
)
def test_more_evidence_never_lowers_a_score(
    data: st.DataObject,
    rise: float,
    path: Path,
    rows: st.SearchStrategy[np.ndarray],
    rising: int,
) -> None:
    before = data.draw(rows)
    more = before.copy()
    more[:, data.draw(st.integers(0, rising - 1))] += np.float32(rise)
    trees = shipped_trees(path)
    assert (trees(more) >= trees(before) - 1e-5).all()
