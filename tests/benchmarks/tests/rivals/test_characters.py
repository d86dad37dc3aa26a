"""Test the character statistics of columns."""

import numpy as np
import pytest

from benchmarks.rivals.cells import Cells
from benchmarks.rivals.characters import FEATURES, describe_characters
from lakes.rivalry import cells, named

KINDS = FEATURES // 3 - 1
"""Number of things that are counted in each value, such as the letter `a`, all digits or words."""


def kind(character: str) -> int:
    return ord(character) - ord(" ")


def test_numbers_are_scaled_over_the_columns() -> None:
    lake = cells(a=["aa", "b 1"], b=["Bbbb", "ccc"], c=["-", "ü"])
    described = describe_characters(lake)
    assert described.shape == (3, FEATURES)
    assert np.abs(described.mean(axis=0)).max() < 1e-6
    spread = described.std(axis=0)
    assert spread[spread > 0] == pytest.approx(1, abs=1e-5)
    shares = np.array([0.5, 0.5, 0])
    has_b = described[:, kind("b")]
    assert has_b == pytest.approx((shares - shares.mean()) / shares.std(), abs=1e-6)
    mean_b = np.array([0.5, 1.5, 0])
    assert described[:, KINDS + kind("b")] == pytest.approx(
        (mean_b - mean_b.mean()) / mean_b.std(), abs=1e-6
    )
    # Nobody has a z.
    assert not described[:, kind("z")].any()


def test_a_value_counts_as_often_as_a_column_repeats_it() -> None:
    lake = [
        Cells(named("a.x"), {"q": 3, "w": 1}),
        Cells(named("b.x"), {"w": 1, "q": 3}),
        Cells(named("c.x"), {"q": 1, "w": 1}),
    ]
    one, same, other = describe_characters(lake)
    assert one == pytest.approx(same, abs=1e-6)
    assert one[KINDS + kind("q")] > 0 > other[KINDS + kind("q")]
    # Entropy, the share of different values, and how many there are.
    assert one[-3] < other[-3]
    assert one[-2] < other[-2]
    assert one[-1] > other[-1]
