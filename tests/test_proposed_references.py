"""Test which probable references are proposed for verification."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from datahub_hyperjoin.catalog_facts import CatalogFacts
from datahub_hyperjoin.joins import CatalogEvidence, Verdict
from datahub_hyperjoin.stages.role_decisions import propose_references
from datahub_hyperjoin.tables import Pair, pair_of
from lakes.deciding import CUSTOMER, NO_FACTS, ORDERS, Ends, index_of
from lakes.handmade import Tables, draw, facts_of, numbers, things


def propose(tables: Tables, facts: CatalogFacts = NO_FACTS) -> set[Ends]:
    return {(str(a), str(b)) for a, b in propose_references(index_of(tables, facts))}


def test_at_most_three_keys_of_a_column_are_verified() -> None:
    keys: Tables = {f"customers_{letter}": {"id": numbers(1001, 1061)} for letter in "abcde"}
    proposed = propose({**keys, **ORDERS})
    assert sum("orders.customer_id" in pair for pair in proposed) == 3


def test_improbable_references_are_not_verified() -> None:
    survey = {"no": numbers(7000, 7100), "rating": draw(numbers(1, 11), 100)}
    assert not any("survey" in a + b for a, b in propose({"survey": survey, **things(20)}))


def test_whatever_people_decide_the_same_references_are_verified() -> None:
    tables: Tables = {"customers": {"id": numbers(1001, 1061)}, **ORDERS}
    before = propose(tables)
    assert CUSTOMER in before or CUSTOMER[::-1] in before
    for verdict in Verdict:
        assert propose(tables, facts_of({CUSTOMER: CatalogEvidence(verdict=verdict)})) >= before


cells = st.lists(st.sampled_from(numbers(1, 13)), min_size=3, max_size=12)
columns = st.dictionaries(st.sampled_from(["id", "a", "b_id"]), cells, min_size=1)


@given(st.dictionaries(st.sampled_from("abcd"), columns, min_size=2))
def test_the_most_probable_references_are_verified(tables: Tables) -> None:
    index = index_of(tables)
    found = index.references
    expected: set[Pair] = set()
    for at, name in enumerate(index.lake.ids):
        mine = np.flatnonzero((found.referring == at) & (found.probability >= 0.05))
        best = sorted(mine.tolist(), key=lambda place: -found.probability[place])[:3]
        expected |= {pair_of(name, index.lake.ids[found.referenced[place]]) for place in best}
    assert propose_references(index) == expected
