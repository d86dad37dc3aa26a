from dataclasses import replace

import pytest

from datahub_hyperjoin.joins import Join, Role
from datahub_hyperjoin.model.domains import ColumnGroup, find_column_groups
from lakes.lake import column
from lakes.quick_runs import EVIDENCE, join_of

KEY, OTHER_KEY, *ENDS = (column(f"{name}.csv.id") for name in "abcdef")
SECOND, THIRD, FOURTH, _ = ENDS


def refer(referring: object, referenced: object, joinability: float = 0.9) -> Join:
    join = join_of((referring, referenced), joinability)  # type: ignore[arg-type]
    return replace(join, referenced=referenced)  # type: ignore[arg-type]


def same(one: object, other: object) -> Join:
    join = join_of((one, other))  # type: ignore[arg-type]
    return replace(join, role=Role.SAME_DOMAIN, referenced=None)


def group(*members: object, key: object = None) -> ColumnGroup:
    return ColumnGroup(members=members, key=key)  # type: ignore[arg-type]


def test_columns_belong_to_the_key_at_the_end_of_their_references() -> None:
    joins = [refer(SECOND, KEY), refer(THIRD, SECOND), refer(FOURTH, KEY)]
    assert find_column_groups(joins) == (group(KEY, *ENDS[:3], key=KEY),)


def test_a_worse_reference_does_not_merge_two_groups() -> None:
    joins = [refer(end, KEY) for end in ENDS[:3]] + [refer(SECOND, OTHER_KEY, 0.5)]
    assert find_column_groups(joins) == (group(KEY, *ENDS[:3], key=KEY),)


def test_references_in_a_circle_have_their_first_column_as_key() -> None:
    joins = [refer(KEY, SECOND), refer(SECOND, THIRD), refer(THIRD, KEY)]
    assert find_column_groups(joins) == (group(KEY, SECOND, THIRD, key=KEY),)


def test_a_domain_without_a_key_is_a_group() -> None:
    joins = [same(SECOND, THIRD), same(THIRD, FOURTH), same(SECOND, FOURTH)]
    assert find_column_groups(joins) == (group(*ENDS[:3]),)
    assert find_column_groups(joins)[0].anchor == SECOND


def test_a_domain_joins_the_group_of_half_its_columns() -> None:
    joins = [refer(SECOND, KEY), refer(THIRD, KEY)]
    joins += [same(SECOND, THIRD), same(THIRD, FOURTH), same(SECOND, FOURTH)]
    assert find_column_groups(joins) == (group(KEY, *ENDS[:3], key=KEY),)


@pytest.mark.parametrize(
    "change",
    [
        {"further": ((column("a.csv.x"), column("b.csv.x")),)},
        {"evidence": None},
        {"evidence": replace(EVIDENCE, compared_as="countries")},
    ],
)
def test_only_joins_of_equal_values_of_single_columns_count(change: dict[str, object]) -> None:
    joins = [refer(end, KEY) for end in ENDS[:3]]
    assert find_column_groups(joins)
    assert find_column_groups([replace(join, **change) for join in joins]) == ()  # type: ignore[arg-type]


def test_two_columns_are_no_group() -> None:
    assert find_column_groups([refer(SECOND, KEY)]) == ()
