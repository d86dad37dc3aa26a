"""Test that partners found by groups of equal sketches are those found by comparing all columns."""

from collections import Counter
from dataclasses import replace
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.signals import sketches as sketches_module
from datahub_hyperjoin.model.signals.partners import find_best_partners
from datahub_hyperjoin.model.signals.sketches import Postings, SketchArrays
from datahub_hyperjoin.tables import DataType
from handmade import lake_of

Drawn = tuple[set[int], bool, int]
"""The values of a column, whether it holds text, and how many values its sketch lacks."""


@st.composite
def lakes(draw: st.DrawFn) -> list[list[Drawn]]:
    """Draw the columns of tables, of which many have equal sketches."""
    sets = draw(st.lists(st.sets(st.integers(0, 9), min_size=1), min_size=1, max_size=5))
    column = st.tuples(st.sampled_from(sets), st.booleans(), st.sampled_from([0, 0, 3]))
    return draw(st.lists(st.lists(column, min_size=1, max_size=4), min_size=1, max_size=12))


def make(tables: list[list[Drawn]]) -> Lake:
    lake = lake_of(
        {
            f"t{table}": {f"c{at}": [*map(str, cells)] for at, (cells, _, _) in enumerate(columns)}
            for table, columns in enumerate(tables)
        }
    )
    drawn = [column for columns in tables for column in columns]
    profiles = tuple(
        replace(
            profile,
            type=DataType.TEXT if is_text else DataType.INTEGER,
            distinct=profile.distinct + further,
        )
        for profile, (_, is_text, further) in zip(lake.profiles, drawn, strict=True)
    )
    return replace(lake, profiles=profiles)


Pairs = dict[tuple[int, int], tuple[int, float]]
"""The number of common hashes and the containment of each pair of columns."""


def compare_all(lake: Lake, max_postings: int) -> Pairs:
    """Compare each column with all columns of other tables."""
    sets = [frozenset(np.frombuffer(each.sketch, "<u8").tolist()) for each in lake.profiles]
    held = Counter(value for sketch in {*sets} for value in sketch)
    arrays = SketchArrays.of(lake, [each.sketch for each in lake.profiles])
    pairs: Pairs = {}
    for left, one in enumerate(sets):
        for right, other in enumerate(sets):
            shared = sum(held[value] <= max_postings for value in one & other)
            if shared and lake.table_of[left] != lake.table_of[right]:
                ends = np.array([left]), np.array([right]), np.array([shared])
                pairs[left, right] = shared, float(arrays.containment(*ends)[0])
    return pairs


def strongest(pairs: Pairs, column: int, most: int) -> set[tuple[int, int]]:
    """Return the strongest pairs of a column; of equally strong ones, the first."""

    def weakness(pair: tuple[int, int]) -> float:
        (shared, there), (_, back) = pairs[pair], pairs[pair[1], pair[0]]
        similar = max(there, back) + np.sqrt(there * back)
        return float(-(1 - np.exp(-shared / 3)) * similar / 2)

    own = [pair for pair in pairs if pair[0] == column]
    return {*sorted(own, key=lambda pair: (weakness(pair), pair))[:most]}


@pytest.mark.parametrize("block", [1, 20, 1 << 21])
@given(
    tables=lakes(), most=st.sampled_from([1, 2, 5, 100]), max_postings=st.sampled_from([1, 2, 9])
)
def test_the_partners_are_those_of_comparing_all_columns(
    tables: list[list[Drawn]], most: int, max_postings: int, block: int
) -> None:
    lake = make(tables)
    expected = compare_all(lake, max_postings)
    sketches = [profile.sketch for profile in lake.profiles]
    arrays = SketchArrays.of(lake, sketches)
    found: Pairs = {}
    with (
        mock.patch.object(sketches_module, "MAX_POSTINGS", max_postings),
        mock.patch.object(sketches_module, "BLOCK_PAIRS", block),
    ):
        postings = Postings.of(sketches, arrays.is_complete)
        blocks = [*find_best_partners(lake, arrays, postings, most)]
    for best in blocks:
        listed = zip(best.columns.tolist(), best.is_cut.tolist(), best.total, strict=True)
        for column, is_cut, total in listed:
            kept = strongest(expected, column, most)
            partners = {right: value for (left, right), value in expected.items() if left == column}
            assert is_cut == (len(kept) < len(partners))
            same_kind = (lake.is_text[right] == lake.is_text[column] for right in partners)
            of_kind = zip(partners.values(), same_kind, strict=True)
            assert total == pytest.approx(sum(value for (_, value), same in of_kind if same))
        for part in best.parts:
            pairs = [*zip(part.left.tolist(), part.right.tolist(), strict=True)]
            assert not {*pairs} & found.keys()
            measured = zip(part.shared.tolist(), part.containment.tolist(), strict=True)
            found.update(zip(pairs, measured, strict=True))
    single = {pair: (shared, float(np.float32(each))) for pair, (shared, each) in expected.items()}
    kept = set().union(*(strongest(expected, column, most) for column in range(len(lake))))
    assert found == {pair: single[pair] for pair in kept}


def test_a_copy_is_kept_before_columns_of_few_values() -> None:
    words = [f"w{number}" for number in range(20)]
    few = {f"few{table}": {"c": words[table : table + 4]} for table in range(9)}
    lake = lake_of({**few, "whole": {"c": words}, "copy": {"c": [*words[1:], "other"]}})
    sketches = [profile.sketch for profile in lake.profiles]
    arrays = SketchArrays.of(lake, sketches)
    blocks = find_best_partners(lake, arrays, Postings.of(sketches, arrays.is_complete), 1)
    parts = [part for best in blocks for part in best.parts]
    # All values of the others are among those of the whole, too.
    assert np.concatenate([part.right[part.left == 9] for part in parts]).tolist() == [10]


def test_a_group_of_columns_is_compared_once() -> None:
    lake = lake_of({f"t{table}": {"status": ["open", "paid"]} for table in range(2_000)})
    sketches = [profile.sketch for profile in lake.profiles]
    arrays = SketchArrays.of(lake, sketches)
    postings = Postings.of(sketches, arrays.is_complete)
    assert [left.tolist() for left, _, _ in postings.count_shared()] == [[0]]
    (best,) = find_best_partners(lake, arrays, postings, 3)
    (part,) = best.parts
    assert part.right[:9].tolist() == [1, 2, 3, 0, 2, 3, 0, 1, 3]
    assert part.right[-3:].tolist() == [0, 1, 2]
    assert len(part.left) == 6_000
