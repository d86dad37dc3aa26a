"""Test the words, variants and similarity of names."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from datahub_hyperjoin.catalog_facts import CatalogFacts
from datahub_hyperjoin.model.config import ModelConfig
from datahub_hyperjoin.model.hypergraph.lake_index import build_lake_index
from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.signals.names import (
    NameSimilarity,
    canonical,
    name_words,
    qualify,
    tokens,
    trigrams,
    vary_name,
)

MakeLake = Callable[[Mapping[str, Mapping[str, Sequence[str]]]], Lake]
NAMES = ["customerId", "CUSTOMER_ID", "carrier", "cust no", "", "__"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("CustomerID", ("customer", "id")),
        ("HTTPServer", ("http", "server")),
        ("iso_3166-1", ("iso", "3166", "1")),
        ("park.key", ("park", "key")),
        ("Año", ("ano",)),
        ("SCHÜLER_NR", ("schueler", "nr")),
        ("Schu\u0308ler", ("schueler",)),
        ("łódźId", ("lodz", "id")),
        ("İlçe", ("ilce",)),
        ("日本語ID", ("日本語id",)),
        ("город_id", ("город", "id")),
        ("alpha3", ("alpha", "3")),
        ("___", ()),
    ],
)
def test_names_split_on_separators_case_and_digits(name: str, expected: tuple[str, ...]) -> None:
    assert tokens(name) == expected


@pytest.mark.parametrize(
    "name",
    [
        "num_rooms",
        "NumCompaniesWorked",
        "num-of-doors",
        "NumberChildrenAtHome",
        "no_of_pages",
        "nbr_max_points",
    ],
)
def test_a_number_word_before_a_plural_counts(name: str) -> None:
    assert name_words(name) == ("count", *tokens(name)[1:])


@pytest.mark.parametrize(
    "name",
    [
        "order_num",
        "rooms_no",  # the number of one room, in a table's plural
        "num_client",  # French
        "num_class",
        "num_status",
        "no_bis",
        "num_as",
        "number",
        "code_rooms",
        "",
    ],
)
def test_any_other_number_word_may_mark_an_identifier(name: str) -> None:
    assert name_words(name) == tokens(name)


@given(st.text(st.characters(codec="ascii")))
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


def test_names_of_further_columns_change_no_vector() -> None:
    names = ["customer id", "carrier", "tailnum"]
    alone = NameSimilarity(names).vectors()
    assert np.array_equal(NameSimilarity([*names, "altitude", "batch"]).vectors()[:3], alone)
    cosines = alone @ alone.T
    assert (np.abs(cosines - np.eye(3)) < 0.3).all()


def test_a_convention_makes_no_difference() -> None:
    alike = NameSimilarity(NAMES)
    assert alike.of(np.array([0]), np.array([1]))[0] == 1


@pytest.mark.parametrize(
    ("table", "name", "expected"),
    [
        ("Customer", "ID", "Customer ID"),
        ("airport", "id_code", "airport id_code"),
        ("customer", "customer_id", "customer_id"),
        ("customer", "region", "region"),
        ("customer", "", ""),
        ("customer", "__", "__"),
    ],
)
def test_an_identifier_is_read_with_its_table_s_name(table: str, name: str, expected: str) -> None:
    assert qualify(table, name) == expected


def test_an_identifier_is_one_of_its_table(make_lake: MakeLake) -> None:
    tables = {
        "customer": {"id": ["1", "2"], "name": ["ann", "bob"]},
        "sales": {"customer_id": ["1", "2"], "id": ["7", "8"]},
        "cars": {"id": ["1", "2"], "name": ["polo", "golf"]},
    }
    index = build_lake_index(make_lake(tables), ModelConfig(), CatalogFacts())
    places = {str(column): place for place, column in enumerate(index.lake.ids)}

    def alike(one: str, other: str) -> float:
        pair = (np.array([places[one]]), np.array([places[other]]))
        return float(index.names.of(*pair)[0])

    assert alike("customer.id", "sales.customer_id") == alike("customer.name", "cars.name") == 1
    assert alike("cars.id", "sales.customer_id") == alike("customer.id", "cars.id") == 0.25


def test_a_variant_keeps_the_first_letter_or_takes_a_synonym() -> None:
    random = np.random.default_rng(0)
    variants = {vary_name("shipping_zone", random).lower() for _ in range(200)}
    assert len(variants) > 20
    assert all(variant.startswith("s") for variant in variants)


def test_variants_use_synonyms_abbreviations_and_conventions() -> None:
    random = np.random.default_rng(0)
    variants = {vary_name("CustomerID", random) for _ in range(500)}
    assert {"customer_id", "CustomerId", "customerId", "CUSTOMER_ID"} <= variants
    assert any(variant.lower().startswith("client") for variant in variants)
    assert any(variant.lower().startswith("cstmr") for variant in variants)


@pytest.mark.parametrize("name", ["", "__", "***"])
def test_a_name_without_letters_stays(name: str) -> None:
    assert vary_name(name, np.random.default_rng(0)) == name


def test_synonyms_have_one_canonical_name() -> None:
    assert canonical("cust_no") == canonical("CustomerID") == ("customer", "id")
    assert canonical("tailnum") != canonical("carrier")
