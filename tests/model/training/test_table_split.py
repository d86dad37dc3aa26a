from collections.abc import Callable, Mapping, Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.training.table_split import move_columns, split_columns, split_values

MakeLake = Callable[[Mapping[str, Mapping[str, Sequence[str]]]], Lake]


@given(counts=st.lists(st.integers(1, 50), min_size=1, max_size=30), seed=st.integers(0, 2**16))
def test_each_half_of_the_rows_holds_some_value(counts: list[int], seed: int) -> None:
    for half in split_values(counts, np.random.default_rng(seed)):
        assert half.shape == (len(counts),)
        assert half.any()


def test_frequent_values_stand_in_both_halves_and_rare_ones_need_not() -> None:
    random = np.random.default_rng(0)
    halves = [split_values([1] * 20 + [1000], random) for _ in range(50)]
    assert all(left[-1] and right[-1] for left, right in halves)
    shared = [(left & right)[:-1].mean() for left, right in halves]
    assert min(shared) < 0.1 < max(shared)


def test_both_halves_hold_what_is_needed_and_overlap_in_the_rest(make_lake: MakeLake) -> None:
    lake = make_lake(
        {"wide": {f"c{number:02}": ["a", "b"] for number in range(40)}, "t": {"x": ["a"]}}
    )
    needed, random = np.array([3, 7]), np.random.default_rng(0)
    seen = [split_columns(lake, needed, random) for _ in range(300)]
    sizes = np.array([(len(left), len(right)) for left, right in seen]) - 2
    assert all(np.isin(needed, half).all() for pair in seen for half in pair)
    assert all((lake.table_of[half] == 0).all() for pair in seen for half in pair)
    both = np.array([len(np.intersect1d(*pair)) - 2 for pair in seen])
    # 0.6 of 8 companions on average in each half, and 0.2 of them in both.
    assert np.abs(sizes.mean(axis=0) - 4.8).max() < 0.5
    assert abs(both.mean() - 1.6) < 0.3


def test_a_column_moves_only_if_it_may_and_only_into_a_table_that_is_there() -> None:
    tables, random = np.repeat(np.arange(10), 10), np.random.default_rng(0)
    movable = np.arange(100) % 2 == 0
    moved = move_columns(tables, movable, 1.0, random)
    assert (moved[~movable] == tables[~movable]).all()
    assert 0.7 < (moved[movable] != tables[movable]).mean() <= 1
    assert np.isin(moved, tables).all()
    assert (move_columns(tables, movable, 0.0, random) == tables).all()
    half = move_columns(tables, movable, 0.5, random)
    assert 0.25 < (half[movable] != tables[movable]).mean() < 0.65
