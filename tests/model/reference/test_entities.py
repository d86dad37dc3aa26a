"""Test that columns overlap if they contain the same entities, even in different forms."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pycountry
import pytest

from datahub_hyperjoin.model.reference.entities import EntityOverlap
from datahub_hyperjoin.normal_form import hash_values, normal_forms

COUNTRIES = sorted(pycountry.countries, key=lambda one: str(one.alpha_2))
CODES = [str(one.alpha_2) for one in COUNTRIES]
NAMES = [str(one.name) for one in COUNTRIES]


def sketch(values: Sequence[str]) -> bytes:
    hashes = np.sort(hash_values(normal_forms(pa.array(values, pa.string()))))
    return hashes.astype("<u8").tobytes()


def overlap(*columns: Sequence[str], tables: Sequence[int] | None = None) -> EntityOverlap:
    table_of = np.arange(len(columns)) if tables is None else np.array(tables)
    return EntityOverlap.from_sketches([sketch(column) for column in columns], table_of)


def of(found: EntityOverlap, left: int, right: int) -> float:
    return float(found.pairs.of(np.array([left]), np.array([right]))[0])


def test_codes_overlap_with_names_as_far_as_they_are_the_same_countries() -> None:
    found = overlap(CODES[:40], NAMES[30:80], CODES[100:150], ["red", "green", "blue"])
    assert (
        of(found, 0, 1)
        == of(found, 1, 0)
        == pytest.approx((1 + 10 / 40 * (1 - np.exp(-10 / 3))) / 2)
    )
    assert of(found, 1, 2) == of(found, 0, 3) == of(found, 3, 3) == 0


def test_random_columns_overlap_as_sets_do() -> None:
    random = np.random.default_rng(0)
    chosen = [random.choice(200, random.integers(5, 90), replace=False) for _ in range(12)]
    columns = [[(CODES, NAMES)[at % 2][one] for one in some] for at, some in enumerate(chosen)]
    found = overlap(*columns)
    for one, left in enumerate(chosen):
        for other, right in enumerate(chosen):
            shared = len(set(left) & set(right))
            share = shared / min(len(left), len(right)) * (1 - np.exp(-shared / 3))
            expected = (1 + share) / 2 if shared and one != other else 0
            assert of(found, one, other) == pytest.approx(expected), (one, other)


def test_columns_of_one_form_are_alike() -> None:
    found = overlap(CODES[:40], CODES[20:90], NAMES[:40], ["red", "green", "blue"], ["red", "blue"])
    alike = found.same_form(*np.indices((5, 5)))
    assert alike.tolist() == [
        [True, True, False, False, False],
        [True, True, False, False, False],
        [False, False, True, False, False],
        [False] * 5,
        [False] * 5,
    ]


def test_columns_of_one_table_do_not_overlap() -> None:
    found = overlap(CODES[:40], NAMES[:40], NAMES[:40], tables=[0, 0, 1])
    assert of(found, 0, 1) == 0
    assert of(found, 0, 2) > 0.99


def test_pairs_are_sorted_and_stored_in_both_orders() -> None:
    found = overlap(CODES[:40], NAMES[10:50], CODES[20:60], NAMES[:9])
    numbers = found.pairs.left * 4 + found.pairs.right
    assert (np.diff(numbers) > 0).all()
    np.testing.assert_array_equal(np.sort(found.pairs.right * 4 + found.pairs.left), numbers)


@pytest.mark.parametrize("columns", [[], [["red", "green", "blue"], []]])
def test_nothing_is_found_where_no_column_is_recognised(columns: list[list[str]]) -> None:
    found = overlap(*columns)
    assert len(found.pairs.left) == len(found.pairs.right) == len(found.pairs.values) == 0
    assert found.form.tolist() == [-1] * len(columns)


def test_the_kind_of_a_pair_is_that_of_both() -> None:
    found = overlap(CODES[:40], NAMES[30:80], ["red", "green", "blue"], ["He", "Ne", "Ar", "Kr"])
    assert found.kind(0, 1) == found.kind(1, 0) == found.kind(0, 0) == "countries"
    assert found.kind(0, 2) is found.kind(2, 2) is found.kind(0, 3) is None
