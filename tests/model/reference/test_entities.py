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
    return float(found.of(np.array([left]), np.array([right]))[0])


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


def test_partners_are_those_of_a_full_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("datahub_hyperjoin.model.reference.entities._BLOCK_PAIRS", 50)
    random = np.random.default_rng(1)
    lists = [(CODES, NAMES)[at % 2][: int(random.integers(3, 9)) * 10] for at in range(30)]
    lists[4] = ["red", "green", "blue"]
    tables = [at // 3 for at in range(30)]
    found = overlap(*lists, tables=tables)
    keys = np.array([7, 0, 4, 29])
    for count in (1, 5, 40):
        partners = found.partners(keys, count)
        assert partners.shape == (4, count)
        for key, row in zip(keys.tolist(), partners.tolist(), strict=True):
            others = [other for other in range(30) if of(found, key, other) > 0]
            expected = sorted(others, key=lambda other: (-of(found, key, other), other))[:count]
            assert row == expected + [-1] * (count - len(expected))


@pytest.mark.parametrize("columns", [[], [["red", "green", "blue"], []]])
def test_nothing_is_found_where_no_column_is_recognised(columns: list[list[str]]) -> None:
    found = overlap(*columns)
    numbers = np.arange(len(columns))
    assert not found.of(*np.meshgrid(numbers, numbers)).any()
    assert (found.partners(numbers, 3) == -1).all()
    assert found.form.tolist() == [-1] * len(columns)


def test_the_kind_of_a_pair_is_that_of_both() -> None:
    found = overlap(CODES[:40], NAMES[30:80], ["red", "green", "blue"], ["He", "Ne", "Ar", "Kr"])
    assert found.kind(0, 1) == found.kind(1, 0) == found.kind(0, 0) == "countries"
    assert found.kind(0, 2) is found.kind(2, 2) is found.kind(0, 3) is None
