"""Test that descriptions of joins use plain words."""

from datahub_hyperjoin.joins import Join, Role, RowCounts, Verdict
from datahub_hyperjoin.joins.describe import describe, describe_rows, shorten, summarize
from datahub_hyperjoin.tables import ColumnId, TableId
from lakes.chains import N_N, changed, join

MEASURED = changed(
    join("orders", "customers", 0.93, key="customer", fan_outs=(0.98, 3.25)),
    left_containment=0.987,
    right_containment=0.5,
    description="asked Ann",
)


def test_a_measured_reference_is_described_from_the_left() -> None:
    assert describe(MEASURED) == {
        "join": "orders.customer → customers.key",
        "role": "reference; the key is customers.key",
        "cardinality": "many-to-one: each row of orders matches at most one row of customers",
        "grain": "one row for each row of orders that matches",
        "rows": "98% of the rows of orders with a value match; each row of customers matches about "
        "3.2 rows of orders",
        "values": "99% of the distinct values of orders.customer occur in customers; 50% of the "
        "distinct values of customers.key occur in orders",
        "decided": "suggested with joinability 0.93; nobody decided",
        "description": "asked Ann",
    }
    reversed_ = describe(MEASURED.reversed)
    assert reversed_["join"] == "customers.key ← orders.customer"
    assert reversed_["role"] == "reference; the key is customers.key"
    assert reversed_["cardinality"] == (
        "one-to-many: each row of customers matches any number of rows of orders"
    )
    assert reversed_["grain"] == "one row for each row of orders that matches"
    assert reversed_["rows"].startswith("each row of customers matches about 3.2 rows of orders")


def test_rows_without_a_value_are_told_apart() -> None:
    counted = changed(
        MEASURED,
        left_counts=RowCounts(total=10_000, filled=8_000, matched=7_840),
        right_counts=RowCounts(total=4_000, filled=4_000, matched=2_000),
    )
    assert describe(counted)["rows"] == (
        "78% of the rows of orders match, 20% have no value; each row of customers matches about "
        "3.2 rows of orders"
    )
    nearly = changed(MEASURED, left_counts=RowCounts(total=10_000, filled=10_000, matched=9_999))
    assert describe(nearly)["rows"].startswith(">99% of the rows of orders match; ")
    assert counted.matches == 0.784
    assert counted.reversed.matches == 3.25


def test_what_nobody_measured_is_not_told() -> None:
    assert describe(join("orders", "customers", None, role=None)) == {
        "join": "orders.key = customers.key",
        "cardinality": "many-to-one: each row of orders matches at most one row of customers, as "
        "the catalog states it",
        "grain": "one row for each row of orders that matches",
        "decided": "created by a person",
    }


def test_repeating_rows_have_no_grain() -> None:
    many = join("a", "b", 0.9, role=Role.SAME_DOMAIN, cardinality=N_N, fan_outs=(4.0, 2.0))
    words = describe(many)
    assert words["role"] == "same domain"
    assert words["grain"] == "rows of every table may repeat: do not sum over the result"
    assert words["rows"] == (
        "each row of a matches about 4 rows of b; each row of b matches about 2 rows of a"
    )
    dirty = changed(
        MEASURED, cardinality=N_N, left_fan_out=1.01, left_containment=1.0, right_fan_out=3.0
    )
    assert describe(dirty)["grain"] == (
        "one row for each row of orders that matches, and a few more: a key on the way has "
        "duplicates"
    )


def test_a_composite_key_names_its_columns() -> None:
    pairs = tuple(
        (ColumnId(TableId("file", "lines"), name), ColumnId(TableId("file", "orders"), name))
        for name in ("year", "number")
    )
    composite = changed(MEASURED, pairs=pairs, referenced=pairs[0][1])
    words = describe(composite)
    assert words["join"] == "lines.year → orders.year and lines.number → orders.number"
    assert words["role"] == "reference; the key is orders (year, number)"


def test_values_that_are_not_equal_as_written_are_told() -> None:
    assert "compare" not in describe(MEASURED)
    as_form = changed(MEASURED, compared_as="countries")
    assert describe(as_form)["compare"] == "compared as countries"
    crosswalk = TableId("file", "codes")
    through = changed(MEASURED, via=(ColumnId(crosswalk, "code"), ColumnId(crosswalk, "name")))
    assert describe(through)["compare"] == (
        "in two steps: orders.customer = codes.code, then codes.name = customers.key"
    )
    assert describe(through.reversed)["compare"] == (
        "in two steps: customers.key = codes.name, then codes.code = orders.customer"
    )


def decided(one: Join) -> str:
    return summarize(one)["means"].partition("; ")[2]


def test_a_list_says_who_decided() -> None:
    assert decided(MEASURED) == "suggested with joinability 0.93; nobody decided"
    assert decided(changed(MEASURED, verdicts=(Verdict.ACCEPTED,))) == "accepted by people"
    both = (Verdict.ACCEPTED, Verdict.REJECTED)
    assert decided(changed(MEASURED, verdicts=both)) == "rejected by people"
    declared = "declared by a foreign key or a person's relationship"
    assert decided(changed(MEASURED, declared=True)) == declared
    assert decided(changed(MEASURED, joinability=None)) == "created by a person"
    assert summarize(MEASURED)["means"].startswith("many-to-one; ")


def test_a_long_description_is_cut() -> None:
    words = describe(changed(MEASURED, description="word " * 100))
    assert len(words["description"]) <= 200
    assert words["description"].endswith("word…")
    assert shorten("x" * 200) == "x" * 200


def test_a_long_name_of_a_table_takes_no_time() -> None:
    # A pattern that splits a word in many ways takes minutes for 40 letters.
    name = "conquestwarriorskillnamesandtransformation"
    words = describe_rows(MEASURED, (name, "customers"))
    assert f"rows of {name} with a value match" in words
