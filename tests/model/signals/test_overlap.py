from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pytest

from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.signals import overlap as overlap_module
from datahub_hyperjoin.model.signals import sketches
from datahub_hyperjoin.model.signals.overlap import measure_overlap

MakeLake = Callable[[Mapping[str, Mapping[str, Sequence[str]]]], Lake]


def words(start: int, stop: int) -> list[str]:
    return [f"w{number}" for number in range(start, stop)]


def test_small_columns_are_compared_exactly(make_lake: MakeLake) -> None:
    columns = [words(0, 40), words(20, 60), words(0, 10), words(100, 110)]
    lake = make_lake({f"t{i}": {"word": cells} for i, cells in enumerate(columns)})
    overlap = measure_overlap(lake)
    for left, one in enumerate(columns):
        for right, other in enumerate(columns):
            if left != right:
                found = overlap.look_up(overlap.containment, np.array([left]), np.array([right]))
                both = len(set(one) & set(other))
                assert found[0] == pytest.approx(both / len(one))
                there = overlap.locate(np.array([left]), np.array([right]))
                cosine = overlap.ochiai_at(there, overlap.reverse_at(there))
                assert cosine[0] == pytest.approx(both / np.sqrt(len(one) * len(other)))


def test_large_columns_are_estimated_without_bias(make_lake: MakeLake) -> None:
    lake = make_lake({"big": {"word": words(0, 20_000)}, "part": {"word": words(15_000, 25_000)}})
    overlap = measure_overlap(lake)
    forth, back = overlap.containment
    assert forth == pytest.approx(0.25, abs=0.05)
    assert back == pytest.approx(0.5, abs=0.06)


def test_columns_of_one_table_are_no_pair(make_lake: MakeLake) -> None:
    overlap = measure_overlap(make_lake({"t": {"a": words(0, 9), "b": words(0, 9)}}))
    assert len(overlap.left) == 0
    assert overlap.look_up(overlap.containment, np.array([0]), np.array([1]))[0] == 0


def test_counters_that_contain_each_other_are_no_news(make_lake: MakeLake) -> None:
    counters = {f"t{i}": {"n": [str(n) for n in range(50)]} for i in range(40)}
    names = {"x": {"word": words(0, 50)}, "y": {"word": words(0, 50)}}
    lake = make_lake({**counters, **names})
    overlap = measure_overlap(lake)
    counter = overlap.look_up(overlap.beyond_chance, np.array([0]), np.array([1]))[0]
    word = overlap.look_up(overlap.beyond_chance, np.array([40]), np.array([41]))[0]
    assert counter < 0.3
    assert word > 0.85


def ignore_common_values(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("datahub_hyperjoin.model.signals.sketches.MAX_POSTINGS", 1)


def test_values_that_too_many_columns_hold_are_left_out(
    make_lake: MakeLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    ignore_common_values(monkeypatch)
    cells = [["everywhere", f"only{i // 2}"] for i in range(4)]
    overlap = measure_overlap(make_lake({f"f{i}/t{i}": {f"word{i}": cells[i]} for i in range(4)}))
    assert list(zip(overlap.left, overlap.right, strict=True)) == [(0, 1), (1, 0), (2, 3), (3, 2)]
    assert set(overlap.shared) == {1}


def test_columns_of_one_folder_share_values_however_many_others_hold_these(
    make_lake: MakeLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = {
        f"{folder}/{table}": {f"{table}{folder}": words(0, stop)}
        for folder, table, stop in (("f", "a", 9), ("f", "b", 6), ("g", "c", 5))
    }
    whole = measure_overlap(make_lake(tables))
    ignore_common_values(monkeypatch)
    near = measure_overlap(make_lake(tables))
    assert list(zip(near.left, near.right, strict=True)) == [(0, 1), (1, 0)]
    for name in ("shared", "containment"):
        expected = whole.look_up(getattr(whole, name).astype(float), near.left, near.right)
        assert getattr(near, name).tolist() == expected.tolist()


def test_chance_is_sampled_where_values_are_ignored(
    make_lake: MakeLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = {f"f{i}/t{i}": {f"n{i}": [str(n) for n in range(i)]} for i in range(20, 60)}
    whole = measure_overlap(make_lake(tables))
    ignore_common_values(monkeypatch)
    partial = measure_overlap(make_lake(tables))
    assert not whole.least_chance.any()
    mean = np.bincount(whole.left, whole.containment) / (len(tables) + 10)
    assert partial.least_chance == pytest.approx(mean)
    monkeypatch.setattr(overlap_module, "_COLUMNS", 7)
    assert measure_overlap(make_lake(tables)).least_chance == pytest.approx(mean)


@pytest.mark.parametrize("at_once", [1, 50, 1 << 23])
def test_blocks_of_any_size_find_the_same_pairs(
    make_lake: MakeLake, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr(overlap_module, "most_partners", lambda _: 4)
    lake = make_lake({f"t{i}": {"word": words(i, 30 + 2 * i)} for i in range(12)})
    whole = measure_overlap(lake)
    assert whole.cut
    flat, back = whole.left * 12 + whole.right, whole.right * 12 + whole.left
    assert (np.diff(flat) > 0).all()
    assert np.array_equal(np.sort(back), flat)
    monkeypatch.setattr(sketches, "BLOCK_PAIRS", at_once)
    monkeypatch.setattr(overlap_module, "_PAIRS_AT_ONCE", at_once)
    found = measure_overlap(lake)
    for name in ("left", "right", "shared", "containment"):
        assert np.array_equal(getattr(found, name), getattr(whole, name)), name
    # Summed over other blocks, the expectation may differ in the last bits.
    assert np.allclose(found.beyond_chance, whole.beyond_chance, atol=1e-7)


def test_a_pair_takes_20_bytes(make_lake: MakeLake) -> None:
    overlap = measure_overlap(make_lake({f"t{i}": {"word": words(i, 30)} for i in range(5)}))
    arrays = (overlap.left, overlap.right, overlap.shared)
    measured = (overlap.containment, overlap.beyond_chance)
    assert sum(array.itemsize for array in (*arrays, *measured)) == 20
