"""Test that Snoopy finds columns with similar cells, even if its proxy cells are random."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks.rivals.choose import choose_rivals
from benchmarks.rivals.snoopy import nearness, untrained_proxies
from lakes.rivalry import ask, cells, suite

[SNOOPY] = choose_rivals(["Snoopy (untrained)"])


def test_cells_are_as_near_as_the_nearest_proxy_of_a_set() -> None:
    values = np.array([[1, 0], [0.5, 0.5]], dtype=np.float32)
    proxies = np.array([[[1, 0], [0, 1]], [[-1, 0], [-1, 3]]], dtype=np.float32)
    assert nearness(values, proxies).tolist() == [[1, -1], [0.5, 1]]


def test_many_cells_are_as_near_as_each_alone() -> None:
    random = np.random.default_rng(0)
    values = random.standard_normal((5000, 4)).astype(np.float32)
    proxies = random.standard_normal((3, 5, 4)).astype(np.float32)
    expected = np.einsum("nd,hmd->nhm", values, proxies).max(axis=2)
    assert nearness(values, proxies) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("seed", range(3))
def test_columns_of_like_cells_are_near(tmp_path: Path, seed: int) -> None:
    tables = {
        "a": {"x": ["Frankfurt", "Hamburg", "Stuttgart"]},
        "b": {"x": ["FRANKFURT", "Hamburg (city)", "stuttgart"]},
        "c": {"x": ["amylase", "lipase", "pepsin"]},
    }
    [best, other] = ask(SNOOPY, suite(tmp_path, tables, "a.x"), seed)["a.x"]
    assert (best[0], other[0]) == ("b.x", "c.x")
    assert best[1] > other[1]


def test_a_column_repeated_is_the_same_column_and_seeds_differ() -> None:
    lake = cells(a=["one", "two"], b=["two", "one", "one"], c=["three", "four"], d=["?", "!"])
    first, again, other = (untrained_proxies(lake, np.array([0]), seed=seed) for seed in (0, 0, 1))
    assert first[0, :2] == pytest.approx([1, 1])
    assert first[0, 3] == 0
    assert np.array_equal(first, again)
    assert not np.array_equal(first[0, 2], other[0, 2])
