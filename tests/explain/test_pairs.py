"""Test how a pair is explained: by its role, score and rank, or by the rule that excluded it."""

import json
from dataclasses import replace

import pytest

from datahub_hyperjoin.explain import PairExplanation, as_record, describe_pair
from datahub_hyperjoin.explain.errors import SameColumnError
from datahub_hyperjoin.joins import CatalogEvidence, KnownNamesakes, Role, Verdict
from lakes.deciding import (
    BOOKS,
    CONFIG,
    CUSTOMER,
    CUSTOMERS,
    DOMAIN,
    INVOICES,
    NO_FACTS,
    ORDERS,
    PAYER,
    SIBLINGS,
    VISIT,
    pair,
)
from lakes.explained import Run, run_on
from lakes.handmade import facts_of


def objection(account: PairExplanation) -> str:
    assert account.join is None
    text = describe_pair(account)
    assert f"Not suggested: {account.objection}\n" in text
    return account.objection


def test_a_reference_names_its_role_its_probability_and_both_ranks(shop: Run) -> None:
    account = shop.pair(*CUSTOMER)
    assert account.join is not None
    assert (account.join.role, account.objection) == (Role.REFERENCE, "")
    assert describe_pair(account).splitlines()[:5] == [
        "orders.customer_id = customers.id",
        "Suggested as reference to customers.id with a joinability of 1.00",
        "The joinability is the probability of the reference",
        "For orders.customer_id, it is number 1 of 1",
        "For customers.id, it is number 1 of 1",
    ]
    (reference,) = account.references
    assert (str(reference.column), str(reference.key)) == CUSTOMER
    assert account.evidence is not None
    # The first column's side stands first, whatever the order of the pair.
    assert account.evidence.left_containment == 1.0
    turned = shop.pair(*CUSTOMER[::-1])
    assert turned.evidence == account.evidence.reversed


def test_a_key_that_repeats_is_named_as_the_reason_against_a_reference() -> None:
    towns = {name: [*cells, cells[0]] for name, cells in BOOKS["towns"].items()}
    run = run_on({**BOOKS, "towns": towns})
    account, turned = run.pair(*VISIT), run.pair(*VISIT[::-1])
    assert account.join is not None
    assert (account.join.role, account.references) == (Role.SAME_DOMAIN, ())
    (dropped,) = account.repeated
    assert (str(dropped.column), str(dropped.key)) == VISIT
    said = (
        "No reference: towns.code, the likely key of trips.to (probability "
        f"{dropped.probability:.2f}), repeats values: 100 rows of trips match about 106 rows of "
        "towns"
    )
    assert said in describe_pair(account).splitlines()
    assert said in describe_pair(turned).splitlines()
    assert run_on(BOOKS).pair(*VISIT).repeated == ()


def test_columns_of_the_same_name_are_counted_beside_the_reference() -> None:
    facts = facts_of({CUSTOMER: CatalogEvidence(declared="fk")})
    run = run_on({**CUSTOMERS, **ORDERS, **INVOICES}, facts)
    account = run.pair(*PAYER)
    (reference,) = account.references
    assert reference.namesakes == KnownNamesakes(known=1, agreeing=1)
    said = (
        "Columns of the same name: the only column named customer_id with a known key refers to "
        "customers.id"
    )
    assert said in describe_pair(account).splitlines()
    assert as_record(account)["references"][0]["namesakes"] == {"known": 1, "agreeing": 1}


@pytest.mark.parametrize("declared", [{}, {CUSTOMER: CatalogEvidence(declared="fk")}])
def test_a_declared_reference_needs_no_column_of_the_same_name(
    declared: dict[tuple[str, str], CatalogEvidence],
) -> None:
    account = run_on({**CUSTOMERS, **ORDERS}, facts_of(declared)).pair(*CUSTOMER)
    assert [each.namesakes for each in account.references] == [None]
    assert "Columns of the same name" not in describe_pair(account)


def test_every_signal_has_its_strength_and_source(shop: Run) -> None:
    signals = {each.name: each for each in shop.pair(*DOMAIN).signals}
    assert next(iter(signals)) == "cells"
    values = signals["containment"]
    assert 0 < values.alone < values.measured < 1
    assert values.source == "values, of which the profiles keep hashes"
    assert signals["catalog"].alone == 0
    assert "cosine" not in signals  # no network was trained


def test_a_score_is_followed_from_the_signals_to_the_joinability(shop: Run) -> None:
    (forward, backward) = shop.pair(*DOMAIN).ranks
    assert (str(forward.query), str(backward.query)) == DOMAIN
    assert (forward.place, forward.rank) == (1, 1)
    assert {"names", "cells", "values"} <= {*forward.found_by}
    assert forward.by_signals != forward.corrected == forward.by_decisions == forward.joinability
    (ranked,) = (
        each for each in shop.comparison.ranked if (str(each.query), str(each.candidate)) == DOMAIN
    )
    assert forward.joinability == pytest.approx(ranked.joinability)
    assert "the better of the ranking's two scores, and less" in describe_pair(shop.pair(*DOMAIN))


def test_a_decision_moves_the_score_of_its_pair() -> None:
    accepted = CatalogEvidence(verdict=Verdict.ACCEPTED)
    run = run_on(facts=replace(NO_FACTS, pairs={pair("notes.seats", "orders.id"): accepted}))
    account = run.pair("orders.id", "notes.seats")
    assert account.ranks[0].by_decisions > account.ranks[0].corrected
    assert "decisions" in account.ranks[0].found_by
    assert "Catalog and people: accepted by people" in describe_pair(account)


def test_a_sibling_is_explained_by_the_key_of_both() -> None:
    text = describe_pair(run_on({**CUSTOMERS, **ORDERS, **INVOICES}).pair(*SIBLINGS))
    assert "The joinability is the probability that both columns refer to the same key" in text


def test_columns_that_are_no_keys_are_named_with_their_reasons(shop: Run) -> None:
    assert objection(shop.pair("notes.flag", "shops.size")) == (
        "neither is a key column (notes.flag: it has 2 of at least 3 distinct values; shops.size: "
        "its whole numbers repeat (uniqueness 0.07 is below `model.keys.min_uniqueness` 0.9), and "
        "its name has no word such as `id`)"
    )


def test_columns_of_one_table_are_not_compared(shop: Run) -> None:
    assert objection(shop.pair("notes.id", "notes.code")) == (
        "both columns are in one table, and columns of one table are not compared"
    )


def test_a_pair_without_likeness_misses_the_least_joinability(shop: Run) -> None:
    account = shop.pair("notes.code", "customers.name")
    assert objection(account) == (
        "for notes.code, customers.name has a joinability of 0.08, below "
        "`model.ranking.min_joinability` 0.5; for customers.name, notes.code has a joinability of "
        "0.07, below `model.ranking.min_joinability` 0.5"
    )
    assert "Verification: none, since neither the ranking nor a reference proposed the pair" in (
        describe_pair(account)
    )


def test_a_pair_behind_better_candidates_names_its_place() -> None:
    one = replace(CONFIG, ranking=replace(CONFIG.ranking, top_k=0, min_joinability=0.5))
    assert objection(run_on(config=one).pair(*DOMAIN)) == (
        "for shops.town, trips.to is number 1 of 11 candidates by its score, and "
        "`model.ranking.top_k` 0 candidates score higher or agree better with each other; for "
        "trips.to, shops.town is number 1 of 11 candidates by its score, and "
        "`model.ranking.top_k` 0 candidates score higher or agree better with each other"
    )


def test_a_pair_whose_values_differ_names_the_rule_and_the_share() -> None:
    strict = replace(CONFIG, ranking=replace(CONFIG.ranking, min_containment=0.9))
    assert objection(run_on(config=strict).pair(*DOMAIN)) == (
        "on the data, neither column contains more than 83% of the other's values, which is below "
        "`model.ranking.min_containment` 0.9"
    )


def test_a_rejected_pair_names_who_rejected_it() -> None:
    rejected = CatalogEvidence(verdict=Verdict.REJECTED, by="Ann")
    run = run_on(facts=replace(NO_FACTS, pairs={pair(*DOMAIN): rejected}))
    account = run.pair(*DOMAIN)
    assert objection(account) == "it was rejected by Ann"
    assert "values; removed from the candidates as rejected; not selected" in (
        describe_pair(account)
    )


def test_a_column_is_no_pair_with_itself(shop: Run) -> None:
    with pytest.raises(SameColumnError, match=r"^both names fit orders\.id\. Name two columns$"):
        shop.pair("orders.id", "orders.id")


def test_programs_get_every_part_as_json(shop: Run) -> None:
    record = json.loads(json.dumps(as_record(shop.pair(*CUSTOMER))))
    assert [*record] == [
        "columns",
        "catalog",
        "signals",
        "ranks",
        "evidence",
        "references",
        "repeated",
        "join",
        "objection",
        "aside",
    ]
    assert record["join"]["role"] == "reference"
    assert record["join"]["referenced"] == record["references"][0]["key"]
    assert record["columns"][0]["column"] == {
        "dataset": "urn:li:dataset:(urn:li:dataPlatform:file,orders,PROD)",
        "column": "customer_id",
    }
    assert record["evidence"]["cardinality"] == "N_ONE"
    assert as_record(shop.pair("notes.id", "notes.code"))["join"] is None
