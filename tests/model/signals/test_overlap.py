"""Test the estimated overlap of columns, as written and in other forms."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from jaxtyping import Int
from pandas.util import hash_array

from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.signals import overlap, partners, sketches
from datahub_hyperjoin.model.signals import overlap as overlap_module
from datahub_hyperjoin.model.signals.overlap import (
    SharedCounts,
    ValueOverlap,
    add_form_overlap,
    measure_overlap,
)
from datahub_hyperjoin.model.signals.pairs import SparsePairs
from datahub_hyperjoin.model.signals.sketches import count_common_hashes
from datahub_hyperjoin.value_forms import Notation, ValueForm
from datahub_hyperjoin.written_in import canonical_form, common_forms, notation_of
from lakes.handmade import MakeLake


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


SKETCH_SIZE = 1024
CODES = st.lists(
    st.integers(0, 30).flatmap(lambda code: st.sampled_from([f"{code}", f"{code:04}"])),
    min_size=1,
    max_size=20,
    unique=True,
)


def numbers(*values: int, width: int = 0) -> list[str]:
    return [f"{value:0{width}}" for value in values]


def in_forms(make_lake: MakeLake, columns: Sequence[Sequence[str]]) -> Lake:
    """Make one-column tables, and fill in the `notation` and `form_sketch` of their profiles."""
    lake = make_lake({f"t{at}": {"code": cells} for at, cells in enumerate(columns)})
    profiles = zip(lake.profiles, columns, strict=True)
    return replace(
        lake,
        profiles=tuple(
            replace(profile, notation=notation, form_sketch=sketch(cells, notation))
            for profile, cells in profiles
            for notation in [notation_of([*cells])]
        ),
    )


def sketch(cells: Sequence[str], notation: Notation | None) -> bytes:
    if notation is None:
        return b""
    canonical = np.array([*{canonical_form(cell, notation) for cell in cells}], dtype=object)
    hashes = np.sort(hash_array(canonical, categorize=False))
    return hashes[:SKETCH_SIZE].astype("<u8").tobytes()


def of(overlap: ValueOverlap, name: str, left: int, right: int) -> float:
    return float(
        overlap.look_up(getattr(overlap, name) * 1.0, np.array([left]), np.array([right]))[0]
    )


def expected(left: Sequence[str], right: Sequence[str]) -> tuple[float, float]:
    """Compute the containment in both directions.

    Values are compared in another form if that adds to the containment.
    """

    def both(one: set[str], other: set[str]) -> tuple[float, float]:
        return len(one & other) / len(one), len(one & other) / len(other)

    best = both({*left}, {*right})
    notations = [notation_of([*cells]) for cells in (left, right)]
    for form in sorted(common_forms(*notations), key=[*ValueForm].index):
        canonical = [
            {canonical_form(cell, notation) for cell in cells}
            if notation and notation.form is form
            else {*cells}
            for cells, notation in zip((left, right), notations, strict=True)
        ]
        in_form = both(*canonical)
        best = in_form if max(in_form) > max(best) + 0.01 else best
    return best


@given(st.lists(CODES, min_size=2, max_size=5))
@example([["0000"], ["0", "1"]])  # padded digits and truth words: two forms
def test_pairs_overlap_as_written_or_in_the_form(
    make_lake: MakeLake, columns: list[list[str]]
) -> None:
    lake = in_forms(make_lake, columns)
    overlap = add_form_overlap(lake, measure_overlap(lake))
    for left, one in enumerate(columns):
        for right in range(left + 1, len(columns)):
            forth, back = expected(one, columns[right])
            assert of(overlap, "containment", left, right) == pytest.approx(forth)
            assert of(overlap, "containment", right, left) == pytest.approx(back)
    assert np.array_equal(np.lexsort((overlap.right, overlap.left)), np.arange(len(overlap.left)))


def test_large_columns_are_estimated_without_bias_in_a_form(make_lake: MakeLake) -> None:
    padded, plain = numbers(*range(20_000), width=9), numbers(*range(15_000, 25_000))
    lake = in_forms(make_lake, [padded, plain])
    overlap = add_form_overlap(lake, measure_overlap(lake))
    assert of(overlap, "containment", 0, 1) == pytest.approx(0.25, abs=0.05)
    assert of(overlap, "containment", 1, 0) == pytest.approx(0.5, abs=0.06)


def test_a_lake_without_notations_keeps_its_overlap(make_lake: MakeLake) -> None:
    lake = in_forms(make_lake, [numbers(1, 2), numbers(2, 3)])
    overlap = measure_overlap(lake)
    assert add_form_overlap(lake, overlap) is overlap


def test_a_form_changes_no_pair_without_it(make_lake: MakeLake) -> None:
    plain = [numbers(*range(9)), numbers(*range(5, 14))]
    lake = in_forms(make_lake, [*plain, numbers(*range(9), width=3)])
    before, after = measure_overlap(lake), add_form_overlap(lake, measure_overlap(lake))
    for name in ("shared", "containment", "beyond_chance"):
        assert of(after, name, 0, 1) == of(before, name, 0, 1)


def test_padded_counters_that_every_counter_holds_are_no_news(make_lake: MakeLake) -> None:
    counters = [numbers(*range(50)) for _ in range(40)]
    sparse = numbers(*range(10_000, 10_050))
    padded = [numbers(*range(50), width=4), [f"0{number}" for number in sparse]]
    lake = in_forms(make_lake, [*counters, sparse, *padded])
    overlap = add_form_overlap(lake, measure_overlap(lake))
    assert of(overlap, "containment", 41, 0) == 1
    assert overlap.look_up(overlap.either_way(slice(None)), np.array([41]), np.array([0]))[0] < 0.3
    assert of(overlap, "beyond_chance", 42, 40) > 0.9


Columns = Int[np.ndarray, " pair"]


def measure(make_lake: MakeLake) -> ValueOverlap:
    """Measure the overlaps of columns of one folder, of whose values many columns hold most."""
    draw = np.random.default_rng(5)
    words = [[f"w{word}" for word in draw.choice(60, 30, replace=False)] for _ in range(24)]
    tables = {f"t{at}": {"name": own, "other": own[::2]} for at, own in enumerate(words)}
    return measure_overlap(make_lake(tables))


@pytest.mark.parametrize(("least", "is_known"), [(1 << 23, True), (8, False)])
def test_known_counts_save_work_and_change_nothing(
    make_lake: MakeLake, monkeypatch: pytest.MonkeyPatch, least: int, *, is_known: bool
) -> None:
    monkeypatch.setattr(sketches, "MAX_POSTINGS", 18)
    monkeypatch.setattr(partners, "_MOST_PAIRS", 0)
    monkeypatch.setattr(partners, "_LEAST_PARTNERS", least)
    compared = list[int]()

    def count(sketches: Sequence[bytes], left: Columns, right: Columns) -> Columns:
        compared.append(sum(map(len, sketches)))
        return count_common_hashes(sketches, left, right)

    monkeypatch.setattr(overlap, "count_common_hashes", count)
    found = measure(make_lake)

    def know_nothing(_: object, sketches: Sequence[bytes], *__: object) -> SharedCounts:
        none = np.zeros(0, dtype=np.int64)
        return SharedCounts(SparsePairs(len(sketches), none, none), none, sketches)

    monkeypatch.setattr(SharedCounts, "of", know_nothing)
    expected = measure(make_lake)
    for name in ("left", "right", "shared", "containment", "beyond_chance", "least_chance"):
        assert getattr(found, name).tolist() == getattr(expected, name).tolist()
    assert (compared[0] < compared[1]) == is_known
