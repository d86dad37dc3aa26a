"""Test the overlap of values in different notations; Python sets give the expected results."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pandas.util import hash_array

from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.signals.overlap import ValueOverlap, add_form_overlap, measure_overlap
from datahub_hyperjoin.value_forms import Notation, canonical_form, notation_of

MakeLake = Callable[[Mapping[str, Mapping[str, Sequence[str]]]], Lake]
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

    Values are compared in another form if that more than doubles the containment.
    """

    def both(one: set[str], other: set[str]) -> tuple[float, float]:
        return len(one & other) / len(one), len(one & other) / len(other)

    written = both({*left}, {*right})
    notations = [notation_of([*cells]) for cells in (left, right)]
    canonical = [
        {canonical_form(cell, notation) if notation else cell for cell in cells}
        for cells, notation in zip((left, right), notations, strict=True)
    ]
    in_form = both(*canonical)
    return in_form if max(in_form) > 2 * max(written) else written


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


def test_large_columns_are_estimated_without_bias(make_lake: MakeLake) -> None:
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
