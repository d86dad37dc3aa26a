import numpy as np
import pytest

from datahub_hyperjoin.model.signals.names import canonical, vary_name


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
