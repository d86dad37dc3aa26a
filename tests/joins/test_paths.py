"""Test that the best path of joins is found, and that it does not multiply rows."""

import itertools
import re
from math import prod

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from datahub_hyperjoin.graphql import JoinPath, find_path
from datahub_hyperjoin.joins import Cardinality, Join, Role, Verdict
from datahub_hyperjoin.joins.errors import NoPathError
from datahub_hyperjoin.tables import ColumnId, TableId
from lakes.chains import N_1, N_N, ONE_1, ONE_N, changed, column_at, domain, find, join, made


def path(*joins: Join, most: int | None = None) -> str:
    return "".join(table.name for table in find(*joins, most=most).tables)


def test_a_reference_between_the_tables_precedes_a_detour_of_better_ones() -> None:
    assert path(join("a", "d", 0.5), join("a", "b", 0.9), join("b", "d", 0.8)) == "ad"
    longer = (join("c", "b", 1.0), join("a", "c", 1.0))
    assert path(*longer, join("a", "b", 0.5), join("b", "d", 0.8)) == "abd"


def test_the_most_reliable_of_equally_short_chains_is_chosen() -> None:
    weak = (join("a", "b", 0.9), join("b", "d", 0.7))
    assert path(*weak, join("a", "c", 0.8), join("c", "d", 0.8)) == "acd"
    # 0.9 × 0.8 is a little more than 0.72 in floating point, so that the names decide.
    assert path(join("a", "c", 0.9), join("c", "d", 0.8), join("a", "b", 0.72), join("b", "d", 1.0)
    ) == "abd"  # fmt: skip


def test_no_detour_is_made_around_a_reference_whose_key_has_duplicates() -> None:
    dirty = join("a", "d", 0.99, cardinality=N_N)
    detour = (join("a", "b", 0.9), join("b", "d", 0.9))
    expected = "no safe path is known between 'a' and 'd': the best one does not follow keys"
    with pytest.raises(NoPathError, match=expected):
        path(*detour, dirty)
    assert find(*detour, dirty, many_to_many=True).joins == (dirty,)
    assert path(*detour, dirty, join("a", "d", 0.5, key="other")) == "ad"
    assert path(*detour, changed(dirty, verdicts=(Verdict.REJECTED,))) == "abd"


def test_a_path_that_is_more_probably_wrong_than_right_is_not_guessed() -> None:
    ends = TableId("file", "a"), TableId("file", "d")
    likely, unlikely = (join("a", "b", 0.8), join("b", "d", 0.7)), join("a", "d", 0.3)
    assert find_path(likely, *ends).strength == pytest.approx(0.56)
    joins = (join("a", "b", 0.8), join("b", "c", 0.8), join("c", "d", 0.7))
    start = "no safe path is known between 'a' and 'd': the best one has a joinability of only "
    end = "Lower `--min-joinability` to see it, and accept the joins that are right"
    direct = "0.30. The tables are joined directly by a.key → d.key (0.30, reference). "
    for some, of in ((joins, "0.45 for all 3 joins together. "), ((*likely, unlikely), direct)):
        with pytest.raises(NoPathError, match=f"^{re.escape(start + of + end)}$"):
            find_path(some, *ends)
        assert find_path(some, *ends, min_joinability=0.3) == find(*some)
    accepted = changed(joins[2], verdicts=(Verdict.ACCEPTED,))
    assert find_path((*joins[:2], accepted), *ends).strength == pytest.approx(0.64)


def test_a_limit_may_force_a_worse_chain() -> None:
    joins = (
        join("a", "c", 0.1), join("c", "d", 0.9), join("a", "b", 0.9, Verdict.ACCEPTED),
        join("b", "c", 0.9, Verdict.ACCEPTED),
    )  # fmt: skip
    assert path(*joins) == "abcd"
    assert path(*joins, most=2) == "acd"


def test_a_join_is_read_in_the_direction_of_the_chain() -> None:
    found = find(join("d", "a", 0.9, fan_outs=(1.0, 7.0)))
    (only,) = found.joins
    assert only.condition == "a.key = d.key"
    assert only.cardinality is ONE_N
    assert found.multiplies_by == found.steps[0].multiplies_by == 7.0


def test_the_best_join_of_two_tables_is_chosen() -> None:
    assert find(join("a", "d", 0.7), join("a", "d", 0.8, key="other")).strength == 0.8


def test_accepted_written_and_declared_joins_count_as_certain() -> None:
    joins = (
        join("a", "b", 0.1, Verdict.ACCEPTED),
        join("b", "c", None, role=None),
        join("c", "d", 0.1, declared=True),
        join("a", "d", 0.99),
    )
    assert path(*joins) == "abcd"


def test_rejected_and_hidden_joins_are_never_used() -> None:
    joins = (
        join("a", "d", 0.9, Verdict.REJECTED),
        join("a", "b", 0.9, removed=True),
        join("b", "d", 0.9),
        join("a", "a", 0.9),
    )
    with pytest.raises(
        NoPathError, match=r"^no path connects 'a' and 'd'\. List the joins of each"
    ):
        path(*joins)


def test_a_limit_that_is_too_low_is_reported() -> None:
    expected = re.escape("no path of at most 1 joins connects 'a' and 'd'. Raise `--max-hops`")
    with pytest.raises(NoPathError, match=expected):
        path(join("a", "b", 0.9), join("b", "d", 0.9), most=1)


def test_a_table_without_joins_has_no_path() -> None:
    with pytest.raises(NoPathError, match=r"accept those that are right$"):
        path()


def test_no_path_leads_from_a_table_to_itself() -> None:
    with pytest.raises(NoPathError, match=r"^no path connects 'd' and 'd'"):
        find(join("d", "a", 0.9), start="d", end="d")


# Two tables of clinical data; both refer to the person, and one refers to the other.
VISIT = join("drug_exposure", "visit_occurrence", 0.979, key="visit_occurrence_id")
SIBLING = join(
    "drug_exposure", "visit_occurrence", 0.994, key="person_id", role=Role.SIBLING, cardinality=N_N,
    fan_outs=(13.0, 7.0),
)  # fmt: skip
PERSONS = (
    join("drug_exposure", "person", 1.0, key="person_id"),
    join("visit_occurrence", "person", 1.0, key="person_id"),
)


def test_a_reference_is_chosen_before_a_sibling_with_a_higher_score() -> None:
    found = find(SIBLING, VISIT, *PERSONS, start="drug_exposure", end="visit_occurrence")
    assert [step.arrows for step in found.joins] == [
        "drug_exposure.visit_occurrence_id → visit_occurrence.key"
    ]
    assert found.grain == TableId("file", "drug_exposure")


def test_a_path_that_pairs_all_rows_of_a_person_is_not_guessed() -> None:
    expected = (
        "no safe path is known between 'drug_exposure' and 'visit_occurrence': the best one by way "
        "of 'person' does not follow keys, so it may pair rows that have nothing to do with each "
        "other. The tables are joined directly by drug_exposure.person_id = visit_occurrence.key "
        "(0.99, sibling, about 13 rows per row). Add `--many-to-many` to see it, or accept a join "
        "that leads to a key"
    )
    with pytest.raises(NoPathError, match=f"^{re.escape(expected)}$"):
        find(SIBLING, *PERSONS, start="drug_exposure", end="visit_occurrence")
    expected = "no safe path of at most 1 joins is known between 'a' and 'd': the best one does not"
    with pytest.raises(NoPathError, match=re.escape(expected)):
        find(domain("a", "d", 0.9, N_N), most=1)


def test_a_many_to_many_path_is_found_if_it_is_asked_for() -> None:
    def seek(*joins: Join) -> JoinPath:
        return find(*joins, start="drug_exposure", end="visit_occurrence", many_to_many=True)

    found = seek(SIBLING, *PERSONS)
    assert (found.grain, found.keeps_grain) == (None, False)
    safe = seek(SIBLING, VISIT, *PERSONS)
    assert (safe.joins, safe.keeps_grain) == ((VISIT,), True)


def test_a_path_that_multiplies_no_rows_is_preferred() -> None:
    assert path(join("b", "a", 1.0), join("b", "d", 1.0), join("a", "d", 0.5)) == "ad"
    assert path(join("d", "a", 1.0), join("a", "c", 0.6), join("c", "d", 0.6)) == "acd"


def test_columns_of_one_domain_are_no_path_unless_a_person_says_so() -> None:
    same_names = domain("a", "d", 0.99)
    assert path(same_names, join("a", "b", 0.6), join("b", "d", 0.6)) == "abd"
    with pytest.raises(NoPathError, match="does not follow keys"):
        path(same_names)
    asked = find(same_names, many_to_many=True)
    assert (asked.grain, asked.keeps_grain) == (None, False)
    assert path(changed(same_names, verdicts=(Verdict.ACCEPTED,))) == "ad"


def test_two_references_to_one_key_are_no_path_even_if_no_row_repeats_today() -> None:
    ports = (join("a", "b", 1.0, cardinality=ONE_1), join("d", "b", 1.0, cardinality=ONE_1))
    with pytest.raises(NoPathError, match="does not follow keys"):
        path(*ports)
    extension = changed(ports[1], role=Role.ONE_TO_ONE)
    assert path(ports[0], extension) == "abd"


def test_the_role_of_a_join_that_a_person_wrote_is_that_of_its_cardinality() -> None:
    assert path(join("a", "d", None, role=None), domain("a", "d", 1.0)) == "ad"
    with pytest.raises(NoPathError, match="does not follow keys"):
        path(join("a", "d", None, role=None, cardinality=N_N))


def test_references_in_several_roles_are_all_reported() -> None:
    joins = (
        join("orders", "users", 0.97, key="created_by"),
        join("orders", "users", 0.95, key="approved_by"),
        domain("orders", "users", 0.99),
        join("orders", "users", 0.99, Verdict.REJECTED, key="rejected_by"),
    )
    for start, end in itertools.permutations(["orders", "users"]):
        (step,) = find(*joins, start=start, end=end).steps
        chosen, other = (one if start == "orders" else one.reversed for one in joins[:2])
        assert step.join == chosen
        assert step.alternatives == (other,)


def rivals(*joins: Join, min_joinability: float = 0.0) -> list[str]:
    found = find(*joins, min_joinability=min_joinability)
    return ["".join(table.name for table in rival.tables) for rival in found.rivals]


def test_paths_of_as_many_joins_are_named_with_the_difference_of_their_rows() -> None:
    by_b, by_c = (
        (join("a", via, score, key=f"{via}_id"), join(via, "d", 0.9))
        for via, score in (("b", 0.9), ("c", 0.8))
    )
    found = find(*by_b, *by_c)
    assert str(found).splitlines() == [
        "a.b_id → b.key",
        "b.key → d.key",
        "One row for each row of a that matches",
        (
            "Another path of 2 joins gives other rows: a.c_id → c.key, then c.key → d.key. "
            "One row for each row of a that matches, by way of c instead of b"
        ),
    ]
    assert found == find(*by_c, *by_b)
    # A column that a person names decides.
    (only,) = find_path([*by_b, *by_c], column_at("a.c_id"), TableId("file", "d")).tables[1:-1]
    assert only.name == "c"
    assert not find_path([*by_b, *by_c], column_at("a.c_id"), TableId("file", "d")).rivals


def test_a_rival_with_other_rows_names_them() -> None:
    events = (join("b", "a", 0.9), join("b", "d", 0.9))
    found = find(join("a", "c", 0.9), join("c", "d", 0.9), *events)
    assert found.grain == TableId("file", "a")
    assert found.rivals_in_words == (
        (
            "Another path of 2 joins gives other rows: a.key ← b.key, then b.key → d.key. "
            "One row for each row of b that matches, by way of b instead of c"
        ),
    )


def test_all_rivals_are_found_however_long_they_are() -> None:
    three = [each for via in "xyz" for each in (join("a", via, 0.9), join(via, "d", 0.9))]
    assert rivals(*three) == ["ayd", "azd"]
    diamond = (
        join("a", "b", 0.9), join("b", "x", 0.9), join("b", "y", 0.8), join("x", "d", 0.9),
        join("y", "d", 0.9),
    )  # fmt: skip
    assert rivals(*diamond) == ["abyd"]
    (told,) = find(*diamond).rivals_in_words
    assert told.endswith("by way of y instead of x")


def test_what_is_worse_than_a_path_is_no_rival() -> None:
    chain = (join("a", "b", 0.9), join("b", "d", 0.9))
    assert not rivals(*chain, join("a", "b", 0.8, key="other"))  # which is an alternative
    assert not rivals(*chain, join("a", "x", 0.9), join("x", "y", 0.9), join("y", "d", 0.9))
    sibling = join("a", "x", 0.99, role=Role.SIBLING, cardinality=N_N)
    assert not rivals(*chain, sibling, join("x", "d", 0.99))
    # All rows of a that share a row of x would be paired with all of its rows of d.
    assert not rivals(*chain, join("a", "x", 0.99), join("d", "x", 0.99))
    weak = (join("a", "x", 0.6), join("x", "d", 0.6))
    assert rivals(*chain, *weak) == ["axd"]
    assert not rivals(*chain, *weak, min_joinability=0.5)
    assert not rivals(*chain, *weak, join("a", "d", 0.5))


def test_a_reference_in_the_opposite_direction_is_an_alternative() -> None:
    member = join("employees", "departments", 0.97, key="department")
    leader = join("departments", "employees", 0.9, key="manager")
    for start, end, chosen, other in (
        ("employees", "departments", member, leader.reversed),
        ("departments", "employees", leader, member.reversed),
    ):
        (step,) = find(member, leader, start=start, end=end).steps
        assert (step.join, step.alternatives) == (chosen, (other,))


def test_a_composite_key_is_joined_on_all_its_columns() -> None:
    pairs = tuple(
        (ColumnId(TableId("file", "a"), name), ColumnId(TableId("file", "d"), name))
        for name in ("year", "code")
    )
    key = made(urn="k", name="", pairs=pairs, cardinality=N_1, joinability=0.9)
    (only,) = find(key, domain("a", "d", 1.0, N_N)).joins
    assert only.condition == "a.year = d.year and a.code = d.code"
    assert find_path([key], column_at("a.code"), column_at("d.code")).joins == (only,)


NAMES = "abcde"
SOME_JOIN = st.builds(
    join,
    st.sampled_from(NAMES),
    st.sampled_from(NAMES),
    st.sampled_from([0.2, 0.5, 0.8, 1.0]),
    cardinality=st.sampled_from(Cardinality),
    role=st.sampled_from(Role),
    key=st.sampled_from("xyz"),
)


def chains(joins: list[Join], start: str, end: str) -> list[tuple[Join, ...]]:
    """Find all chains of joins between two tables.

    No chain repeats a table.
    """
    complete: list[tuple[Join, ...]] = []
    open_: list[tuple[tuple[Join, ...], str]] = [((), start)]
    while open_:
        chain, last = open_.pop()
        if last == end:
            complete.append(chain)
            continue
        seen = {start, *(join.right.table.name for join in chain)}
        open_ += [
            ((*chain, directed), directed.right.table.name)
            for join in joins
            for directed in (join, join.reversed)
            if directed.left.table.name == last and directed.right.table.name not in seen
        ]
    return complete


def has_grain(chain: tuple[Join, ...]) -> bool:
    """Return whether a chain has a grain: a table whose rows the chain does not multiply.

    It has one if all joins lead from some table to keys, in both directions of the chain.
    """

    def leads_to_key(join: Join) -> bool:
        to_one = join.cardinality in {N_1, ONE_1}
        return to_one and (join.role is Role.ONE_TO_ONE or join.referenced == join.right)

    return any(
        all(map(leads_to_key, chain[place:]))
        and all(leads_to_key(join.reversed) for join in chain[:place])
        for place in range(len(chain) + 1)
    )


def quality(chain: tuple[Join, ...]) -> tuple[float, ...]:
    distance = {Role.REFERENCE: 0, Role.ONE_TO_ONE: 0, Role.SIBLING: 1, Role.SAME_DOMAIN: 2}
    return (
        sum(distance[join.role] for join in chain if join.role),
        sum(join.cardinality in {ONE_N, N_N} for join in chain),
        len(chain),
        -round(prod(join.joinability or 0 for join in chain), 9),
    )


def is_ambiguous(chain: tuple[Join, ...]) -> bool:
    """Return whether a chain is a single reference whose key has duplicates."""
    return len(chain) == 1 and chain[0].is_reference and not has_grain(chain)


@given(st.lists(SOME_JOIN, max_size=12), st.sampled_from("xyz"), st.sampled_from("xyz"))
def test_every_path_between_columns_joins_them(joins: list[Join], first: str, last: str) -> None:
    ends = column_at(f"a.{first}"), column_at(f"e.{last}")
    every = [
        chain
        for chain in chains(joins, "a", "e")
        if chain[0].left == ends[0] and chain[-1].right == ends[1]
    ]
    try:
        found = find_path(joins, *ends, many_to_many=True, min_joinability=0)
    except NoPathError:
        assert not every
    else:
        assert (found.joins[0].left, found.joins[-1].right) == ends
        assert {found.joins} <= {*every}


@settings(max_examples=300)
@given(st.lists(SOME_JOIN, max_size=12))
@example(
    [
        join("a", "e", 0.2, cardinality=ONE_N),
        join("a", "e", 0.1, cardinality=ONE_N, role=Role.ONE_TO_ONE),
        join("a", "b", 0.2, cardinality=ONE_1),
        join("b", "e", 0.2, cardinality=ONE_1),
    ]
)
def test_no_other_chain_is_better(joins: list[Join]) -> None:
    every = chains(joins, "a", "e")
    safe = [chain for chain in every if has_grain(chain)]
    is_detour = bool(safe) and len(min(safe, key=quality)) > 1
    # A detour around an ambiguous reference would give other rows than were meant.
    if safe and not (is_detour and any(map(is_ambiguous, every))):
        found = find(*joins, end="e")
        assert found.keeps_grain
        assert has_grain(found.joins)
        assert quality(found.joins) == min(map(quality, safe))
        assert find(*joins, end="e", many_to_many=True) == found
        return
    with pytest.raises(NoPathError, match="follow keys" if every else "^no path connects"):
        find(*joins, end="e")
    if every:
        found = find(*joins, end="e", many_to_many=True)
        assert is_ambiguous(found.joins) or not safe
        assert not found.keeps_grain
        assert not has_grain(found.joins)
