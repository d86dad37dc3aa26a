"""Test that the grain and the fan-outs of a path agree with the data."""

import itertools
import random
import re
from contextlib import suppress

import duckdb
import pytest

from datahub_hyperjoin.graphql import JoinPath
from datahub_hyperjoin.joins import Cardinality, Join, Role, Verdict
from datahub_hyperjoin.joins.errors import NoPathError
from datahub_hyperjoin.tables import TableId
from lakes.chains import N_N, changed, domain, find, join

NAMES = "abcde"


def test_a_bridge_table_is_the_grain_of_the_path_through_it() -> None:
    found = find(join("b", "a", 0.9, fan_outs=(1, 3)), join("b", "d", 0.9, fan_outs=(0.5, 2)))
    assert found.grain == TableId("file", "b")
    assert found.multiplies_by == 1.5


def dirty(fan_out: float, containment: float = 1.0) -> Join:
    """Make a reference to a key that has duplicates."""
    reference = join("a", "d", 0.9, cardinality=N_N, fan_outs=(fan_out, 9.0))
    return changed(reference, left_containment=containment, right_containment=1.0)


def test_a_key_with_a_few_duplicates_is_a_key_but_not_safe() -> None:
    found = find(dirty(1.01))
    assert (found.grain, found.keeps_grain) == (TableId("file", "a"), False)
    back = find(dirty(1.01), start="d", end="a")
    assert (back.grain, back.keeps_grain) == (TableId("file", "a"), False)


@pytest.mark.parametrize(
    "other",
    [
        dirty(1.1),
        dirty(1.0, containment=0.5),  # half of the rows may match two each
        changed(dirty(1.01), role=Role.SIBLING, referenced=None),
        join("a", "d", 0.9, cardinality=N_N),
    ],
)
def test_a_key_with_many_duplicates_is_no_key(other: Join) -> None:
    with pytest.raises(NoPathError, match="does not follow keys"):
        find(other)


def test_a_key_without_duplicates_is_preferred() -> None:
    clean = changed(join("a", "d", 0.6), left_containment=1.0, left_fan_out=1.0)
    assert find(dirty(1.01), changed(clean, urn="clean")).joins[0].urn == "clean"


def test_one_to_one_joins_tolerate_duplicates_on_both_sides() -> None:
    pair = changed(dirty(1.01), role=Role.ONE_TO_ONE, right_fan_out=1.02)
    for start, end in (("a", "d"), ("d", "a")):
        assert find(pair, start=start, end=end).grain == TableId("file", start)


def test_an_unknown_fan_out_leaves_the_whole_unknown() -> None:
    found = find(join("a", "b", 0.9, fan_outs=(1, 2)), join("b", "d", None, role=None))
    assert [step.multiplies_by for step in found.steps] == [1, None]
    assert found.multiplies_by is None


def cardinality_of(left: list[int], right: list[int]) -> Cardinality:
    sides = ("ONE" if len(set(side)) == len(side) else "N" for side in (left, right))
    return Cardinality("_".join(sides))


Columns = dict[str, dict[str, list[int]]]


def random_tables(chance: random.Random) -> Columns:
    """Make tables with two columns of six values.

    About half of the columns are unique.
    """
    return {
        name: {
            key: chance.sample(range(8), 6)
            if chance.random() < 0.5
            else chance.choices(range(8), k=6)
            for key in ("key", "x")
        }
        for name in NAMES
    }


def some_joins(columns: Columns, chance: random.Random) -> list[Join]:
    return [
        join(
            one,
            other,
            0.9,
            key="x",
            cardinality=cardinality_of(columns[one]["x"], columns[other]["key"]),
            role=chance.choice(list(Role)),
        )
        for one, other in itertools.permutations(NAMES, 2)
        if chance.random() < 0.4
    ]


def rows_and_grains(columns: Columns, found: JoinPath) -> tuple[int, int]:
    """Run a path in DuckDB, and count all rows and the distinct rows of the grain table."""
    with duckdb.connect() as database:
        for name, table in columns.items():
            database.execute(f"create table {name} (row int, key int, x int)")
            pairs = zip(table["key"], table["x"], strict=True)
            rows = [(row, *values) for row, values in enumerate(pairs)]
            database.executemany(f"insert into {name} values (?, ?, ?)", rows)
        joined = " ".join(f"join {one.right.table} on {one.condition}" for one in found.joins)
        counts = f"select count(*), count(distinct {found.grain}.row) from {found.tables[0]}"
        total, distinct = database.execute(f"{counts} {joined}").fetchall()[0]
    return total, distinct


def test_the_grain_is_repeated_nowhere_in_the_data() -> None:
    chance = random.Random(7)  # noqa: S311 - no secret
    counted = []
    for _ in range(80):
        columns = random_tables(chance)
        with suppress(NoPathError):
            found = find(*some_joins(columns, chance), end="e")
            total, distinct = rows_and_grains(columns, found)
            assert total == distinct
            counted.append(total)
    assert sum(total > 0 for total in counted) >= 20


def test_a_detour_names_the_direct_joins_that_it_goes_around() -> None:
    detour = (join("a", "b", 0.9), join("b", "d", 0.9))
    direct = [domain("d", "a", score, N_N) for score in (0.6, 0.9, 0.7, 0.8)]
    rejected = join("a", "d", 0.95, Verdict.REJECTED, role=Role.SIBLING)
    found = find(*detour, *direct, rejected, domain("a", "b", 0.9))
    assert [table.name for table in found.tables] == ["a", "b", "d"]
    assert found.direct == tuple(direct[at].reversed for at in (1, 3, 2))
    assert find(*detour).direct == ()


def test_a_detour_of_accepted_joins_names_a_direct_reference() -> None:
    detour = [join(one, other, 0.9, Verdict.ACCEPTED) for one, other in ("ab", "bd")]
    reference = join("a", "d", 0.99)
    assert find(*detour, reference).direct == (reference,)


def test_a_path_of_one_join_goes_around_nothing() -> None:
    assert find(join("a", "d", 0.9), domain("a", "d", 0.9)).direct == ()
    assert find(domain("a", "d", 0.9), many_to_many=True).direct == ()


def test_an_error_names_the_unsafe_join_itself() -> None:
    expected = (
        "each other. The tables are joined directly by a.key = d.key (0.90, same domain). Add"
    )
    with pytest.raises(NoPathError, match=re.escape(expected)):
        find(domain("a", "d", 0.9, N_N))
