"""Test that decisions and declarations take precedence over values and names."""

from dataclasses import replace

import pytest

from datahub_hyperjoin.catalog_facts import CatalogFacts, DeclaredKeys, ForeignKey
from datahub_hyperjoin.joins import CatalogEvidence, Role, Verdict
from datahub_hyperjoin.model.config.sections import paper
from datahub_hyperjoin.stages.role_decisions import decide_relations, propose_references
from lakes.deciding import (
    CUSTOMER,
    CUSTOMERS,
    DOMAIN,
    INVOICES,
    ORDERS,
    PAYER,
    SCORE,
    SIBLINGS,
    TOWNS,
    USERS,
    Ends,
    decide,
    index_of,
    measure,
    pair,
    roles,
)
from lakes.handmade import Tables, column, draw, facts_of, numbers, things


@pytest.mark.parametrize("ends", [CUSTOMER, PAYER, SIBLINGS])
def test_a_rejected_pair_is_no_join_even_if_it_was_measured(ends: Ends) -> None:
    tables = {**CUSTOMERS, **ORDERS, **INVOICES}
    facts = facts_of({ends: CatalogEvidence(verdict=Verdict.REJECTED)})
    joins = decide(tables, facts)
    assert not {ends, ends[::-1]} & joins.keys()


def test_a_rejected_domain_is_no_join() -> None:
    assert decide(TOWNS, facts_of({DOMAIN: CatalogEvidence(verdict=Verdict.REJECTED)})) == {}


@pytest.mark.parametrize(
    "said",
    [
        CatalogEvidence(declared="fk"),
        CatalogEvidence(related="urn:li:erModelRelationship:x"),
        CatalogEvidence(verdict=Verdict.ACCEPTED),
        CatalogEvidence(queries=1),
    ],
)
def test_a_stated_join_is_kept_whatever_the_columns_refer_to(said: CatalogEvidence) -> None:
    legacy = {"who": draw(numbers(1001, 1031), 90), "mood": draw(numbers(1, 5), 90)}
    tables = {**CUSTOMERS, **ORDERS, "legacy": legacy}
    ends = ("legacy.who", "orders.customer_id")
    assert ends not in decide(tables)
    joins = decide(tables, facts_of({ends: said}))
    assert (joins[ends].role, joins[ends].catalog) == (Role.SAME_DOMAIN, said)
    assert joins[CUSTOMER].role is Role.REFERENCE


CLIENTS: Tables = {**CUSTOMERS, **ORDERS, "clients": {"id": numbers(1001, 1061)}}
CLIENT = ("orders.customer_id", "clients.id")


@pytest.mark.parametrize(
    "said",
    [
        CatalogEvidence(declared="fk"),
        CatalogEvidence(related="urn:li:erModelRelationship:x"),
        CatalogEvidence(verdict=Verdict.ACCEPTED),
    ],
)
def test_a_connected_pair_is_a_reference(said: CatalogEvidence) -> None:
    joins = decide(CLIENTS, facts_of({CLIENT: said}))
    assert (joins[CLIENT].role, joins[CLIENT].catalog) == (Role.REFERENCE, said)
    assert joins[CLIENT].joinability >= SCORE


def test_two_declared_keys_of_a_column_are_both_references() -> None:
    declared = CatalogEvidence(declared="fk")
    joins = decide(CLIENTS, facts_of({CLIENT: declared, CUSTOMER: declared}))
    assert roles(joins) == {CLIENT: Role.REFERENCE, CUSTOMER: Role.REFERENCE}


def declare(referring: str, referenced: str) -> CatalogFacts:
    key = ForeignKey(name="fk", pairs=((column(referring), column(referenced)),))
    facts = facts_of({(referring, referenced): CatalogEvidence(declared="fk")})
    return replace(facts, keys=DeclaredKeys(foreign=(key,)))


@pytest.mark.parametrize("ends", [("users.id", "logins.user_id"), ("logins.user_id", "users.id")])
def test_a_declared_key_has_the_direction_of_its_declaration(ends: Ends) -> None:
    logins: Tables = {"logins": {"user_id": numbers(5001, 5041)}}
    assert roles(decide({**USERS, **logins}, declare(*ends))) == {ends: Role.ONE_TO_ONE}


def test_a_declaration_against_the_rows_has_no_direction() -> None:
    """Declare a reference from a unique column to a column with repeated values."""
    facts = declare("customers.id", "orders.customer_id")
    [join] = decide({**CUSTOMERS, **ORDERS}, facts).values()
    assert (join.role, join.referenced) == (Role.SAME_DOMAIN, None)


def test_a_join_that_people_accepted_as_siblings_stays_one() -> None:
    facts = facts_of({SIBLINGS: CatalogEvidence(verdict=Verdict.ACCEPTED)})
    assert decide({**CUSTOMERS, **ORDERS, **INVOICES}, facts)[SIBLINGS].role is Role.SIBLING


def test_the_paper_s_setting_decides_no_roles() -> None:
    tables = {**CUSTOMERS, **ORDERS, **things(3)}
    index = index_of(tables, config=paper())
    assert propose_references(index) == set()
    assert (decide_relations(index, measure(tables)).probability == 0).all()
    unranked = frozenset([pair("orders.id", "aaaa.id")])
    joins = decide(tables, declare(*CUSTOMER), config=paper(), unranked=unranked)
    assert {(join.role, join.joinability) for join in joins.values()} == {(Role.SAME_DOMAIN, SCORE)}
    assert len(joins) == len(measure(tables)) - 1
