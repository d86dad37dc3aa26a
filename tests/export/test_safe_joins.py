"""Test which joins are exported, and the reasons why others are left out."""

from collections import Counter
from typing import Any

import pytest

from datahub_hyperjoin.joins import Cardinality, Join, Role, Verdict, is_safe
from datahub_hyperjoin.joins.semantic_layers import LeftOut, SafeJoin, examine, select_safe
from datahub_hyperjoin.tables import ColumnId, TableId
from lakes.chains import changed

MANY_MANY = Cardinality.MANY_MANY


def only(*joins: Join) -> SafeJoin:
    (safe,), left_out = select_safe(joins)
    assert not left_out
    return safe


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"verdicts": (Verdict.REJECTED,)}, LeftOut.REJECTED),
        ({"verdicts": (Verdict.ACCEPTED, Verdict.REJECTED)}, LeftOut.REJECTED),
        ({"removed": True}, LeftOut.REJECTED),
        ({"band": "unverified"}, LeftOut.UNVERIFIED),
        (
            {"band": "unverified", "declared": True, "cardinality": MANY_MANY},
            LeftOut.UNVERIFIED,
        ),
        ({"role": Role.SIBLING, "referenced": None}, LeftOut.WITHOUT_KEY),
        (
            {"role": Role.SAME_DOMAIN, "referenced": None, "verdicts": (Verdict.ACCEPTED,)},
            LeftOut.WITHOUT_KEY,
        ),
        ({"compared_as": "countries"}, LeftOut.OTHER_FORM),
        ({"cardinality": MANY_MANY}, LeftOut.FAN_OUT),
        # A path tolerates the few duplicates of such a key, a semantic layer does not.
        ({"cardinality": MANY_MANY, "left_fan_out": 1.001, "declared": True}, LeftOut.FAN_OUT),
        ({"cardinality": Cardinality.ONE_MANY}, LeftOut.FAN_OUT),
        (
            {"joinability": None, "band": "", "role": None, "referenced": None}
            | {"cardinality": MANY_MANY},
            LeftOut.FAN_OUT,
        ),
    ],
)
def test_a_join_that_is_not_safe_has_a_reason(
    reference: Join, change: dict[str, Any], reason: LeftOut
) -> None:
    unsafe = changed(reference, **change)
    assert select_safe([unsafe]) == ((), Counter({reason: 1}))
    assert select_safe([unsafe.reversed]) == ((), Counter({reason: 1}))


def test_a_crosswalk_takes_two_steps(reference: Join) -> None:
    crosswalk = changed(reference, via=(reference.right, reference.left))
    assert select_safe([crosswalk]) == ((), Counter({LeftOut.TWO_STEPS: 1}))


def test_both_tables_are_on_one_platform_and_have_plain_columns(reference: Join) -> None:
    elsewhere = ColumnId(TableId("mysql", "shop.customers"), "id")
    nested = ColumnId(reference.right.table, "address.id")
    for end, reason in ((elsewhere, LeftOut.TWO_PLATFORMS), (nested, LeftOut.DOTTED)):
        other = changed(reference, pairs=((reference.left, end),), referenced=end)
        assert select_safe([other]) == ((), Counter({reason: 1}))


def test_a_safe_join_leads_to_the_key(reference: Join) -> None:
    safe = only(reference)
    assert (safe.referring, safe.referenced) == reference.tables
    assert safe.columns == (("customer", "id"),)
    assert (safe.is_complete, safe.is_confirmed, safe.is_one_to_one) == (True, False, False)
    assert only(reference.reversed) == safe


def test_a_confirmed_reference_needs_no_verification(reference: Join) -> None:
    declared = changed(reference, band="unverified", declared=True, left_containment=None)
    safe = only(declared)
    assert (safe.is_confirmed, safe.containment, safe.is_complete) == (True, None, False)


def test_a_join_that_people_wrote_leads_to_the_one_side(reference: Join) -> None:
    written = changed(reference, role=None, referenced=None, joinability=None, band="")
    assert only(written).referenced == reference.right.table
    assert only(written.reversed).referenced == reference.right.table
    one_to_one = changed(written, cardinality=Cardinality.ONE_ONE)
    assert only(one_to_one).is_one_to_one


def test_a_reference_stays_many_to_one_while_no_key_is_used_twice(reference: Join) -> None:
    assert not only(changed(reference, cardinality=Cardinality.ONE_ONE)).is_one_to_one


def test_nearly_all_values_are_not_all(reference: Join) -> None:
    assert not only(changed(reference, left_containment=0.9999)).is_complete


def test_the_same_columns_are_exported_once(reference: Join) -> None:
    written = changed(
        reference, urn="urn:2", role=None, referenced=None, joinability=None, left_containment=None
    )
    safe = only(written, reference)
    assert (safe.join.urn, safe.containment, safe.is_confirmed) == (reference.urn, 1.0, True)


def test_the_columns_of_a_key_are_in_one_order(joins: list[Join]) -> None:
    (lines,) = (join for join in joins if len(join.pairs) > 1)
    swapped = changed(lines, pairs=lines.pairs[::-1], referenced=lines.pairs[1][1])
    assert only(swapped).columns == only(lines).columns == (("order", "number"), ("shop", "shop"))


@pytest.mark.parametrize(("score", "confirmed", "exported"), [
    (0.65, {}, True),
    (0.64, {}, False),
    (0.64, {"declared": True}, True),
    (0.64, {"verdicts": (Verdict.ACCEPTED,)}, True),
])  # fmt: skip
def test_an_export_holds_what_an_agent_may_use(
    reference: Join, score: float, confirmed: dict[str, Any], *, exported: bool
) -> None:
    join = changed(reference, joinability=score, **confirmed)
    assert is_safe(join) is exported
    assert (examine(join) is LeftOut.IMPROBABLE) is not exported
