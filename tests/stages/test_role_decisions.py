"""Test how verified pairs become joins with a role and a direction."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from datahub_hyperjoin.catalog_facts import CatalogFacts
from datahub_hyperjoin.joins import (
    Cardinality,
    CatalogEvidence,
    KnownNamesakes,
    Role,
    Suggestion,
    Verdict,
    sort_joins,
)
from datahub_hyperjoin.model.config import FeatureConfig, RankingConfig
from datahub_hyperjoin.stages.role_decisions import decide_joins, decide_relations, find_objection
from datahub_hyperjoin.value_forms import ValueForm
from lakes.deciding import (
    BOOKS,
    CODES,
    CONFIG,
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
    VISIT,
    Ends,
    changed,
    compare,
    decide,
    index_of,
    measure,
    pair,
    roles,
)
from lakes.handmade import Tables, column, draw, facts_of, numbers, things


def test_a_reference_has_a_direction_and_its_own_probability() -> None:
    tables = {**CUSTOMERS, **ORDERS}
    [join] = decide(tables).values()
    assert (join.left, join.right) == pair(*CUSTOMER)
    assert (join.role, str(join.referring), str(join.referenced)) == (Role.REFERENCE, *CUSTOMER)
    relations = decide_relations(index_of(tables), measure(tables))
    refers = relations.probability[index_of(tables).lake.ids.index(column(CUSTOMER[0]))]
    assert join.joinability == pytest.approx(refers)
    assert SCORE < join.joinability < 1


def test_columns_that_refer_to_one_key_are_siblings() -> None:
    joins = decide({**CUSTOMERS, **ORDERS, **INVOICES})
    assert roles(joins) == {
        CUSTOMER: Role.REFERENCE,
        PAYER: Role.REFERENCE,
        SIBLINGS: Role.SIBLING,
    }
    assert joins[SIBLINGS].referenced is None
    both = joins[CUSTOMER].joinability * joins[PAYER].joinability
    assert joins[SIBLINGS].joinability == pytest.approx(both)
    assert list(joins)[-1] == SIBLINGS


def test_several_columns_of_a_table_refer_to_one_key() -> None:
    orders = {
        "id": numbers(1, 201),
        "created_by_user_id": draw(numbers(5001, 5041), 200, 1),
        "approved_by_user_id": draw(numbers(5001, 5021), 200, 2),
    }
    assert roles(decide({**USERS, "orders": orders})) == {
        ("orders.created_by_user_id", "users.id"): Role.REFERENCE,
        ("orders.approved_by_user_id", "users.id"): Role.REFERENCE,
    }


def test_a_table_refers_to_itself() -> None:
    ids = numbers(5001, 5101)
    staff = {"id": ids, "manager_id": draw(ids[:30], 100)}
    ends = ("staff.manager_id", "staff.id")
    evidence = {pair(*ends): compare(staff["id"], staff["manager_id"])}
    joins = decide(
        {"staff": staff, **things(8)}, evidence=evidence, unranked=frozenset([pair(*ends)])
    )
    assert roles(joins) == {ends: Role.REFERENCE}
    assert joins[ends].referenced == column("staff.id")


def test_a_whole_number_with_an_unlike_name_refers_to_the_one_key_of_its_range() -> None:
    staff = {"emp_no": numbers(10001, 10081), "first": [f"F{n}" for n in range(80)]}
    sales = {"number": numbers(1, 301), "sales_rep": draw(numbers(10001, 10081), 300)}
    ends = ("invoices.sales_rep", "staff.emp_no")
    joins = decide(
        {"staff": staff, "invoices": sales, **things(20)}, unranked=frozenset([pair(*ends)])
    )
    assert roles(joins) == {ends: Role.REFERENCE}


def test_a_table_of_further_facts_extends_another_one_to_one() -> None:
    details = {"customer_id": numbers(1001, 1051), "iban": [f"DE{n}" for n in range(50)]}
    joins = decide({**CUSTOMERS, "customer_details": details})
    assert roles(joins) == {("customer_details.customer_id", "customers.id"): Role.ONE_TO_ONE}


def test_small_counters_are_no_joins_however_they_are_ranked() -> None:
    survey = {"no": numbers(7000, 7100), "rating": draw(numbers(1, 11), 100)}
    tables = {"survey": survey, **things(9)}
    assert len(measure(tables)) > 50
    assert decide(tables) == {}


def test_columns_without_a_key_share_a_domain() -> None:
    joins = decide(TOWNS)
    assert roles(joins) == {DOMAIN: Role.SAME_DOMAIN}
    assert (joins[DOMAIN].joinability, joins[DOMAIN].referenced) == (SCORE, None)
    assert decide(TOWNS, unranked=frozenset([pair(*DOMAIN)])) == {}


def test_few_values_among_tables_that_refer_to_each_other_are_no_domain() -> None:
    lists: Tables = {f"list{n}": {"id": numbers(n * 100, n * 100 + 60)} for n in range(1, 7)}
    notes = {
        f"note{n}": {f"list{n}_id": draw(numbers(n * 100, n * 100 + 60), 90)} for n in range(1, 7)
    }
    states = ["new", "open", "late", "done"]
    notes["note1"]["state"] = draw(states, 90, 1)
    notes["note2"]["progress"] = draw(states, 90, 2)
    alone = {name: {"state": draw(states, 90, at)} for at, name in enumerate(("jobs", "bugs"))}
    ends = ("note1.state", "note2.progress")
    evidence = changed({**notes}, ends, rows=100)  # few enough that it is no flag
    assert ends not in decide({**lists, **notes}, evidence=evidence)
    objection = find_objection(
        index_of({**lists, **notes}),
        [Suggestion(query=column(ends[0]), candidate=column(ends[1]), rank=1, joinability=SCORE)],
        evidence,
        CatalogFacts(),
        RankingConfig(),
        pair(*ends),
    )
    assert re.search(
        r"4 equal values mean one domain with a probability of 0\.0\d, below", objection
    )
    ends = ("bugs.state", "jobs.state")
    assert ends in decide(alone, evidence=changed(alone, ends, rows=100))


@pytest.mark.parametrize(("folder", "expected"), [("", False), ("japan/", True)])
def test_a_column_that_refers_to_a_key_shares_a_domain_only_with_other_folders(
    folder: str, *, expected: bool
) -> None:
    towns: Tables = {"towns": {"town": CODES[:30], "label": [f"Town {n}" for n in range(30)]}}
    shops, trips = TOWNS["shops"], TOWNS["trips"]
    joins = decide({"shops": shops, f"{folder}trips": trips, **towns})
    assert roles(joins)["shops.town", "towns.town"] is Role.REFERENCE
    shared = pair("shops.town", f"{folder}trips.to")
    found = {pair(*ends) for ends, join in joins.items() if join.role is Role.SAME_DOMAIN}
    assert (shared in found) is expected


@pytest.mark.parametrize(("step", "expected"), [(1, {}), (7, {DOMAIN: Role.SAME_DOMAIN})])
def test_numbers_share_a_domain_only_if_they_have_gaps(
    step: int, expected: dict[Ends, Role]
) -> None:
    def number(cells: Sequence[str]) -> list[str]:
        return [str(100 + step * CODES.index(cell)) for cell in cells]

    shops, trips = TOWNS["shops"]["town"], TOWNS["trips"]["to"]
    assert (
        roles(decide({"shops": {"town": number(shops)}, "trips": {"to": number(trips)}}))
        == expected
    )


def test_what_was_measured_on_all_rows_decides() -> None:
    assert decide(BOOKS)[VISIT].role is Role.REFERENCE
    little = changed(BOOKS, VISIT, left_containment=0.1)
    assert decide(BOOKS, evidence=little)[VISIT[1], VISIT[0]].role is Role.SAME_DOMAIN


@pytest.mark.parametrize(
    ("cardinality", "fan_out", "containment", "expected"),
    [
        (Cardinality.MANY_ONE, 1.0, 1.0, True),
        (Cardinality.MANY_MANY, 1.01, 1.0, True),
        (Cardinality.MANY_MANY, 1.03, 1.0, False),
        (Cardinality.ONE_MANY, 1.03, 1.0, False),
        # More rows than values match, because rare values match less often.
        (Cardinality.MANY_MANY, 0.99, 0.95, True),
        # Rows without a match hide that the others find several rows.
        (Cardinality.MANY_MANY, 1.0, 0.8, False),
        (Cardinality.MANY_ONE, 0.99, 0.8, True),
    ],
)
def test_a_key_that_repeats_on_all_rows_is_no_key(
    cardinality: Cardinality, fan_out: float, containment: float, *, expected: bool
) -> None:
    tables = {**CUSTOMERS, **ORDERS}
    evidence = changed(
        tables,
        CUSTOMER,
        cardinality=cardinality,
        left_fan_out=fan_out,
        left_containment=containment,
    )
    assert (CUSTOMER in decide(tables, evidence=evidence)) is expected


@pytest.mark.parametrize("form", ["", *(form.value for form in ValueForm)])
def test_values_in_another_form_refer_as_others_do(form: str) -> None:
    tables = {**CUSTOMERS, **ORDERS}
    evidence = changed(tables, CUSTOMER, compared_as=form)
    assert decide(tables, evidence=evidence)[CUSTOMER].role is Role.REFERENCE


def test_dates_in_another_order_that_hardly_match_refer_to_nothing() -> None:
    days = [f"{1 + n % 28:02}.0{1 + n // 28}.2024" for n in range(84)]
    tables: Tables = {
        "calendar": {"day": days},
        "visits": {"no": numbers(1, 201), "seen": draw(days[:60], 200)},
    }
    ends = ("visits.seen", "calendar.day")
    assert decide(tables)[ends].role is Role.REFERENCE
    few = changed(tables, ends, compared_as=ValueForm.DATES.value, left_containment=0.1)
    assert ends not in decide(tables, evidence=few)


@pytest.mark.parametrize(("form", "role"), [("", Role.REFERENCE), ("countries", Role.SAME_DOMAIN)])
def test_codes_and_names_of_countries_share_a_domain(form: str, role: Role) -> None:
    accepted = facts_of({DOMAIN: CatalogEvidence(verdict=Verdict.ACCEPTED)})
    to_one = changed(TOWNS, DOMAIN, compared_as=form, cardinality=Cardinality.MANY_ONE)
    assert roles(decide(TOWNS, accepted, evidence=to_one)) == {DOMAIN: role}


def test_an_improbable_role_is_none() -> None:
    likely = decide(BOOKS)[VISIT]
    assert likely.role is Role.REFERENCE
    ranking = RankingConfig(min_joinability=likely.joinability + 1e-9)
    assert decide(BOOKS, config=replace(CONFIG, ranking=ranking)) == {}


def test_names_that_are_not_read_decide_nothing() -> None:
    def rename(tables: Tables, names: Mapping[str, str]) -> Tables:
        return {
            names.get(table, table): {names.get(name, name): cells for name, cells in own.items()}
            for table, own in tables.items()
        }

    lists: Tables = {f"list{n}": {"item": [f"{n}-{m}" for m in range(30)]} for n in range(30)}
    tables = {**BOOKS, **lists}
    names = {"towns": "cities", "trips": "logs", "code": "nr", "to": "cities_nr"}
    config = replace(CONFIG, features=FeatureConfig(names=False))
    plain = decide(tables, config=config)
    renamed = decide(rename(tables, names), config=config)
    assert [join.joinability for join in plain.values()] == [
        join.joinability for join in renamed.values()
    ]
    assert roles(plain) == {VISIT: Role.REFERENCE}
    assert roles(renamed) == {("logs.cities_nr", "cities.nr"): Role.REFERENCE}


cells = st.lists(st.sampled_from(numbers(1, 13)), min_size=3, max_size=12)
columns = st.dictionaries(st.sampled_from(["id", "a", "b_id"]), cells, min_size=1)
verdicts = st.sampled_from(
    [CatalogEvidence(verdict=verdict) for verdict in Verdict] + [CatalogEvidence(declared="fk")]
)


@given(st.dictionaries(st.sampled_from("abcd"), columns, min_size=2), st.data())
def test_a_column_refers_to_at_most_one_key(tables: Tables, data: st.DataObject) -> None:
    measured = measure(tables)
    assume(measured)
    pairs = st.sampled_from(sorted(measured))
    facts = CatalogFacts(pairs=data.draw(st.dictionaries(pairs, verdicts, max_size=3)))
    joins = decide(tables, facts).values()
    directed = [join for join in joins if join.role.is_directed]
    # The catalog may connect a column with several keys.
    refers = [join.referring for join in directed if not join.catalog.is_confirmed]
    assert len(refers) == len({*refers})
    assert {(join.left, join.right) for join in joins} <= {*measured} - facts.rejected
    assert {(join.left, join.right) for join in joins} >= facts.accepted & {*measured}
    for join in joins:
        assert (join.referenced in {join.left, join.right}) is join.role.is_directed
        assert 0.5 <= join.joinability <= 1
    assert [*joins] == sort_joins(joins)


def test_a_reference_keeps_what_the_columns_of_its_name_tell() -> None:
    tables = {**CUSTOMERS, **ORDERS, **INVOICES}
    joins = decide(tables, facts_of({CUSTOMER: CatalogEvidence(declared="fk")}))
    assert joins[PAYER].namesakes == KnownNamesakes(known=1, agreeing=1)
    assert joins[CUSTOMER].namesakes is None  # its own declaration says more
    assert joins[SIBLINGS].namesakes is None
    assert [join.namesakes for join in decide(tables).values()] == [None] * 3


def test_a_join_tells_the_decisions_about_its_relatives() -> None:
    tables = {**CUSTOMERS, **ORDERS, **INVOICES}
    accepted = facts_of({CUSTOMER: CatalogEvidence(verdict=Verdict.ACCEPTED)})
    measured = measure(tables)
    ranked = [
        Suggestion(query=left, candidate=right, rank=1, joinability=SCORE, told=(1, 2))
        for left, right in measured
    ]
    joins = decide_joins(index_of(tables, accepted), ranked, measured, accepted, CONFIG.ranking)
    told = {(join.left, join.right): join.catalog.told for join in joins}
    assert told.pop(pair(*CUSTOMER)) == (0, 0)  # its own decision says more
    assert {*told.values()} == {(1, 2)}


def test_a_reference_may_be_one_to_one_so_far() -> None:
    # The passports have a key of their own, so that a person may get a second one.
    passports = {"passport_no": numbers(700001, 700041), "customer_id": numbers(1001, 1041)}
    joins = decide({**CUSTOMERS, "passports": passports})
    [join] = joins.values()
    assert (join.role, join.measured.cardinality) == (Role.REFERENCE, Cardinality.ONE_ONE)
    assert str(join.referenced) == "customers.id"
