"""Test which pairs of columns are measured and kept, and their expected number."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.signals import partners
from datahub_hyperjoin.model.signals import sketches as sketches_module
from datahub_hyperjoin.model.signals.overlap import measure_overlap
from datahub_hyperjoin.model.signals.partners import (
    ExpectedPairs,
    expect_pairs,
    find_best_partners,
    find_near_pairs,
)
from datahub_hyperjoin.model.signals.sketches import Postings, SketchArrays
from datahub_hyperjoin.tables import DataType
from lakes.handmade import MakeLake, lake_of

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


UNIQUE, REPEATED = ["1", "2", "3"], ["1", "1", "2"]


def near(lake: Lake, *chosen: str, most_named: int = 0) -> set[tuple[str, str]]:
    """Return the near pairs of the chosen columns, or of all columns if none is chosen."""
    names = [f"{column.table.name}.{column.path}" for column in lake.ids]
    mask = np.array([not chosen or name in chosen for name in names])
    return {
        (names[left], names[right])
        for block in find_near_pairs(lake, mask, most_named)
        for left, right in zip(*(ends.tolist() for ends in block), strict=True)
    }


def test_a_folder_suggests_each_pair_with_a_unique_column(make_lake: MakeLake) -> None:
    lake = make_lake(
        {"f/a": {"x": UNIQUE, "y": REPEATED}, "f/b": {"z": REPEATED}, "g/c": {"w": UNIQUE}}
    )
    # Either of the two may be the chosen one; if both are, they are paired once.
    assert near(lake) == near(lake, "f/a.x") == {("f/a.x", "f/b.z")}
    assert near(lake, "f/b.z") == {("f/b.z", "f/a.x")}


def test_a_reference_has_the_name_of_a_table_elsewhere(make_lake: MakeLake) -> None:
    lake = make_lake({"f/customers": {"id": UNIQUE}, "g/orders": {"customer_id": REPEATED}})
    lake = replace(lake, titles=("customers", "orders"))
    assert near(lake, "g/orders.customer_id") == {("g/orders.customer_id", "f/customers.id")}


def test_only_partners_of_chosen_columns_are_found(
    make_lake: MakeLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(partners, "_COLUMNS_AT_ONCE", 1)
    lake = make_lake({f"f/t{at}": {f"c{at}": UNIQUE} for at in range(4)})
    assert near(lake, "f/t2.c2") == {("f/t2.c2", f"f/t{at}.c{at}") for at in (0, 1, 3)}
    assert len(near(lake)) == 6
    assert len(near(lake, "f/t2.c2", "f/t3.c3")) == 5


def test_a_name_of_many_unique_columns_suggests_nothing(
    make_lake: MakeLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(partners, "_MOST_NAMESAKES", 2)
    tables = {f"f{at}/t{at}": {"remark": UNIQUE} for at in range(3)}
    assert near(make_lake(tables)) == set()
    # One key, and many columns that refer to it.
    referring = {f"f{at}/t{at}": {"customer": REPEATED} for at in range(3)}
    assert len(near(make_lake({"g/k": {"customer": UNIQUE}, **referring}))) == 3


def test_many_unique_columns_of_a_name_hide_no_key_of_a_table_of_this_name(
    make_lake: MakeLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(partners, "_MOST_NAMESAKES", 2)
    extensions = {f"f{at}/t{at}": {"customer_id": UNIQUE} for at in range(3)}
    lake = make_lake({"g/customers": {"id": UNIQUE}, **extensions})
    lake = replace(lake, titles=("customers", *extensions))
    expected = {("g/customers.id", f"{table}.customer_id") for table in extensions}
    assert near(lake) == near(lake, "g/customers.id") == expected
    # Of three tables of customers, none is known to be the one meant.
    lake = make_lake({f"g{at}/customers": {"id": UNIQUE} for at in range(3)} | extensions)
    lake = replace(lake, titles=(*["customers"] * 3, *extensions))
    assert near(lake) == set()


def schema(make_lake: MakeLake) -> Lake:
    """Make a lake of one folder in which two tables have roles."""
    keys = {f"f/{name}": {"id": UNIQUE} for name in ("colour", "device_role", "rack_role")}
    lake = make_lake({**keys, "f/rack": {"role_id": REPEATED}})
    return replace(lake, titles=("colour", "device_role", "rack_role", "rack"))


@pytest.mark.parametrize(
    ("most", "tables"),
    [
        (0, []),
        (1, ["rack_role"]),
        (2, ["rack_role", "device_role"]),
        (9, ["rack_role", "device_role", "colour"]),
    ],
)
def test_a_large_folder_suggests_the_keys_with_the_most_similar_names(
    make_lake: MakeLake, monkeypatch: pytest.MonkeyPatch, most: int, tables: list[str]
) -> None:
    monkeypatch.setattr(partners, "_MOST_NEIGHBOURS", 3)
    found = near(schema(make_lake), "f/rack.role_id", most_named=most)
    assert found == {("f/rack.role_id", f"f/{table}.id") for table in tables}


def test_if_all_keys_of_a_large_folder_are_named_it_suggests_what_a_small_one_does(
    make_lake: MakeLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = {f"f/t{at}": {f"x{at}": UNIQUE, f"y{at}": REPEATED} for at in range(7)}
    lake = make_lake(tables | {"g/u": {"z": UNIQUE}})
    expected = {frozenset(pair) for pair in near(lake)}
    assert len(expected) == 7 * 6 // 2 + 7 * 6
    monkeypatch.setattr(partners, "_MOST_NEIGHBOURS", 3)
    monkeypatch.setattr(partners, "_BLOCK", 2)
    assert {frozenset(pair) for pair in near(lake, most_named=99)} == expected
    assert near(lake) == set()


def test_a_large_folder_suggests_no_text_for_a_number(
    make_lake: MakeLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(partners, "_MOST_NEIGHBOURS", 2)
    lake = make_lake(
        {
            "f/a": {"code": REPEATED},
            "f/b": {"code_id": UNIQUE},
            "f/c": {"code_id": ["x", "y", "z"]},
        }
    )
    assert near(lake, "f/a.code", most_named=2) == {("f/a.code", "f/b.code_id")}


def test_a_large_folder_without_unique_columns_suggests_nothing(
    make_lake: MakeLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(partners, "_MOST_NEIGHBOURS", 2)
    lake = make_lake({f"f/t{at}": {f"c{at}": REPEATED} for at in range(3)})
    assert near(lake, most_named=9) == set()


def words(start: int, stop: int) -> Sequence[str]:
    return [f"w{number}" for number in range(start, stop)]


@pytest.fixture
def lake(make_lake: MakeLake) -> Lake:
    return make_lake(
        {
            # No two columns share a name or a folder, so values alone tell which pairs are kept.
            f"f{at}/t{at}": {
                f"word{at}": words(at % 7, at % 7 + 3),
                f"own{at}": words(100 * at, 100 * at + 5),
            }
            for at in range(1, 61)
        }
    )


def count_sketches(lake: Lake) -> int:
    """Count the pairs of distinct sketches that share a hash, in both orders."""
    sketches = {frozenset(np.frombuffer(each.sketch, "<u8").tolist()) for each in lake.profiles}
    return sum(bool(one & other) for one, other in permutations(sketches, 2))


def test_all_columns_make_the_estimate_exact(lake: Lake) -> None:
    pairs, sketches = len(measure_overlap(lake).left), count_sketches(lake)
    assert 0 < sketches < pairs
    assert expect_pairs(lake, drawn=len(lake)) == ExpectedPairs(sketches, pairs)


def test_some_columns_make_it_nearly_so(lake: Lake) -> None:
    expected = expect_pairs(lake, drawn=60)
    assert expected.kept == pytest.approx(len(measure_overlap(lake).left), rel=0.25)
    assert expected.compared == pytest.approx(count_sketches(lake), rel=0.4)


def test_columns_are_compared_in_parts_as_in_whole(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = expect_pairs(lake)
    monkeypatch.setattr("datahub_hyperjoin.model.signals.partners._CHUNK", 7)
    assert expect_pairs(lake) == whole


def test_columns_of_one_table_are_no_pair(make_lake: MakeLake) -> None:
    lake = make_lake({"t": {"a": words(0, 9), "b": words(0, 9)}})
    assert expect_pairs(lake) == ExpectedPairs(0, 0)


def test_a_lake_without_columns_has_no_pairs(make_lake: MakeLake) -> None:
    assert expect_pairs(make_lake({})) == ExpectedPairs(0, 0)


def test_columns_without_sketches_have_no_pairs(make_lake: MakeLake) -> None:
    lake = make_lake({name: {"a": ["x"]} for name in "st"})
    bare = tuple(replace(profile, sketch=b"") for profile in lake.profiles)
    assert expect_pairs(replace(lake, profiles=bare)) == ExpectedPairs(0, 0)


def test_a_column_keeps_its_best_partners_only(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = expect_pairs(lake, drawn=len(lake))
    for limit in ("_MOST_PAIRS", "_LEAST_PARTNERS"):
        monkeypatch.setattr(f"datahub_hyperjoin.model.signals.partners.{limit}", 4)
    expected, overlap = expect_pairs(lake, drawn=len(lake)), measure_overlap(lake)
    assert overlap.cut
    assert expected.kept < whole.kept
    assert expected.compared == whole.compared
    assert expected.kept == pytest.approx(len(overlap.left), rel=0.4)


def test_values_that_too_many_columns_hold_do_not_count(
    make_lake: MakeLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("sketches", "partners"):
        monkeypatch.setattr(f"datahub_hyperjoin.model.signals.{module}.MAX_POSTINGS", 1)
    cells = [["everywhere", f"only{i // 2}"] for i in range(4)]
    lake = make_lake({f"f{i}/t{i}": {f"word{i}": cells[i]} for i in range(4)})
    pairs = len(measure_overlap(lake).left)
    # The two equal sketches on each side of a pair are not compared.
    assert expect_pairs(lake) == ExpectedPairs(0, pairs)
