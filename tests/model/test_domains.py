"""Test which columns form a value domain, and which joins of a value domain are kept."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse.csgraph import connected_components

from datahub_hyperjoin.joins import (
    Cardinality,
    CatalogEvidence,
    Derivation,
    Evidence,
    Join,
    Role,
    Verdict,
)
from datahub_hyperjoin.model.domains import (
    drop_redundant_joins,
    find_domains,
    set_aside,
)
from datahub_hyperjoin.tables import (
    ColumnId,
    ColumnProfile,
    DataType,
    Lengths,
    TableId,
    TableProfile,
    pair_of,
)
from datahub_hyperjoin.value_forms import ValueForm
from lakes.handmade import profile_lake

EVIDENCE = Evidence(
    shared=9,
    left_containment=1.0,
    right_containment=1.0,
    cardinality=Cardinality.MANY_MANY,
    left_fan_out=2.0,
    right_fan_out=2.0,
)


def column(number: int, path: str = "country") -> ColumnId:
    return ColumnId(TableId("file", f"t{number:02}.csv"), path)


def join(one: int, other: int, joinability: float = 0.9) -> Join:
    left, right = pair_of(column(one), column(other))
    return Join(left=left, right=right, joinability=joinability, evidence=EVIDENCE)


def clique(numbers: Iterable[int]) -> list[Join]:
    return [join(one, other) for one, other in combinations(numbers, 2)]


def profile(number: int, *, distinct: int, nulls: int = 0) -> ColumnProfile:
    return ColumnProfile(
        id=column(number),
        position=0,
        type=DataType.TEXT,
        rows=100,
        nulls=nulls,
        distinct=distinct,
        sketch=b"",
        sample=(),
        counts=(),
        lengths=Lengths(shortest=1, mean=1, longest=1),
        patterns=(),
    )


def members(joins: Iterable[Join]) -> list[list[ColumnId]]:
    return [list(domain.members) for domain in find_domains(joins)]


def test_columns_that_all_join_are_one_domain() -> None:
    (domain,) = find_domains(clique(range(22)))
    assert domain.members == tuple(column(number) for number in range(22))
    assert domain.name == "country"
    assert domain.probability == pytest.approx(0.9)


def test_a_column_of_a_large_domain_need_not_be_suggested_for_most_others() -> None:
    random = np.random.default_rng(0)
    suggested = {
        pair_of(column(one), column(int(other)))
        for one in range(40)
        for other in random.choice([n for n in range(40) if n != one], 5, replace=False)
    }
    joins = [
        Join(left=left, right=right, joinability=float(random.random()), evidence=EVIDENCE)
        for left, right in sorted(suggested)
    ]
    assert members(joins) == [[column(number) for number in range(40)]]


def test_a_chain_is_no_domain() -> None:
    chain = [join(number, number + 1) for number in range(6)]
    assert all(len(group) == 3 for group in members(chain))


def test_two_domains_stay_apart_though_some_columns_join() -> None:
    joins = [*clique(range(6)), *clique(range(6, 12)), join(0, 6, 0.99), join(3, 9, 0.99)]
    assert members(joins) == [
        [column(number) for number in range(6)],
        [column(number) for number in range(6, 12)],
    ]


@pytest.mark.parametrize(
    "other",
    [
        {"role": Role.REFERENCE, "referenced": column(0)},
        {"role": Role.SIBLING},
        {"evidence": replace(EVIDENCE, compared_as="countries")},
        {"evidence": replace(EVIDENCE, compared_as="values through items.csv")},
        {"further": ((column(0, "year"), column(1, "year")),)},
    ],
    ids=["reference", "sibling", "codes and names", "crosswalk", "composite key"],
)
def test_joins_of_other_kinds_make_no_domain(other: dict[str, object]) -> None:
    assert find_domains([replace(each, **other) for each in clique(range(4))]) == ()  # type: ignore[arg-type]


def test_values_written_differently_make_a_domain() -> None:
    evidence = replace(EVIDENCE, compared_as=ValueForm.WITHOUT_ZEROS.value)
    assert len(find_domains([replace(each, evidence=evidence) for each in clique(range(3))])) == 1


def test_two_columns_are_no_domain() -> None:
    assert find_domains([join(0, 1)]) == ()
    assert find_domains([]) == ()


def test_the_most_complete_and_distinct_member_represents_the_domain() -> None:
    profiles = [
        profile(0, distinct=50),
        profile(1, distinct=90, nulls=60),
        profile(2, distinct=60, nulls=5),
    ]
    (domain,) = find_domains(clique(range(3)), {each.id: each for each in profiles})
    assert domain.representative == column(2)


def test_a_list_of_things_represents_a_domain_before_a_table_that_repeats_them() -> None:
    profiles = [profile(0, distinct=60), replace(profile(1, distinct=58), rows=58)]
    profiles.append(replace(profile(2, distinct=9), rows=9))
    (domain,) = find_domains(clique(range(3)), {each.id: each for each in profiles})
    assert domain.representative == column(1)


def test_without_profiles_the_member_with_most_partners_represents_the_domain() -> None:
    (domain,) = find_domains([join(0, 1), join(1, 2), join(1, 3), join(2, 3), join(0, 2)])
    assert domain.representative in {column(1), column(2)}


def test_the_most_frequent_name_names_the_domain() -> None:
    ends = column(0, "land"), column(1), column(2)
    joins = [
        Join(left=left, right=right, joinability=0.5, evidence=EVIDENCE)
        for left, right in combinations(ends, 2)
    ]
    assert [domain.name for domain in find_domains(joins)] == ["country"]


def test_a_domain_is_published_as_a_star() -> None:
    joins = clique(range(5))
    domains = find_domains(joins)
    (centre,) = (domain.representative for domain in domains)
    kept = drop_redundant_joins(joins, domains)
    assert len(kept) == 4
    assert all(centre in {each.left, each.right} for each in kept)


def test_of_joins_without_the_centre_the_catalogs_own_stay() -> None:
    # The centre is column 0, which does not join column 4.
    best, shown = join(1, 4, 0.91), join(2, 4, 0.9)
    joins = [*clique(range(4)), best, shown]
    profiles = {column(at): profile(at, distinct=50 if at else 100) for at in range(5)}
    domains = find_domains(joins, profiles)
    assert [domain.representative for domain in domains] == [column(0)]
    star = joins[:3]
    assert drop_redundant_joins(joins, domains) == (*star, best)
    assert drop_redundant_joins(joins, domains, {shown.pairs}) == (*star, shown)
    # A join with the centre comes before those that the catalog shows.
    others = {each.pairs for each in joins[3:]}
    assert drop_redundant_joins(joins, domains, others) == (*star, best)


def test_joins_outside_of_domains_are_all_published() -> None:
    reference = replace(join(0, 9), role=Role.REFERENCE, referenced=column(9))
    joins = [reference, *clique(range(3)), join(20, 21)]
    kept = drop_redundant_joins(joins, find_domains(joins))
    assert kept[0] == reference
    assert kept[-1] == join(20, 21)
    assert len(kept) == 4


def test_what_people_confirmed_is_always_published() -> None:
    accepted = CatalogEvidence(verdict=Verdict.ACCEPTED)
    joins = [replace(each, catalog=accepted) for each in clique(range(4))]
    assert drop_redundant_joins(joins, find_domains(joins)) == tuple(joins)


graphs = st.sets(
    st.tuples(st.integers(0, 11), st.integers(0, 11)).filter(lambda ends: ends[0] < ends[1]),
    max_size=50,
)


@given(graphs)
def test_a_star_connects_just_what_was_connected(pairs: set[tuple[int, int]]) -> None:
    joins = [join(*ends, 0.5 + sum(ends) / 100) for ends in sorted(pairs)]
    domains = find_domains(joins)
    kept = drop_redundant_joins(joins, domains)
    assert components(joins) == components(kept)
    for domain in domains:
        inner = [each for each in kept if {each.left, each.right} <= {*domain.members}]
        assert len(inner) == len(domain.members) - 1


def components(joins: Iterable[Join]) -> set[frozenset[int]]:
    matrix = np.zeros((12, 12))
    for each in joins:
        ends = (int(end.table.name[1:3]) for end in (each.left, each.right))
        matrix[tuple(ends)] = 1
    labels = connected_components(matrix, directed=False)[1]
    return {frozenset(np.flatnonzero(labels == label).tolist()) for label in set(labels.tolist())}


@given(graphs)
def test_domains_are_disjoint_and_connected_in_most_pairs(pairs: set[tuple[int, int]]) -> None:
    domains = find_domains([join(*ends) for ends in sorted(pairs)])
    ends = [end for domain in domains for end in domain.members]
    assert len(ends) == len(set(ends))
    joined = {pair_of(column(one), column(other)) for one, other in pairs}
    for domain in domains:
        size = len(domain.members)
        inner = sum(pair in joined for pair in combinations(domain.members, 2))
        assert inner >= min(size * (size - 1) / 2 / 2, 2 * size - 4)


def table(name: str, header: str, *, date: str = "", days: Sequence[str] = ()) -> TableProfile:
    """Describe a table with columns of words, of which one may hold dates."""
    words = ["red", "green"] * 2
    [found] = profile_lake(
        {name: {path: days if path == date else words for path in header.split()}}
    )
    return found


def between(left: str, right: str, role: Role, cardinality: Cardinality) -> Join:
    """Join two columns, which are written as `table.column`."""
    ends = (ColumnId(TableId("file", name), path) for name, path in map(str.split, (left, right)))
    one, other = pair_of(*ends)
    evidence = replace(EVIDENCE, cardinality=cardinality)
    key = other if role.is_directed else None
    return Join(
        left=one, right=other, joinability=0.9, evidence=evidence, role=role, referenced=key
    )


def reasons(joins: list[Join], tables: list[TableProfile]) -> list[Derivation | None]:
    listed, derived = set_aside(joins, tables)
    found = {join.pairs: reason for reason, some in derived.items() for join in some}
    assert {join.pairs for join in listed}.isdisjoint(found)
    assert len(listed) + sum(map(len, derived.values())) == len(joins)
    return [found.get(join.pairs) for join in joins]


MANY, ONE = Cardinality.MANY_MANY, Cardinality.MANY_ONE
SHOP = [
    table(
        "orders", "id customer day note", date="day", days=("2024-01-02", "2024-01", "1924", "?")
    ),
    table("bills", "no customer due note", date="due", days=("2024-03-02", "2024-03-04")),
    table("people", "id name note"),
]


@pytest.mark.parametrize(
    ("left", "right", "role", "cardinality", "reason"),
    [
        ("bills customer", "people id", Role.REFERENCE, ONE, None),
        ("bills customer", "orders customer", Role.SIBLING, MANY, Derivation.SAME_KEY),
        ("bills customer", "orders customer", Role.SIBLING, ONE, None),
        ("bills due", "orders day", Role.SAME_DOMAIN, MANY, Derivation.DATES),
        ("bills due", "orders day", Role.SAME_DOMAIN, ONE, Derivation.DATES),
        ("bills due", "orders day", Role.REFERENCE, ONE, None),
        ("bills note", "orders note", Role.SAME_DOMAIN, MANY, None),
    ],
)
def test_a_join_that_follows_from_others_is_set_aside(
    left: str, right: str, role: Role, cardinality: Cardinality, reason: Derivation | None
) -> None:
    made = between(left, right, role, cardinality)
    assert reasons([made], SHOP) == [reason]
    accepted = replace(made, catalog=CatalogEvidence(verdict=Verdict.ACCEPTED))
    assert reasons([accepted], SHOP) == [None]


def test_what_else_repeats_in_two_tables_follows_from_their_key() -> None:
    key = between("bills customer", "people id", Role.REFERENCE, ONE)
    other = between("bills note", "people note", Role.SAME_DOMAIN, MANY)
    assert reasons([key, other], SHOP) == [None, Derivation.SAME_TABLES]
    assert reasons([other], SHOP) == [None]


@pytest.mark.parametrize(
    ("name", "repeated", "reason"),
    [
        ("code", 1, None),
        ("code", 2, Derivation.SAME_TABLES),
        ("name", 1, Derivation.SAME_TABLES),
    ],
)
def test_a_key_with_a_few_repeated_values_is_no_other_column(
    name: str, repeated: int, reason: Derivation | None
) -> None:
    cells = [*"abcdefghij"[repeated:], *"j" * repeated]
    people = profile_lake({"people": {"id": [*"0123456789"], name: cells}})
    key = between("bills customer", "people id", Role.REFERENCE, ONE)
    other = between("bills note", f"people {name}", Role.SAME_DOMAIN, MANY)
    assert reasons([key, other], [*SHOP[:2], *people]) == [None, reason]


@pytest.mark.parametrize(
    ("change", "kept"),
    [
        ({}, "customer"),
        ({"joinability": 0.7}, "note"),
        ({"catalog": CatalogEvidence(verdict=Verdict.ACCEPTED)}, "both"),
    ],
)
def test_of_columns_that_repeat_those_with_the_fewest_rows_join(
    change: dict[str, Any], kept: str
) -> None:
    fine = between("bills customer", "orders customer", Role.SAME_DOMAIN, MANY)
    coarse = between("bills note", "orders note", Role.SAME_DOMAIN, MANY)
    coarse = replace(coarse, evidence=replace(EVIDENCE, cardinality=MANY, rows=10_000_000))
    target = coarse if "catalog" in change else fine
    joins = [replace(join, **change) if join is target else join for join in (fine, coarse)]
    dropped = {"customer": [None, Derivation.SAME_TABLES], "note": [Derivation.SAME_TABLES, None]}
    assert reasons(joins, SHOP) == dropped.get(kept, [None, None])


def test_two_columns_with_one_partner_are_two_roles_of_it() -> None:
    roles = [
        between("bills customer", f"orders {path}", Role.SAME_DOMAIN, MANY)
        for path in ("customer", "note")
    ]
    assert reasons(roles, SHOP) == [None, None]


def test_numbers_of_four_digits_are_no_dates() -> None:
    numbers = {"year": ["1999", "2001", "2024"], "id": ["a", "b", "c"]}
    tables = [*profile_lake({"one": numbers}), *profile_lake({"other": numbers})]
    made = between("one year", "other year", Role.SAME_DOMAIN, MANY)
    assert reasons([made], tables) == [None]


@pytest.mark.parametrize(
    ("header", "reason"), [("id day town", Derivation.SAME_COLUMNS), ("id town", None)]
)
def test_tables_with_the_same_columns_are_one_family(
    header: str, reason: Derivation | None
) -> None:
    years = [table("y2023", header), table("y2024", " ".join(reversed(header.split())))]
    made = between("y2023 id", "y2024 id", Role.ONE_TO_ONE, Cardinality.ONE_ONE)
    assert reasons([made], years) == [reason]


def test_a_reference_within_a_table_is_none_between_years() -> None:
    own = between("people id", "people note", Role.REFERENCE, ONE)
    assert reasons([own], SHOP) == [None]
