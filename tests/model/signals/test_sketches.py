"""Test the counting of the values that columns share."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import product

import numpy as np
import pytest
from scipy import sparse

from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.signals import partners
from datahub_hyperjoin.model.signals import sketches as sketches_module
from datahub_hyperjoin.model.signals.overlap import ValueOverlap, measure_overlap
from datahub_hyperjoin.model.signals.sketches import (
    Postings,
    count_common_hashes,
    multiply_with_transpose,
)

MakeLake = Callable[[Mapping[str, Mapping[str, Sequence[str]]]], Lake]


def random_sketches(columns: int) -> list[bytes]:
    """Return random sketches of up to eight hashes, and make some sketches equal."""
    draw = np.random.default_rng(7)
    sketches = [
        np.sort(draw.choice(40, size=draw.integers(0, 9), replace=False)).astype("<u8").tobytes()
        for _ in range(columns)
    ]
    return [
        sketches[number // 2] if number % 4 == 3 else one for number, one in enumerate(sketches)
    ]


def postings_of(sketches: Sequence[bytes]) -> Postings:
    return Postings.of(sketches, np.ones(len(sketches), dtype=bool))


def shared_by_sets(sketches: Sequence[bytes]) -> dict[tuple[int, int], int]:
    """Return the number of common hashes for each pair of sketches that has a common hash."""
    sets = [set(np.frombuffer(sketch, "<u8").tolist()) for sketch in sketches]
    counts = Counter(
        {(a, b): len(sets[a] & sets[b]) for a, b in product(range(len(sets)), repeat=2)}
    )
    return dict(+counts)


@pytest.mark.parametrize("block", [1, 100, 1 << 23])
@pytest.mark.parametrize("in_memory", [0, 1 << 23])
def test_blocks_count_as_sets_do(
    monkeypatch: pytest.MonkeyPatch, block: int, in_memory: int
) -> None:
    monkeypatch.setattr(sketches_module, "BLOCK_PAIRS", block)
    monkeypatch.setattr(sketches_module, "_PAIRS_IN_MEMORY", in_memory)
    # The last sketch shares none of its values.
    sketches = [*random_sketches(60), np.array([97, 98, 99], dtype="<u8").tobytes()]
    postings = postings_of(sketches)
    blocks = [*postings.count_shared()]
    assert (len(blocks) == 1) == (block > 61 * 61)
    listed = [
        pair for each in blocks for pair in zip(*(part.tolist() for part in each), strict=True)
    ]
    distinct = [sketches[column] for column in postings.groups.first]
    assert len(distinct) == len({*sketches}) < len(sketches)
    assert {(left, right): shared for left, right, shared in listed} == shared_by_sets(distinct)
    assert listed == sorted(listed)


@pytest.mark.parametrize("most", [1, 2, 5, 1024])
def test_hashes_in_parts_count_as_all_at_once(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    monkeypatch.setattr(sketches_module, "MAX_POSTINGS", most)
    # Half of the hashes have one last byte, so that the parts differ in size, and some are empty.
    sketches = [np.frombuffer(each, "<u8") for each in random_sketches(60)]
    sketches = [np.where(each % 2, each, each << 9) for each in sketches]
    kinds = [np.sort(each).astype("<u8").tobytes() for each in sketches], np.arange(60) % 3 > 0
    expected = Postings.of(*kinds)
    monkeypatch.setattr(sketches_module, "_HASHES_AT_ONCE", 3)
    found = Postings.of(*kinds)
    assert found.is_partial.tolist() == expected.is_partial.tolist()
    pairs = [
        [pair for each in postings.count_shared() for pair in zip(*each, strict=True)]
        for postings in (found, expected)
    ]
    assert pairs[0] == pairs[1]


def test_without_columns_nothing_is_shared() -> None:
    assert not any(len(left) for left, _, _ in postings_of([]).count_shared())


@pytest.mark.parametrize("most", [1, 5, 1024])
def test_frequent_hashes_are_listed(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    monkeypatch.setattr(sketches_module, "MAX_POSTINGS", most)
    monkeypatch.setattr(sketches_module, "_HASHES_AT_ONCE", 3)
    sketches = random_sketches(60)
    held = Counter(hash_ for each in {*sketches} for hash_ in np.frombuffer(each, "<u8").tolist())
    expected = sorted(hash_ for hash_, count in held.items() if count > most)
    assert sorted(postings_of(sketches).frequent.tolist()) == expected


def test_sketches_of_all_and_of_some_values_are_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    sketches = [np.array(each, dtype="<u8").tobytes() for each in ([1, 2], [1, 2], [1, 2], [2])]
    monkeypatch.setattr(sketches_module, "MAX_POSTINGS", 2)
    postings = Postings.of(sketches, np.array([True, False, True, True]))
    assert postings.groups.group_of.tolist() == [0, 1, 0, 2]
    # Two distinct sketches hold the value 2.
    assert not postings.is_partial.any()


@pytest.mark.parametrize(("rows", "least"), [(1, 4), (8, 2), (8, 5), (64, 4), (64, 99)])
@pytest.mark.parametrize("share", [0.0, 0.2, 1.0])
def test_hashes_of_chosen_pairs_are_counted_however_common_they_are(
    monkeypatch: pytest.MonkeyPatch, rows: int, least: int, share: float
) -> None:
    monkeypatch.setattr(sketches_module, "MAX_POSTINGS", 1)
    monkeypatch.setattr(sketches_module, "_ROWS", rows)
    monkeypatch.setattr(sketches_module, "_LEAST", least)
    sketches = random_sketches(30)
    left, right = (ends.ravel() for ends in np.meshgrid(np.arange(30), np.arange(5, 25)))
    chosen = np.random.default_rng(3).random(len(left)) < share
    left, right = left[chosen], right[chosen]
    expected = shared_by_sets(sketches)
    pairs = zip(left.tolist(), right.tolist(), strict=True)
    assert count_common_hashes(sketches, left, right).tolist() == [
        expected.get(pair, 0) for pair in pairs
    ]


def test_columns_with_an_ignored_value_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sketches_module, "MAX_POSTINGS", 2)
    sketches = [np.array(each, dtype="<u8").tobytes() for each in ([1, 2], [1, 3], [1], [1], [3])]
    # Equal sketches count once, and three distinct ones hold the value 1.
    assert postings_of(sketches).is_partial.tolist() == [True, True, True, True, False]


@pytest.mark.parametrize("most", [1, 1024])
def test_columns_that_share_nothing_are_known(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    monkeypatch.setattr(sketches_module, "MAX_POSTINGS", most)
    values = [[1, 2], [2, 3], [4], [5, 6], [5, 6], []]
    sketches = [np.array(each, dtype="<u8").tobytes() for each in values]
    assert np.flatnonzero(postings_of(sketches).is_alone).tolist() == [2, 5]


def overlap_of_many(make_lake: MakeLake) -> ValueOverlap:
    """Measure the overlaps of six equal columns and of one that holds half of their words."""
    words = [f"w{number}" for number in range(20)]
    copies = {f"f{number}/t{number}": {f"word{number}": words} for number in range(6)}
    return measure_overlap(make_lake({**copies, "half": {"half": [*words[:10], "x", "y"]}}))


def test_a_large_lake_keeps_both_orders_of_the_best_pairs(
    make_lake: MakeLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = overlap_of_many(make_lake)
    monkeypatch.setattr(partners, "_MOST_PAIRS", 0)
    monkeypatch.setattr(partners, "_LEAST_PARTNERS", 2)
    cut = overlap_of_many(make_lake)
    assert (whole.cut, cut.cut) == (0, 7)
    pairs = set(zip(cut.left.tolist(), cut.right.tolist(), strict=True))
    assert pairs == {(right, left) for left, right in pairs}
    assert {(5, 0), (0, 5), (6, 0), (0, 6)} <= pairs
    assert (4, 5) not in pairs
    assert len(pairs) < len(whole.left)
    for name in ("containment", "beyond_chance", "shared"):
        expected = whole.look_up(getattr(whole, name).astype(float), cut.left, cut.right)
        assert getattr(cut, name).tolist() == expected.tolist()


@pytest.mark.parametrize("rows", [0, 1, 2, 7, 40])
@pytest.mark.parametrize("halvings", [0, 1, 3, 9])
def test_a_product_of_halves_is_that_of_the_whole(rows: int, halvings: int) -> None:
    draw = np.random.default_rng(rows)
    dense = draw.integers(3, size=(rows, 11)) * draw.integers(2, size=(rows, 11))
    product = multiply_with_transpose(sparse.csr_array(dense), halvings)
    assert product.format == "csr"
    assert product.toarray().tolist() == (dense @ dense.T).tolist()
