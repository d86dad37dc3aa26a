"""Test how tables are split into two halves, and which columns of the halves join."""

from itertools import groupby

import numpy as np
import pytest

from benchmarks.rivals.cells import Cells
from benchmarks.rivals.split_tables import misspell, split_tables
from lakes.rivalry import named


def table(name: str, *columns: str, rows: int = 20) -> list[Cells]:
    """Make columns of numbers, because numbers never get typos."""
    return [
        Cells(named(f"{name}.{column}"), {f"{place}{at:03}": 1 + at for at in range(rows)})
        for place, column in enumerate(columns)
    ]


@pytest.mark.parametrize("seed", range(10))
def test_columns_join_with_themselves_and_with_no_other_of_the_other_half(seed: int) -> None:
    lake = [*table("a", *"pqrstuv"), *table("b", "x"), *table("c", "x", "y")]
    halves = split_tables(lake, np.random.default_rng(seed))
    tables = [
        (name, [*of]) for name, of in groupby(halves.lake, key=lambda cells: cells.name.table)
    ]
    assert [name for name, _ in tables] == ["a 1", "a 2", "c 1", "c 2"]
    first, second = ({cells.name.column for cells in of} for _, of in tables[:2])
    assert first | second == {*"pqrstuv"}
    assert 1 <= len(first & second) <= 3
    assert len(second) - len(first) in {0, 1}
    expected = {
        (f"{name} 1.{one}", f"{name} 2.{one}", f"{name} 2.{other}")
        for name, (own, others) in {
            "a": (first, second),
            "c": [{cells.name.column for cells in of} for _, of in tables[2:]],
        }.items()
        for one in own & others
        for other in others - {one}
    }
    found = [tuple(str(halves.lake[place].name) for place in row) for row in halves.triplets]
    assert {*found} == expected
    assert len(found) == len(expected)


@pytest.mark.parametrize("seed", range(10))
def test_halves_share_the_first_rows_and_divide_the_others(seed: int) -> None:
    lake = table("a", "x", "y", rows=100)
    halves = split_tables(lake, np.random.default_rng(seed))
    whole = {cells.name.column: cells.counts for cells in lake}
    for cells in halves.lake:
        assert cells.counts.items() <= whole[cells.name.column].items()
    first, second = (dict(halves.lake[place].counts) for place in halves.triplets[0, :2])
    counts = whole[halves.lake[0].name.column]
    shared = [value for value in counts if value in first and value in second]
    assert first | second == counts
    assert [*counts][: len(shared)] == shared == [*second][: len(shared)]
    assert 10 <= len(shared) <= 90


def test_half_of_the_tables_have_typos_in_what_their_second_halves_share() -> None:
    values = {f"Frankfurt ({at})": 1 for at in range(20)}
    lake = [Cells(named(f"t{at:03}.{name}"), values) for at in range(200) for name in "xy"]
    halves = split_tables(lake, np.random.default_rng(0))
    misspelt = np.array([not cells.counts.keys() <= values.keys() for cells in halves.lake])
    anchors, positives, others = halves.triplets.T
    assert misspelt[positives].mean() == pytest.approx(0.5, abs=0.15)
    assert not misspelt[anchors].any()
    assert not misspelt[others].any()


def test_most_diverse_columns_or_any_are_shared() -> None:
    diverse = [cells for at in range(200) for cells in (*table(f"t{at:03}", "x"),)]
    plain = [cells for at in range(200) for cells in table(f"t{at:03}", "y", rows=2)]
    lake = [cells for pair in zip(plain, diverse, strict=True) for cells in pair]
    halves = split_tables(lake, np.random.default_rng(0))
    shared = [halves.lake[place].name.column for place in halves.triplets[:, 0]]
    assert shared.count("x") / len(shared) == pytest.approx(0.75, abs=0.12)


def test_a_typo_is_a_letter_for_every_ten_and_one_at_least() -> None:
    random = np.random.default_rng(0)
    for value, most in (("a", 1), ("St. Gallen (CH)", 1), ("abcdefghij" * 4, 4)):
        for _ in range(50):
            found = misspell(value, random)
            assert len(found) == len(value)
            changed = [old for old, new in zip(value, found, strict=True) if old != new]
            assert len(changed) <= most
            assert all(map(str.isalnum, changed))
    assert misspell("2024-01-31", random) == "2024-01-31"


def test_a_seed_repeats() -> None:
    lake = [*table("a", *"pqrstuv"), *table("c", "x", "y")]
    one, same, other = (split_tables(lake, np.random.default_rng(seed)) for seed in (0, 0, 1))
    assert one.lake == same.lake
    assert np.array_equal(one.triplets, same.triplets)
    assert one.lake != other.lake
