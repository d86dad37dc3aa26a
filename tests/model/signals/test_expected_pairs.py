from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest

from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.signals.expected_pairs import ExpectedPairs, expect_pairs
from datahub_hyperjoin.model.signals.overlap import measure_overlap
from handmade import MakeLake


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
    monkeypatch.setattr("datahub_hyperjoin.model.signals.expected_pairs._CHUNK", 7)
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
    for module in ("sketches", "expected_pairs"):
        monkeypatch.setattr(f"datahub_hyperjoin.model.signals.{module}.MAX_POSTINGS", 1)
    cells = [["everywhere", f"only{i // 2}"] for i in range(4)]
    lake = make_lake({f"f{i}/t{i}": {f"word{i}": cells[i]} for i in range(4)})
    pairs = len(measure_overlap(lake).left)
    # The two equal sketches on each side of a pair are not compared.
    assert expect_pairs(lake) == ExpectedPairs(0, pairs)
