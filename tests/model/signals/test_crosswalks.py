"""Test the pairs found through crosswalks against a search over all columns."""

from collections.abc import Callable, Mapping, Sequence
from itertools import permutations

import numpy as np
import pytest

from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.signals import crosswalks
from datahub_hyperjoin.model.signals.crosswalks import CrosswalkOverlap, find_crosswalks
from datahub_hyperjoin.model.signals.names import NameSimilarity
from datahub_hyperjoin.model.signals.overlap import ValueOverlap, measure_overlap

Tables = Mapping[str, Mapping[str, Sequence[str]]]
MakeLake = Callable[[Tables], Lake]

CODES = [f"k{number}" for number in range(60)]
NAMES = [f"Item number {number}" for number in range(60)]
CROSSWALK = {"code": CODES, "label": NAMES}
ORDERS = {"item": CODES[:40] * 3}
PRICES = {"article": NAMES[10:50], "price": [str(number % 7) for number in range(40)]}


def find(lake: Lake, overlap: ValueOverlap | None = None) -> CrosswalkOverlap:
    return find_crosswalks(
        lake,
        measure_overlap(lake) if overlap is None else overlap,
        names=NameSimilarity([profile.id.path for profile in lake.profiles]),
        uniqueness=np.array([profile.uniqueness for profile in lake.profiles]),
    )


def found_in(lake: Lake) -> dict[tuple[str, str], tuple[str, str]]:
    """Map each pair to the two columns of its crosswalk."""
    overlap, names = find(lake), [str(column) for column in lake.ids]
    pairs = overlap.pairs
    steps = overlap.steps(pairs.left, pairs.right)
    assert (steps >= 0).all()
    return {
        (names[left], names[right]): (names[via[0]], names[via[1]])
        for left, right, via in zip(pairs.left, pairs.right, steps, strict=True)
    }


def test_codes_join_with_names_through_a_crosswalk(make_lake: MakeLake) -> None:
    lake = make_lake({"orders": ORDERS, "prices": PRICES, "items": CROSSWALK})
    assert found_in(lake) == {
        ("orders.item", "prices.article"): ("items.code", "items.label"),
        ("prices.article", "orders.item"): ("items.label", "items.code"),
    }


@pytest.mark.parametrize(
    "crosswalk",
    [
        {"code": CODES, "label": ["Item", *NAMES[1:2]] * 30},
        {"code": CODES[:9], "label": NAMES[:9]},
        {"code": CODES, "label": [f"{name} {'prose ' * 40}" for name in NAMES]},
        {"label": NAMES},
    ],
    ids=["repeated names", "few values", "prose", "one column"],
)
def test_a_table_that_maps_nothing_is_no_crosswalk(
    make_lake: MakeLake, crosswalk: Mapping[str, Sequence[str]]
) -> None:
    prices = {"article": crosswalk["label"]}
    assert found_in(make_lake({"orders": ORDERS, "prices": prices, "items": crosswalk})) == {}


def test_columns_that_share_values_need_no_crosswalk(make_lake: MakeLake) -> None:
    prices = {"article": [*NAMES[:40], *CODES[:20]]}
    assert found_in(make_lake({"orders": ORDERS, "prices": prices, "items": CROSSWALK})) == {}


def test_only_a_pair_with_a_crosswalk_has_steps(make_lake: MakeLake) -> None:
    lake = make_lake({"orders": ORDERS, "prices": PRICES, "items": CROSSWALK})
    number = {str(column): at for at, column in enumerate(lake.ids)}
    item, article = number["orders.item"], number["prices.article"]
    code, label = number["items.code"], number["items.label"]
    left, right = np.array([item, item, article]), np.array([code, article, item])
    steps = find(lake).steps(left, right)
    assert steps.tolist() == [[-1, -1], [code, label], [label, code]]


def test_two_numbers_in_a_row_are_no_crosswalk(make_lake: MakeLake) -> None:
    left, right = ([str(start + 7 * n) for n in range(60)] for start in (100, 5000))
    tables = {"a": {"x": left}, "b": {"y": right}, "c": {"x": left, "y": right}}
    assert found_in(make_lake(tables)) == {}


def test_consecutive_numbers_count_only_with_their_name(make_lake: MakeLake) -> None:
    numbers = [str(number) for number in range(1, 61)]
    items = {"item_no": numbers, "label": NAMES}
    for name, count in (("item_no", 2), ("year", 0)):
        orders = {name: numbers[:40] * 2}
        lake = make_lake({"orders": orders, "prices": PRICES, "items": items})
        assert len(found_in(lake)) == count


def test_the_best_crosswalk_of_a_pair_is_named(make_lake: MakeLake) -> None:
    part = {"code": CODES[:30], "label": NAMES[:30]}
    lake = make_lake({"part": part, "orders": ORDERS, "prices": PRICES, "whole": CROSSWALK})
    via = found_in(lake)["orders.item", "prices.article"]
    assert via == ("whole.code", "whole.label")


def test_a_lake_without_values_has_no_crosswalks(make_lake: MakeLake) -> None:
    lake = make_lake({"orders": ORDERS, "prices": PRICES, "items": CROSSWALK})
    overlap = find(lake, ValueOverlap.empty(len(lake)))
    assert len(overlap.pairs) == 0
    assert CrosswalkOverlap.empty(3).steps(np.array([0]), np.array([2])).tolist() == [[-1, -1]]


def test_the_strongest_steps_are_kept(make_lake: MakeLake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crosswalks, "_MAX_STEPS", 2)
    few = {"item": CODES[:8] + [f"z{number}" for number in range(6)]}
    lake = make_lake({"few": few, "orders": ORDERS, "prices": PRICES, "items": CROSSWALK})
    assert {left for left, _ in found_in(lake)} == {"orders.item", "prices.article"}


def test_pairs_equal_those_of_a_search_over_all_columns(
    make_lake: MakeLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = lake_of_crosswalks(make_lake)
    overlap = measure_overlap(lake)
    expected = search(lake, overlap)
    assert expected
    for at_once in (1, 40, 1 << 20):
        monkeypatch.setattr(crosswalks, "_AT_ONCE", at_once)
        assert strengths_of(find(lake, overlap)) == pytest.approx(expected)


@pytest.mark.parametrize("at_once", [1, 1 << 20])
def test_a_column_of_a_large_lake_keeps_its_strongest_partners(
    make_lake: MakeLake, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    lake = lake_of_crosswalks(make_lake)
    every = strengths_of(find(lake))
    monkeypatch.setattr(crosswalks, "_AT_ONCE", at_once)
    monkeypatch.setattr(crosswalks, "most_partners", lambda _: 2)
    best = {
        (column, other)
        for column in {left for left, _ in every}
        for other in sorted(
            (right for left, right in every if left == column),
            key=lambda other: (-every[column, other], other),
        )[:2]
    }
    expected = {pair: every[pair] for pair in best | {(b, a) for a, b in best}}
    assert len(expected) < len(every)
    assert strengths_of(find(lake)) == expected


def strengths_of(overlap: CrosswalkOverlap) -> dict[tuple[int, int], float]:
    pairs = zip(overlap.pairs.left.tolist(), overlap.pairs.right.tolist(), strict=True)
    return dict(zip(pairs, overlap.pairs.values.tolist(), strict=True))


def lake_of_crosswalks(make_lake: MakeLake) -> Lake:
    random = np.random.default_rng(3)
    tables: dict[str, Mapping[str, Sequence[str]]] = {}
    for number in range(12):
        rows = random.choice(60, random.integers(15, 60), replace=False)
        columns = {"a": [CODES[row] for row in rows], "b": [NAMES[row] for row in rows]}
        kept = random.choice(["a", "b"], random.integers(1, 3), replace=False)
        tables[f"t{number}"] = {name: columns[name] for name in kept}
    return make_lake(tables)


def search(lake: Lake, overlap: ValueOverlap) -> dict[tuple[int, int], float]:
    """Find the pairs that join through crosswalks, by trying all combinations of four columns."""

    def of(values: np.ndarray, left: int, right: int) -> float:
        return float(overlap.look_up(values, np.array([left]), np.array([right]))[0])

    def step(end: int, via: int) -> float:
        shared = of(overlap.shared.astype(float), end, via)
        return of(overlap.beyond_chance, end, via) * float(1 - np.exp(-shared / 3))

    best: dict[tuple[int, int], float] = {}
    for left_via, right_via in permutations(range(len(lake)), 2):
        if lake.table_of[left_via] != lake.table_of[right_via]:
            continue
        for left, right in permutations(range(len(lake)), 2):
            strengths = step(left, left_via), step(right, right_via)
            direct = of(overlap.containment, left, right), of(overlap.containment, right, left)
            if min(strengths) >= 0.4 and max(direct) < 0.1:
                value = strengths[0] * strengths[1]
                if lake.table_of[left] != lake.table_of[right]:
                    best[left, right] = max(best.get((left, right), 0.0), value)
    return best
