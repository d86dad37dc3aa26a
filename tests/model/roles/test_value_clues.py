"""Test what the values of two columns reveal about a reference between the columns."""

from dataclasses import replace

import pytest

from datahub_hyperjoin.model.roles.pair_scores import DEFAULT_WEIGHTS
from lakes.handmade import Tables, draw, numbers, things
from lakes.referring import find, probability

PATIENTS: Tables = {
    "patients": {"patient_id": numbers(1, 701), "name": [f"N{n}" for n in range(700)]},
    **{
        letter * 4: {"lot": numbers(ord(letter) * 1000, ord(letter) * 1000 + 50)}
        for letter in "bcd"
    },
}
"""A table of patients with numbers from 1, and tables with other numbers."""


ANY_SIZE = replace(DEFAULT_WEIGHTS, coverage=0.0)
"""Weights with which columns may refer to keys of any size."""
UNMARKED = replace(ANY_SIZE, unmarked=0.0, measures=0.0)
"""Weights with which even columns that look like measures may refer to keys of any size."""


def test_measures_do_not_refer_to_the_key_of_a_large_table() -> None:
    vitals = {
        "no": numbers(5001, 5901),
        "patient_id": draw(numbers(1, 701), 900),
        "heart_rate": draw(numbers(50, 100), 900, 1),
    }
    person = ("vitals.patient_id", "patients.patient_id")
    rate = ("vitals.heart_rate", "patients.patient_id")
    assert find({**PATIENTS, "vitals": vitals}, weights=UNMARKED) == {person, rate}
    assert find({**PATIENTS, "vitals": vitals}, weights=ANY_SIZE) == {person}


@pytest.mark.parametrize(
    ("column", "cells", "is_measure"),
    [
        ("heart_rate", numbers(50, 100), True),
        ("heart_rate_id", numbers(50, 100), False),
        ("oldest_patient", numbers(50, 100), False),
        ("guest", numbers(1, 701), False),
        ("born", [f"{n}x" for n in range(50)], False),
    ],
)
def test_a_measure_holds_few_of_the_key_s_numbers_under_a_name_of_its_own(
    column: str, cells: list[str], *, is_measure: bool
) -> None:
    visits = {"no": numbers(5001, 6401), column: draw(cells, 1400, 1)}
    patients = {"patient_id": [*numbers(1, 701), *(f"{n}x" for n in range(50))]}
    pair = (f"visits.{column}", "patients.patient_id")
    tables: Tables = {
        **PATIENTS,
        "visits": visits,
        **({"patients": patients} if column == "born" else {}),
    }
    found = probability(tables, pair, weights=ANY_SIZE)
    unmarked = probability(tables, pair, weights=UNMARKED)
    assert unmarked > 0
    assert (found < unmarked) == is_measure


STAFF: Tables = {"staff": {"sid": numbers(1, 16), "name": [f"N{n}" for n in range(15)]}}


@pytest.mark.parametrize(
    ("column", "cells", "extends"),
    [
        ("sid", ["2", "4", "5", "8", "9", "12"], True),
        ("cno", ["2", "4", "5", "8", "9", "12"], False),
        ("sid", numbers(1, 7), False),
        ("sid", [*numbers(1, 7), *numbers(8, 17)], False),
        ("sid", ["2", "4", "5", "8", "9", "99"], False),
    ],
)
def test_a_first_column_refers_to_a_greater_key_of_the_same_name(
    column: str, cells: list[str], *, extends: bool
) -> None:
    chemists = {column: cells, "title": [f"T{n}" for n in range(len(cells))]}
    found = find({**STAFF, "chemists": chemists, **things(6)})
    assert found == ({("chemists.sid", "staff.sid")} if extends else set())


@pytest.mark.parametrize("count", [4, 40])
def test_numbers_without_gaps_refer_to_the_counter_that_they_fill(count: int) -> None:
    tables: Tables = {
        "workflows": {"status": draw(numbers(1, count + 1), 300)},
        "old_status": {"no": numbers(1, count + 1)},
        "new_status": {"no": numbers(1, 10 * count)},
    }
    for weights in (DEFAULT_WEIGHTS, ANY_SIZE):
        filled, other = (
            probability(tables, ("workflows.status", f"{table}.no"), weights=weights)
            for table in ("old_status", "new_status")
        )
        assert (filled > 2 * other > 0) == (weights is DEFAULT_WEIGHTS)


def test_a_mark_in_a_counter_is_no_reason_to_refer_to_it() -> None:
    def likely(last: str) -> float:
        tables: Tables = {
            "one": {"game": [*numbers(1, 60), last]},
            "other": {"kicks": draw(numbers(1, 34)[::2], 300)},
            **things(12),
            **{letter * 4: {"word": [f"{letter}{n}" for n in range(50)]} for letter in "qrstuvwxy"},
        }
        return probability(tables, ("other.kicks", "one.game"))

    assert likely("60*") == pytest.approx(likely("60"), abs=0.01)
    assert likely("60*") < 0.5


def test_numbers_with_gaps_refer_to_a_large_key_as_well_as_to_a_small_one() -> None:
    some = [str(1000 * number) for number in range(1, 41)]
    tables: Tables = {
        "workflows": {"status": draw(some, 300)},
        "old_status": {"no": some},
        "new_status": {"no": [*some, *(str(1000 * number) for number in range(41, 401))]},
    }
    for table in ("old_status", "new_status"):
        pair = ("workflows.status", f"{table}.no")
        known = probability(tables, pair, weights=ANY_SIZE)
        assert probability(tables, pair) == pytest.approx(known, abs=0.01)
