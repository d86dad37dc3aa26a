"""Test which key each column refers to, in lakes where the answer is obvious to a person."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from datahub_hyperjoin.catalog_facts import CatalogFacts
from datahub_hyperjoin.joins import CatalogEvidence, Verdict
from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.roles import candidates, pair_scores
from datahub_hyperjoin.model.roles.pair_scores import DEFAULT_WEIGHTS
from datahub_hyperjoin.model.roles.references import References
from datahub_hyperjoin.tables import DataType
from lakes.handmade import Tables, draw, facts_of, lake_of, numbers, things
from lakes.referring import find, name, probability, references_of

USERS: Tables = {"users": {"id": numbers(5001, 5041), "mail": [f"m{n}@x" for n in range(40)]}}
CUSTOMERS: Tables = {"customers": {"id": numbers(1001, 1061), "name": [f"N{n}" for n in range(60)]}}


def test_a_column_named_after_a_table_refers_to_its_key() -> None:
    orders = {"id": numbers(1, 201), "customer_id": draw(numbers(1001, 1061), 200)}
    assert find({**CUSTOMERS, "orders": orders}) == {("orders.customer_id", "customers.id")}


def test_counters_are_told_apart_by_names() -> None:
    tables: Tables = {
        "customers": {"id": numbers(1, 61)},
        "users": {"id": numbers(1, 41)},
        "orders": {
            "id": numbers(1, 201),
            "customer_id": draw(numbers(1, 61), 200),
            "user_id": draw(numbers(1, 41), 200),
        },
        **things(9),
    }
    assert find(tables) == {
        ("orders.customer_id", "customers.id"),
        ("orders.user_id", "users.id"),
    }


def test_several_columns_refer_to_one_key_in_different_roles() -> None:
    orders = {
        "id": numbers(1, 201),
        "created_by_user_id": draw(numbers(5001, 5041), 200, 1),
        "approved_by_user_id": draw(numbers(5001, 5021), 200, 2),
    }
    assert find({**USERS, "orders": orders}) == {
        ("orders.created_by_user_id", "users.id"),
        ("orders.approved_by_user_id", "users.id"),
    }


def test_a_bridge_table_refers_to_both_sides() -> None:
    tables: Tables = {
        "users": {"id": numbers(1, 41)},
        "roles": {"id": numbers(1, 9), "name": [f"role {letter}" for letter in "abcdefgh"]},
        "user_roles": {
            "user_id": draw(numbers(1, 41), 80),
            "role_id": draw(numbers(1, 9), 80),
        },
        **things(9),
    }
    assert find(tables) == {("user_roles.user_id", "users.id"), ("user_roles.role_id", "roles.id")}


def test_a_column_named_after_one_table_does_not_refer_to_another_one() -> None:
    """By chance, the key of `labels` holds the values of `user_id`; the key of `users` does not."""
    visits = {"id": numbers(1, 201), "user_id": draw(numbers(7001, 7041), 200)}
    labels = {"id": numbers(7001, 7101), "text": [f"t{n}" for n in range(100)]}
    tables: Tables = {"visits": visits, "labels": labels, **things(20)}
    assert find(tables) == {("visits.user_id", "labels.id")}
    assert find({**tables, **USERS}) == set()
    weights = replace(DEFAULT_WEIGHTS, other_table=0.0)
    assert find({**tables, **USERS}, weights=weights) == {("visits.user_id", "labels.id")}


def test_the_table_that_a_column_is_named_after_wins_over_tables_whose_names_begin_alike() -> None:
    tables: Tables = {
        "sample": {"internal_id": numbers(1, 41)},
        "sample_list": {"list_id": numbers(1, 41)},
        "sample_profile": {"sample_id": draw(numbers(1, 41), 90)},
        **things(9),
    }
    assert find(tables) == {("sample_profile.sample_id", "sample.internal_id")}


def test_a_bridge_table_refers_even_if_it_repeats_no_row_of_one_side() -> None:
    managers = {"stage_id": numbers(1, 6), "mail": [f"m{n}@x" for n in range(5)]}
    tables: Tables = {"stages": {"id": numbers(1, 6)}, "stage_managers": managers, **things(20)}
    assert ("stage_managers.stage_id", "stages.id") in find(tables)


def test_the_table_that_continues_a_name_wins_over_one_of_the_same_name() -> None:
    tables: Tables = {
        "dcim_racks": {"name": numbers(7001, 7026), "role_id": draw(numbers(1, 5), 25)},
        "roles": {"title": [*"abcd"], "id": numbers(1, 5)},
        "dcim_rackroles": {"colour": [*"wxyz"], "id": numbers(1, 5)},
        **things(9),
    }
    assert find(tables) == {("dcim_racks.role_id", "dcim_rackroles.id")}


def test_a_foreign_key_in_lower_case_names_its_table() -> None:
    key, visits = {"mapviewid": numbers(1, 41)}, {"mapviewid": draw(numbers(1, 41), 90)}
    tables: Tables = {"mapview": key, "mapview_days": key, "mapview_visits": visits, **things(9)}
    assert ("mapview_visits.mapviewid", "mapview.mapviewid") in find(tables)


def test_a_whole_number_with_an_unlike_name_refers_to_the_one_key_of_its_range() -> None:
    staff = {"emp_no": numbers(10001, 10081), "first": [f"F{n}" for n in range(80)]}
    sales = {"number": numbers(1, 301), "sales_rep": draw(numbers(10001, 10081), 300)}
    lake: Tables = {"staff": staff, "invoices": sales, **things(20)}
    assert find(lake) == {("invoices.sales_rep", "staff.emp_no")}
    # Twenty further keys of the same range, and the match says nothing any more.
    copies = {f"other{chr(ord('a') + n)}": {"nr": staff["emp_no"]} for n in range(20)}
    assert find({**lake, **copies}) == set()


def test_small_counters_do_not_refer_to_other_counters() -> None:
    survey = {"no": numbers(7000, 7100), "rating": draw(numbers(1, 11), 100)}
    counters = {f"t{letter}": {"n": numbers(1, 11)} for letter in "abcdef"}
    assert find({"survey": survey, **things(12)}) == set()
    assert find(counters) == set()


def test_a_table_of_further_facts_refers_to_the_table_that_it_extends() -> None:
    details = {"customer_id": numbers(1001, 1051), "iban": [f"DE{n}" for n in range(50)]}
    tables = {**CUSTOMERS, "customer_details": details}
    assert find(tables) == {("customer_details.customer_id", "customers.id")}


def test_a_code_refers_to_the_table_of_codes() -> None:
    codes = [f"{a}{b}X" for a in "ABCDEFG" for b in "KLMNOP"]
    airports = {"iata": codes, "city": [f"c{n}" for n in range(42)]}
    flights = {"origin": draw(codes, 100), "dest": draw(codes[:40], 100, 1)}
    assert find({"airports": airports, "flights": flights, **things(6)}) == {
        ("flights.origin", "airports.iata"),
        ("flights.dest", "airports.iata"),
    }


def with_dates(lake: Lake) -> Lake:
    """Change the type of all columns with `day` in their names to date."""
    profiles = [
        replace(profile, type=DataType.DATE) if "day" in profile.id.path else profile
        for profile in lake.profiles
    ]
    return replace(lake, profiles=tuple(profiles))


@pytest.mark.parametrize(("shared", "is_reference"), [(3, False), (60, True)])
def test_dates_refer_to_a_calendar_only_if_it_holds_nearly_all_of_them(
    shared: int, *, is_reference: bool
) -> None:
    calendar = [f"2024-0{1 + n // 28}-{1 + n % 28:02}" for n in range(84)]
    other = [f"2019-0{1 + n // 28}-{1 + n % 28:02}" for n in range(60 - shared)]
    visits = {"visit": numbers(1, 301), "seen_day": draw([*calendar[:shared], *other], 300)}
    lake = with_dates(lake_of({"calendar": {"day": calendar}, "visits": visits, **things(6)}))
    found = name(lake, references_of(lake))
    assert (found[("visits.seen_day", "calendar.day")] >= 0.5) is is_reference


REJECTED = CatalogEvidence(verdict=Verdict.REJECTED)
CONNECTED = [
    CatalogEvidence(declared="fk"),
    CatalogEvidence(related="urn:li:erModelRelationship:x"),
    CatalogEvidence(verdict=Verdict.ACCEPTED),
]
ORDERS: Tables = {
    "orders": {"id": numbers(1, 201), "customer_id": draw(numbers(1001, 1061), 200)},
    "clients": {"id": numbers(1001, 1061)},
}


def test_a_rejected_pair_is_never_a_reference() -> None:
    tables = {**CUSTOMERS, **ORDERS}
    column, key = "orders.customer_id", "customers.id"
    assert (column, key) in find(tables)
    lake = lake_of(tables)
    found = name(lake, references_of(lake, facts_of({(column, key): REJECTED})))
    assert found[column, key] < 1e-6
    assert found.get((key, column), 0.0) < 1e-6


@pytest.mark.parametrize("said", CONNECTED)
def test_a_connected_pair_is_a_reference_whatever_the_names_and_values(
    said: CatalogEvidence,
) -> None:
    tables = {**CUSTOMERS, **ORDERS, "stock": {"code": ["x", "y", "z"], "depot": ["d", "e", "d"]}}
    for pair in (("orders.customer_id", "clients.id"), ("stock.depot", "clients.id")):
        assert pair not in find(tables)
        assert pair in find(tables, facts_of({pair: said}))


@given(st.data())
def test_the_keys_of_a_column_compete(data: st.DataObject) -> None:
    cells = st.lists(st.sampled_from(numbers(1, 13)), min_size=3, max_size=12)
    columns = st.dictionaries(st.sampled_from(["id", "a", "b_id"]), cells, min_size=1)
    lake = lake_of(data.draw(st.dictionaries(st.sampled_from("abcde"), columns, min_size=2)))
    pairs = [(a, b) for a in lake.ids for b in lake.ids if a.table < b.table]
    said = data.draw(st.sets(st.sampled_from(pairs), max_size=3))
    facts = CatalogFacts(pairs=dict.fromkeys(said, CatalogEvidence(declared="fk")))
    total: dict[str, float] = defaultdict(float)
    for (column, _), likely in name(lake, references_of(lake, facts)).items():
        assert likely > 0
        total[column] += likely
    assert all(likely < 1 for likely in total.values())


ALONE = replace(DEFAULT_WEIGHTS, other_group=0.0)
"""Weights that ignore groups of tables, because a single reference may change whole groups."""


@given(st.floats(0, 1), st.floats(0, 1), st.sampled_from([1.0, 0.95, 0.4, 0.0]))
def test_more_containment_never_lowers_the_probability_of_a_reference(
    one: float, other: float, rival: float
) -> None:
    lake = lake_of({**CUSTOMERS, **ORDERS})
    ids = [str(column) for column in lake.ids]
    column, key, clients = map(ids.index, ("orders.customer_id", "customers.id", "clients.id"))

    def likely(share: float) -> float:
        measured = {(column, key): share, (column, clients): rival}
        found = references_of(lake, measured=measured, weights=ALONE)
        return name(lake, found)["orders.customer_id", "customers.id"]

    lower, higher = sorted((one, other))
    assert likely(lower) <= likely(higher) + 1e-12


def references_under(names: Sequence[str], titles: Sequence[str]) -> References:
    """Find references without names in a lake whose columns and tables have the given ones."""
    codes = [f"k{n}" for n in range(60)]
    lake = lake_of(
        {
            titles[0]: {names[0]: numbers(1001, 1061), names[1]: codes},
            titles[1]: {names[0]: numbers(1, 201), names[2]: draw(numbers(1001, 1061), 200)},
            titles[2]: {names[3]: draw(codes, 150)},
            titles[3]: {names[0]: numbers(1, 91), names[3]: numbers(1001, 1091)},
        }
    )
    return references_of(lake, weights=DEFAULT_WEIGHTS.without_names())


@pytest.fixture(scope="module")
def plain() -> References:
    return references_under(["a", "b", "c", "d"], "efgh")


@given(names=st.permutations(["id", "name", "code", "customer_id"]), titles=st.permutations("wxyz"))
def test_names_do_not_matter_to_a_method_that_reads_none(
    plain: References, names: list[str], titles: list[str]
) -> None:
    found = references_under(names, titles)
    for what in ("referring", "referenced", "probability"):
        assert getattr(found, what).tolist() == getattr(plain, what).tolist()
    assert len(plain.probability) == 7


def test_names_matter_to_a_method_that_reads_them() -> None:
    tables = {**CUSTOMERS, **ORDERS}
    pair = ("orders.customer_id", "customers.id")
    unread = probability(tables, pair, weights=DEFAULT_WEIGHTS.without_names())
    assert unread < 0.5 < probability(tables, pair)


def test_references_are_the_same_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    orders = {"ID": numbers(1, 201), "CUSTOMER_ID": draw(numbers(1001, 1061), 200)}
    lake = lake_of({**CUSTOMERS, **USERS, "ORDERS": orders, **things(9)})
    whole = name(lake, references_of(lake))
    monkeypatch.setattr(pair_scores, "_PAIRS", 3)
    monkeypatch.setattr(candidates, "_PAIRS", 3)
    assert name(lake, references_of(lake)) == whole
    assert len(whole) > 9


def test_tables_of_one_system_refer_to_each_other() -> None:
    """Use two copies of a shop; the orders of each copy refer to the customers of the same copy."""
    tables: Tables = {
        f"{table}{copy}": columns
        for copy in (1, 2)
        for table, columns in {**CUSTOMERS, **USERS, "orders": ORDERS["orders"]}.items()
    }
    assert {pair for pair in find(tables) if "orders" in pair[0]} == {
        ("orders1.customer_id", "customers1.id"),
        ("orders2.customer_id", "customers2.id"),
    }


def test_references_that_leave_a_group_of_tables_are_discounted() -> None:
    pair = ("shop0.who", "users.id")
    shop = {f"shop{n}": {"customer_id": draw(numbers(1001, 1061), 200, n)} for n in range(4)}
    site = {f"site{n}": {"user_id": draw(numbers(5001, 5041), 200, n)} for n in range(4)}
    tables: Tables = {**CUSTOMERS, **shop, **USERS, **site}
    who = {**shop["shop0"], "who": draw(numbers(5001, 5041), 200)}
    tables = {**tables, "shop0": who}
    apart, together = probability(tables, pair), probability(tables, pair, weights=ALONE)
    assert 0 < apart < together / 2
    assert probability(tables, ("site0.user_id", "users.id")) > 0.9


def test_a_column_refers_to_the_key_of_its_own_folder() -> None:
    airports = {"code": [f"{a}{b}X" for a in "ABCDEFG" for b in "KLMNOP"]}
    flights = {"to": draw(airports["code"], 90)}
    tables: Tables = {
        f"{folder}/{table}": columns
        for folder in ("usa", "france", "japan")
        for table, columns in {"airports": airports, "flights": flights, **things(3)}.items()
    }
    assert {pair for pair in find(tables) if "flights" in pair[0]} == {
        (f"{folder}/flights.to", f"{folder}/airports.code") for folder in ("usa", "france", "japan")
    }


def test_many_words_in_common_are_no_chance() -> None:
    def likely(kind: str, count: int) -> float:
        values = [f"{kind}{n}" for n in range(1001, 1001 + count)]
        tables: Tables = {"aaa": {"x": values}, "bbb": {"y": draw(values, 2 * count)}}
        return probability(tables, ("bbb.y", "aaa.x"))

    assert likely("", 60) < likely("w", 10) < likely("w", 60)
    assert likely("w", 60) == pytest.approx(likely("w", 70), abs=1e-9)


@pytest.mark.parametrize("tables", [{}, {"a": {}}, {"a": {"x": numbers(1, 9)}}])
def test_a_lake_of_less_than_two_columns_has_no_references(tables: Tables) -> None:
    assert references_of(lake_of(tables)).best == {}
    assert references_of(lake_of(tables), weights=DEFAULT_WEIGHTS.without_names()).best == {}


@pytest.mark.parametrize("named", ["owner_id", "created_by", "assignee", "approver_id"])
def test_people_are_named_by_what_they_do(named: str) -> None:
    tables: Tables = {
        "users": {"id": numbers(1, 41), "mail": [f"m{n}@x" for n in range(40)]},
        "tasks": {"id": numbers(1, 201), named: draw(numbers(1, 41), 200)},
        **things(9),
    }
    assert find(tables) == {(f"tasks.{named}", "users.id")}


@pytest.mark.parametrize("named", ["hours", "layer_id", "number"])
def test_people_are_not_named_by_other_nouns(named: str) -> None:
    tables: Tables = {
        "users": {"id": numbers(1, 41), "mail": [f"m{n}@x" for n in range(40)]},
        "layers": {"id": numbers(1, 41)},
        "tasks": {"id": numbers(1, 201), named: draw(numbers(1, 31), 200)},
        **things(9),
    }
    assert all(key != "users.id" for _, key in find(tables))


def test_owners_of_several_kinds_are_no_people() -> None:
    tables: Tables = {
        "users": {"id": numbers(1, 41), "mail": [f"m{n}@x" for n in range(40)]},
        "files": {
            "id": numbers(1, 201),
            "owner_kind": draw("UD", 200),
            "owner_id": draw(numbers(1, 41), 200),
        },
        **things(9),
    }
    assert find(tables) == set()


def databases(count: int, *, open_to: str = "") -> Tables:
    """Return folders of customers and orders; the orders may refer to the customers of one."""
    tables: dict[str, dict[str, Sequence[str]]] = {}
    for at in range(count):
        start, key = 1000 * at + 1, open_to or f"buyer{at}"
        if not open_to or at == 0:
            tables[f"f{at}/{key}"] = {"id": numbers(start, start + 60)}
        first = 1 if open_to else start
        tables[f"f{at}/order{at}"] = {
            "number": numbers(90000 + start, 90200 + start),
            f"{key}_id": draw(numbers(first, first + 60), 200, at),
        }
    return tables


def test_references_leave_folders_of_one_database() -> None:
    found = find(databases(9, open_to="buyer"))
    assert len(found) == 9
