import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from datahub_hyperjoin.model.names import NameSimilarity, tokens, trigrams

NAMES = ["customerId", "CUSTOMER_ID", "carrier", "cust no", "", "__"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("CustomerID", ("customer", "id")),
        ("HTTPServer", ("http", "server")),
        ("iso_3166-1", ("iso", "3166", "1")),
        ("park.key", ("park", "key")),
        ("Año", ("año",)),
        ("alpha3", ("alpha", "3")),
        ("___", ()),
    ],
)
def test_names_split_on_separators_case_and_digits(name: str, expected: tuple[str, ...]) -> None:
    assert tokens(name) == expected


@given(st.text())
def test_tokens_hold_every_letter_and_digit_once(name: str) -> None:
    kept = "".join(part for part in name.replace("_", " ") if part.isalnum()).lower()
    assert "".join(tokens(name)) == kept


def test_similarity_equals_dice_of_trigram_sets() -> None:
    alike = NameSimilarity(NAMES)
    for left, one in enumerate(NAMES):
        for right, other in enumerate(NAMES):
            first, second = trigrams(one), trigrams(other)
            total = len(first) + len(second)
            dice = 2 * len(first & second) / total if total else 0.0
            found = alike.of(np.array([left]), np.array([right]))[0]
            assert found == pytest.approx(dice)


def test_a_convention_makes_no_difference() -> None:
    alike = NameSimilarity(NAMES)
    assert alike.of(np.array([0]), np.array([1]))[0] == 1


def similarity(one: tuple[str, str], other: tuple[str, str]) -> float:
    """Of two columns, each the name of its table and its own."""
    tables, names = zip(one, other, strict=True)
    return float(NameSimilarity(names, tables).of(np.array([0]), np.array([1]))[0])


def test_an_identifier_is_one_of_its_table() -> None:
    assert similarity(("Customer", "ID"), ("sales", "customer_id")) == 1
    assert similarity(("sales", "customer_id"), ("Customer", "ID")) == 1
    assert similarity(("Customer", "ID"), ("sales", "car_id")) < 0.6


@pytest.mark.parametrize("name", ["customer_id", "region", "", "__"])
def test_other_names_are_not_read_with_their_table_s(name: str) -> None:
    elsewhere = similarity(("customer", name), ("sales", "customer"))
    assert elsewhere == similarity(("t", name), ("sales", "customer"))


def test_of_two_identifiers_only_one_is_read_with_its_table_s() -> None:
    assert similarity(("customer", "id"), ("customer", "id")) == 1
    assert similarity(("cars", "id"), ("customers", "id")) == 1
    assert similarity(("cars", "id"), ("customers", "key")) < 0.5
