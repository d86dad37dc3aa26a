"""Test the candidates for references against a search in plain Python."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from datahub_hyperjoin.catalog_facts import CatalogFacts, ColumnStatistics, DeclaredKeys
from datahub_hyperjoin.joins import CatalogEvidence, Verdict
from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.roles.candidates import (
    find_reference_candidates,
    find_unique_columns,
    may_refer,
)
from datahub_hyperjoin.model.signals.overlap import measure_overlap
from datahub_hyperjoin.model.signals.priors import CatalogPriors
from datahub_hyperjoin.tables import DataType
from datahub_hyperjoin.value_forms import Notation
from lakes.handmade import Tables, column, facts_of, lake_of

NO_FACTS = CatalogFacts()
Found = Mapping[tuple[str, str], tuple[float, float]]
"""For each directed pair, the containment, and the probability that it is due to chance."""


def find(
    lake: Lake,
    facts: CatalogFacts = NO_FACTS,
    measured: Mapping[tuple[str, str], float] | None = None,
) -> Found:
    names = [str(each) for each in lake.ids]
    known = {(names.index(a), names.index(b)): share for (a, b), share in (measured or {}).items()}
    priors = CatalogPriors.from_facts(lake, facts)
    found = find_reference_candidates(lake, measure_overlap(lake), priors, known)
    ends = zip(found.referring.tolist(), found.referenced.tolist(), strict=True)
    values = zip(found.containment.tolist(), found.chance.tolist(), strict=True)
    return {(names[a], names[b]): both for (a, b), both in zip(ends, values, strict=True)}


def unique_columns(lake: Lake, facts: CatalogFacts = NO_FACTS) -> set[str]:
    marks = find_unique_columns(lake, CatalogPriors.from_facts(lake, facts))
    return {str(lake.ids[at]) for at in np.flatnonzero(marks)}


def search(tables: Tables) -> Found:
    """Find the candidates by comparing the values of all columns."""
    columns = {f"{t}.{c}": (t, cells) for t, own in tables.items() for c, cells in own.items()}
    values = {name: {*cells} - {""} for name, (_, cells) in columns.items()}
    numeric = {name: all(v.isdecimal() for v in values[name]) for name in columns}
    keys = [
        name
        for name, (_, cells) in columns.items()
        if len(values[name]) >= max(3, 0.95 * sum(bool(cell) for cell in cells))
    ]
    containment = {
        (name, key): len(values[name] & values[key]) / len(values[name])
        for name, (table, _) in columns.items()
        for key in keys
        if len(values[name]) >= 2 and table != columns[key][0] and values[name] & values[key]
    }
    found = {}
    for (name, key), share in containment.items():
        kind = [other for other in keys if numeric[other] == numeric[key]]
        as_good = [k for k in kind if containment.get((name, k), 0.0) >= share - 0.02]
        found[name, key] = share, len(as_good) / (len(kind) + 10)
    return found


cells = st.lists(st.sampled_from(["", *"123456789", *"abcdef"]), min_size=1, max_size=12)
lakes = st.dictionaries(
    st.sampled_from(["a", "b", "c", "d"]),
    st.dictionaries(st.sampled_from(["x", "y", "z"]), cells, min_size=1),
    min_size=1,
)


@given(lakes)
def test_all_pairs_with_a_shared_value_and_a_key_are_candidates(tables: Tables) -> None:
    found, expected = find(lake_of(tables)), search(tables)
    assert found.keys() == expected.keys()
    for pair, both in found.items():
        assert both == pytest.approx(expected[pair]), pair


@pytest.mark.parametrize(
    ("kind", "values", "expected"),
    [
        (DataType.INTEGER, ["1", "2"], True),
        (DataType.TEXT, ["AA", "UA"], True),
        (DataType.DATE, ["2024-01-31", "2024-02-29"], True),
        (DataType.DECIMAL, ["1.5", "2.5"], False),
        (DataType.BOOLEAN, ["true", "false"], False),
        (DataType.TIMESTAMP, ["2024-01-31 10:00:00", "2024-02-29 11:00:00"], False),
        (DataType.TEXT, ["AA", "AA"], False),
        (DataType.TEXT, ["a" * 64, "b" * 64], True),
        (DataType.TEXT, ["a" * 65, "b" * 65], False),
    ],
)
def test_codes_numbers_and_dates_may_refer_and_measures_and_prose_may_not(
    kind: DataType, values: list[str], *, expected: bool
) -> None:
    [profile] = lake_of({"a": {"x": values}}).profiles
    assert may_refer(replace(profile, type=kind)) is expected


@pytest.mark.parametrize(
    ("kind", "notation", "expected"),
    [
        (DataType.TEXT, Notation.TRUTH_WORDS, False),
        (DataType.TEXT, Notation.PADDED, True),
        (DataType.INTEGER, Notation.TRUTH_WORDS, True),
    ],
)
def test_yes_and_no_refer_to_nothing(kind: DataType, notation: Notation, *, expected: bool) -> None:
    [profile] = lake_of({"a": {"x": ["1", "0"]}}).profiles
    assert may_refer(replace(profile, type=kind, notation=notation)) is expected


@pytest.mark.parametrize(("repeated", "expected"), [(5, {"a.x"}), (6, set())])
def test_a_key_may_repeat_one_value_in_twenty(repeated: int, expected: set[str]) -> None:
    values = [f"k{number}" for number in range(96)]
    assert unique_columns(lake_of({"a": {"x": values + values[:repeated]}})) == expected


def with_dates(lake: Lake) -> Lake:
    profiles = [
        replace(profile, type=DataType.DATE) if "due" in profile.id.path else profile
        for profile in lake.profiles
    ]
    return replace(lake, profiles=tuple(profiles))


@pytest.mark.parametrize(
    ("days", "expected"), [(range(1, 29, 3), set()), ([1, 2, 4, 5, 7, 8], {"a.due"})]
)
def test_dates_refer_to_a_table_that_holds_most_days(
    days: Sequence[int], expected: set[str]
) -> None:
    due = [f"2024-02-{day:02}" for day in days]
    lake = with_dates(lake_of({"a": {"note": ["x"] * len(due), "due": due}}))
    assert unique_columns(lake) == expected
    declared = CatalogFacts(keys=DeclaredKeys(unique=frozenset([column("a.due")])))
    assert unique_columns(lake, declared) == {"a.due"}
    assert unique_columns(with_dates(lake_of({"a": {"due": due}}))) == {"a.due"}


def test_an_impossible_day_does_not_count() -> None:
    due = [*(f"2024-02-{day:02}" for day in range(1, 9)), "2024-02-30"]
    lake = with_dates(lake_of({"a": {"note": ["x"] * len(due), "due": due}}))
    assert unique_columns(lake) == {"a.due"}


def test_dates_of_which_only_hashes_are_known_are_no_calendar() -> None:
    due = ["3w5e11264sgsf", "1y2p0ij32e8e7", "2gosa7pa2gv"]
    lake = with_dates(lake_of({"a": {"note": ["x"] * len(due), "due": due}}))
    assert unique_columns(lake) == set()


def test_the_catalog_tells_which_columns_are_unique() -> None:
    lake = lake_of({"a": {"few": ["x", "y", "z", "x"], "all": ["1", "2", "3", "4"]}})
    assert unique_columns(lake) == {"a.all"}
    few, everything = column("a.few"), column("a.all")
    declared = DeclaredKeys(unique=frozenset([few]))
    assert unique_columns(lake, CatalogFacts(keys=declared)) == {"a.few", "a.all"}
    sampled = ColumnStatistics(uniqueness=0.5, completeness=1.0)
    assert unique_columns(lake, CatalogFacts(statistics={everything: sampled})) == set()


def test_two_values_are_no_key_even_if_they_are_declared_unique() -> None:
    lake = lake_of({"a": {"x": ["yes", "no"]}})
    declared = DeclaredKeys(unique=frozenset(lake.ids))
    assert unique_columns(lake, CatalogFacts(keys=declared)) == set()


CITIES: Tables = {
    "cities": {"name": ["Oslo", "Bern", "Rome"]},
    "towns": {"title": ["Bonn", "Cork", "Kent", "Oslo"]},
    "trips": {"to": ["Oslo", "Bern", "Oslo"]},
}
TRIP = ("trips.to", "cities.name")


def test_what_was_measured_on_all_rows_replaces_the_estimate() -> None:
    lake = lake_of(CITIES)
    assert find(lake)[TRIP] == (1.0, 1 / 12)
    measured = find(lake, measured={TRIP: 0.5})
    # Now `towns` holds the values as well as `cities`.
    assert measured[TRIP] == (0.5, 2 / 12)
    assert measured[("trips.to", "towns.title")] == (0.5, 2 / 12)


def test_candidates_know_no_rejections() -> None:
    lake = lake_of(CITIES)
    pair = ("cities.name", "towns.title")
    assert {pair, pair[::-1]} < find(lake).keys()
    rejected = facts_of({pair: CatalogEvidence(verdict=Verdict.REJECTED)})
    assert find(lake) == find(lake, rejected)


@pytest.mark.parametrize(
    "said", [CatalogEvidence(declared="fk"), CatalogEvidence(verdict=Verdict.ACCEPTED)]
)
def test_a_connected_pair_is_a_candidate_without_a_shared_value(said: CatalogEvidence) -> None:
    lake = lake_of({"a": {"x": ["1", "2"]}, "b": {"y": ["7", "8", "9"], "z": ["1", "2", "3"]}})
    assert find(lake).keys() == {("a.x", "b.z")}
    found = find(lake, facts_of({("a.x", "b.y"): said}))
    # Both keys hold the values at least as well as `b.y`.
    assert found == {("a.x", "b.y"): (0.0, 2 / 12), ("a.x", "b.z"): (1.0, 1 / 12)}


def test_columns_of_one_table_are_candidates_if_they_are_connected_or_known_to_share() -> None:
    lake = lake_of({"staff": {"id": ["1", "2", "3"], "boss": ["1", "1", "2"]}})
    pair = ("staff.boss", "staff.id")
    assert find(lake) == {}
    assert find(lake, facts_of({pair: CatalogEvidence(declared="fk")})).keys() == {pair}
    assert find(lake, measured={pair: 1.0}) == {pair: (1.0, 1 / 11)}


def test_a_lake_without_columns_has_no_candidates() -> None:
    assert find(lake_of({})) == find(lake_of({"a": {}})) == {}


@pytest.mark.parametrize(
    ("name", "is_key"),
    [("CREATEDBY", False), ("created_by", False), ("ruby", True), ("created", True)],
)
def test_who_made_each_row_is_no_key(name: str, *, is_key: bool) -> None:
    people = ["3", "1", "4", "2"]
    lake = lake_of({"centre": {name: people}, "client": {name: people[::-1]}})
    priors = CatalogPriors.from_facts(lake, CatalogFacts())
    assert find_unique_columns(lake, priors).tolist() == [is_key] * 2
