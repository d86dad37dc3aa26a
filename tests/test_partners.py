"""Test the ranking of the columns that join with a given column."""

from hypothesis import given
from hypothesis import strategies as st

from datahub_hyperjoin.joins import CatalogEvidence, Join, Role, Suggestion, Verdict
from datahub_hyperjoin.stages.role_decisions import rank_partners
from datahub_hyperjoin.tables import ColumnId
from lakes.deciding import Ends, compare, pair
from lakes.handmade import column


def make_join(ends: Ends, role: Role, joinability: float, verdict: Verdict | None) -> Join:
    left, right = pair(*ends)
    return Join(
        left=left,
        right=right,
        joinability=joinability,
        evidence=compare(["1", "1"], ["1", "2"]),
        catalog=CatalogEvidence(verdict=verdict),
        role=role,
        referenced=right if role.is_directed else None,
    )


any_joins = st.dictionaries(
    st.tuples(st.sampled_from(["a.x", "b.x", "b.y"]), st.sampled_from(["c.x", "d.x", "d.y"])),
    st.tuples(
        st.sampled_from(list(Role)),
        st.sampled_from([0.5, 0.75, 1.0]),
        st.sampled_from([None, None, Verdict.ACCEPTED]),
    ),
).map(lambda made: [make_join(ends, *facts) for ends, facts in made.items()])


any_ranks = st.dictionaries(
    st.tuples(*[st.sampled_from(["a.x", "b.x", "b.y", "c.x", "d.x", "d.y"])] * 2),
    st.integers(1, 9),
)


def order(join: Join, rank: int | None, query: ColumnId) -> list[object]:
    """Return the sort key of a joining column.

    The best one has the smallest key.
    """
    score, place = -join.joinability, rank or 10
    is_domain = join.role is Role.SAME_DOMAIN
    is_referenced = join.role is Role.REFERENCE and query == join.referenced
    steps = ["reference", "one-to-one", "referenced", "sibling", "same domain"]
    step = steps.index("referenced" if is_referenced else join.role.value)
    use = [join.catalog.verdict is None, step]
    return [*use, place, score] if is_domain else [*use, score, place]


@given(any_joins, any_ranks, st.integers(1, 3))
def test_partners_are_ranked_by_use(joins: list[Join], ranks: dict[Ends, int], count: int) -> None:
    ranked = [
        Suggestion(query=column(query), candidate=column(other), rank=rank, joinability=0.5)
        for (query, other), rank in ranks.items()
    ]
    suggestions = rank_partners(joins, ranked, count)
    queries = sorted({end for join in joins for end in (join.left, join.right)})
    assert [one.query for one in suggestions if one.rank == 1] == queries
    for query in queries:
        own = {
            join.right if join.left == query else join.left: join
            for join in joins
            if query in {join.left, join.right}
        }
        orders = {
            other: order(join, ranks.get((str(query), str(other))), query)
            for other, join in own.items()
        }
        mine = [one for one in suggestions if one.query == query]
        assert [one.rank for one in mine] == [*range(1, min(len(own), count) + 1)]
        assert [one.joinability for one in mine] == [own[one.candidate].joinability for one in mine]
        found = [orders[one.candidate] for one in mine]
        assert found == sorted(orders.values())[:count]


def test_a_reference_is_the_first_partner_though_siblings_are_more_joinable() -> None:
    joins = [
        make_join(("orders.user", "visits.user"), Role.SIBLING, 0.99, None),
        make_join(("orders.user", "users.id"), Role.REFERENCE, 0.6, None),
        make_join(("orders.user", "towns.code"), Role.SAME_DOMAIN, 1.0, None),
    ]
    user = column("orders.user")
    partners = [str(one.candidate) for one in rank_partners(joins, [], 5) if one.query == user]
    assert partners == ["users.id", "visits.user", "towns.code"]


def test_a_one_to_one_join_precedes_references_to_the_column() -> None:
    joins = [
        make_join(("orders.user", "users.id"), Role.REFERENCE, 1.0, None),
        make_join(("people.id", "users.id"), Role.ONE_TO_ONE, 0.6, None),
    ]
    user = column("users.id")
    partners = [str(one.candidate) for one in rank_partners(joins, [], 5) if one.query == user]
    assert partners == ["people.id", "orders.user"]


def test_partners_of_one_domain_keep_the_coherent_order_of_the_ranking() -> None:
    names = [f"{letter}.town" for letter in "bcd"]
    joins = [
        make_join(("a.town", name), Role.SAME_DOMAIN, 0.9 + at / 100, None)
        for at, name in enumerate(names)
    ]
    town = column("a.town")
    ranked = [
        Suggestion(query=town, candidate=column(name), rank=rank, joinability=0.9)
        for rank, name in enumerate(names, start=1)
    ]
    partners = [str(one.candidate) for one in rank_partners(joins, ranked, 5) if one.query == town]
    assert partners == names


def test_no_joins_have_no_partners() -> None:
    assert rank_partners([], [], 5) == ()
