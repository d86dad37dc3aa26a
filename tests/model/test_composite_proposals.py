"""Test the proposed composite references against a search that tries all columns."""

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations, permutations

from hypothesis import given
from hypothesis import strategies as st

from datahub_hyperjoin.catalog_facts import CatalogFacts
from datahub_hyperjoin.joins import KeySearch
from datahub_hyperjoin.model.composite import Proposal, find_partners, propose
from datahub_hyperjoin.model.config import ModelConfig
from datahub_hyperjoin.model.hypergraph.lake_index import LakeIndex, build_lake_index
from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.tables import TableId

Columns = Mapping[str, Sequence[str]]
Tables = Mapping[str, Columns]
MakeLake = Callable[[Tables], Lake]
A, B = TableId("file", "a"), TableId("file", "b")


def index_of(make_lake: MakeLake, tables: Tables) -> LakeIndex:
    return build_lake_index(make_lake(tables), ModelConfig(), CatalogFacts())


def plain(proposal: Proposal) -> list[tuple[str, str]]:
    return [(referring.path, referenced.path) for referring, referenced in proposal.pairs]


def of(*rows: tuple[object, ...], names: Sequence[str]) -> Columns:
    return {name: [str(row[at]) for row in rows] for at, name in enumerate(names)}


def is_part(cells: Sequence[str]) -> bool:
    return 1 < len({*cells}) <= 0.98 * len(cells)


def is_contained(cells: Sequence[str], others: Sequence[str]) -> bool:
    """Return whether a column may refer to another one as part of a composite reference.

    At most one of its values may be missing there, and it must not be nearly as complete a key
    itself.
    """
    left, right = {*cells}, {*others}
    is_own_key = len(left) == len(cells) and len(right - left) <= 0.1 * len(right)
    return len(left & right) > 1 >= len(left - right) and not is_own_key


def every_key(columns: Columns) -> list[tuple[str, ...]]:
    parts = [name for name, cells in columns.items() if is_part(cells)]
    unique = [
        key
        for size in (2, 3, 4)
        for key in combinations(parts, size)
        if len({*zip(*(columns[name] for name in key), strict=True)}) == len(columns[key[0]])
    ]
    return [key for key in unique if not any({*other} < {*key} for other in unique)]


def every_reference(left: Columns, right: Columns) -> list[list[tuple[str, str]]]:
    """Find the references from one table to each key of another table by trying all columns."""
    return [
        [*zip(chosen, key, strict=True)]
        for key in every_key(right)
        for chosen in permutations([name for name in left if len({*left[name]}) > 1], len(key))
        if all(
            is_contained(left[one], right[other]) for one, other in zip(chosen, key, strict=True)
        )
    ]


SMALL = st.lists(st.tuples(*[st.integers(0, 4)] * 3), min_size=5, max_size=12)


@given(SMALL, SMALL)
def test_references_are_those_of_trying_all_columns(
    make_lake: MakeLake, left: list[tuple[int, ...]], right: list[tuple[int, ...]]
) -> None:
    tables = {"a": of(*left, names=["x", "y", "z"]), "b": of(*right, names=["x", "y", "z"])}
    partners = find_partners(index_of(make_lake, tables))
    keys = {TableId("file", name): every_key(columns) for name, columns in tables.items()}
    found = propose(partners, keys)
    count = 0
    for first, second in ((A, B), (B, A)):
        ours = [plain(one) for one in found if one.pairs[0][0].table == first]
        expected = every_reference(tables[first.name], tables[second.name])
        assert all(one in expected for one in ours)
        count += min(5, len(expected))
    # At most five for two tables, and three for each table of the lake.
    assert len(found) == min(6, count)


LINES = [(order, line, f"P{order * line % 5}") for order in range(1, 40) for line in range(1, 4)]


def test_the_most_similar_names_come_first(make_lake: MakeLake) -> None:
    tables = {
        "a": of(*LINES[::2], names=["line_no", "order_no", "page"]),
        "b": of(*LINES, names=["order_no", "line_no", "product"]),
    }
    # The names are exchanged, so that values and names disagree.
    swapped = {**tables, "a": of(*LINES[::2], names=["order_no", "line_no", "product"])}
    keys = {B: [("order_no", "line_no")]}
    for lake in (tables, swapped):
        partners = find_partners(index_of(make_lake, lake))
        assert all(
            is_contained(lake["a"][one], lake["b"][other])
            for proposal in propose(partners, keys)
            for one, other in plain(proposal)
        )
    [best, *_] = propose(find_partners(index_of(make_lake, swapped)), keys)
    assert plain(best) == [("order_no", "order_no"), ("line_no", "line_no")]
    assert best.names == 1


def test_two_columns_may_refer_to_one_key(make_lake: MakeLake) -> None:
    users = [(tenant, number) for tenant in range(1, 9) for number in range(1, 8)]
    tasks = [(tenant, number, number % 5 + 1) for tenant, number in users]
    tables = {
        "a": of(*tasks, names=["tenant", "created_by", "approved_by"]),
        "b": of(*users, names=["tenant", "user"]),
    }
    partners = find_partners(index_of(make_lake, tables))
    found = [plain(one) for one in propose(partners, {B: [("tenant", "user")]})]
    assert [("tenant", "tenant"), ("created_by", "user")] in found
    assert [("tenant", "tenant"), ("approved_by", "user")] in found


def test_columns_that_identify_rows_are_not_searched(make_lake: MakeLake) -> None:
    rows = [(at, *line) for at, line in enumerate(LINES)]
    names = ["id", "order_no", "line_no", "product"]
    index = index_of(make_lake, {"a": of(*rows[::2], names=names), "b": of(*rows, names=names)})
    assert find_partners(index).searches() == [
        KeySearch(
            table=table,
            columns=("order_no", "line_no", "product"),
            texts=("product",),
        )
        for table in (A, B)
    ]


def test_two_tables_with_one_common_column_are_not_searched(make_lake: MakeLake) -> None:
    tables = {
        "a": of(*LINES, names=["order_no", "amount", "page"]),
        "b": {"order_no": [str(at % 39 + 1) for at in range(90)]},
    }
    assert find_partners(index_of(make_lake, tables)).searches() == []


def test_incomplete_columns_are_no_key_and_may_refer(make_lake: MakeLake) -> None:
    full = of(*LINES, names=["order_no", "line_no"])
    torn = {**full, "line_no": ["" if at % 9 == 0 else v for at, v in enumerate(full["line_no"])]}
    partners = find_partners(index_of(make_lake, {"a": torn, "b": full}))
    assert [search.table for search in partners.searches()] == [B]
