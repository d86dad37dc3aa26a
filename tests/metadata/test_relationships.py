"""Test that the facts which are stored with a role's tag are read back."""

import json
from dataclasses import asdict, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from datahub_hyperjoin.joins import Cardinality, CatalogEvidence, Evidence, Join, Role, RowCounts
from datahub_hyperjoin.metadata.relationships import read_tag_context, tag_context
from datahub_hyperjoin.tables import ColumnId
from lakes.lake import column

CITIES, STATES = column("cities.csv.state_id"), column("states.csv.id")
EVIDENCE = Evidence(
    shared=50,
    left_containment=1.0,
    right_containment=0.98,
    cardinality=Cardinality.MANY_ONE,
    left_fan_out=1.0,
    right_fan_out=12.34567,
)
JOIN = Join(
    left=CITIES,
    right=STATES,
    joinability=0.9,
    evidence=EVIDENCE,
    role=Role.REFERENCE,
    referenced=STATES,
)
TEXT = tag_context(JOIN)
FACTS = json.loads(TEXT)
Read = tuple[Evidence | None, bool, tuple[ColumnId, ColumnId] | None]


def facts_of(join: Join) -> dict[str, Any]:
    """Return the facts that the tag of a join stores."""
    facts: dict[str, Any] = json.loads(tag_context(join))
    return facts


def read(text: str) -> Read:
    return read_tag_context(text, Cardinality.MANY_ONE)


def test_the_facts_follow_the_direction() -> None:
    assert (FACTS["source_fan_out"], FACTS["destination_fan_out"]) == (1.0, 12.3457)
    other_way = facts_of(replace(JOIN, referenced=CITIES))
    assert (other_way["source_fan_out"], other_way["destination_fan_out"]) == (12.3457, 1.0)
    assert (other_way["source_containment"], other_way["destination_containment"]) == (0.98, 1.0)


def test_rows_follow_the_direction() -> None:
    cities, states = (RowCounts(total=n, filled=n - 1, matched=n - 2) for n in (90, 50))
    counted = replace(JOIN, evidence=replace(EVIDENCE, left_counts=cities, right_counts=states))
    for join, source in ((counted, cities), (replace(counted, referenced=CITIES), states)):
        assert facts_of(join)["source_counts"] == asdict(source)


def test_all_values_match_only_if_none_is_missing() -> None:
    nearly = replace(EVIDENCE, left_containment=0.99999, right_containment=0.123456)
    facts = facts_of(replace(JOIN, evidence=nearly))
    assert (facts["source_containment"], facts["destination_containment"]) == (0.9999, 0.1235)
    assert FACTS["source_containment"] == 1.0


@pytest.mark.parametrize(
    ("catalog", "declared"),
    [
        (CatalogEvidence(), False),
        (CatalogEvidence(queries=3), False),
        (CatalogEvidence(declared="fk_state"), True),
        (CatalogEvidence(related="urn:li:erModelRelationship:a"), True),
    ],
)
def test_a_declared_join_says_so(catalog: CatalogEvidence, *, declared: bool) -> None:
    assert facts_of(replace(JOIN, catalog=catalog))["declared"] is declared


def test_a_crosswalk_follows_the_direction() -> None:
    via = column("codes.csv.name"), column("codes.csv.iata")
    two_steps = replace(JOIN, via=via)
    assert read(tag_context(two_steps))[2] == via
    assert read(tag_context(replace(two_steps, referenced=CITIES)))[2] == via[::-1]
    assert read(TEXT)[2] is None
    assert "via" not in TEXT
    # A pair whose values are equal in a form may also have a crosswalk.
    in_form = replace(two_steps, evidence=replace(EVIDENCE, compared_as="countries"))
    found, _, also_via = read(tag_context(in_form))
    assert found is not None
    assert (found.compared_as, also_via) == ("countries", via)


def test_entities_are_named_and_the_values_of_a_crosswalk_are_not() -> None:
    def compared(form: str) -> str:
        evidence = replace(EVIDENCE, compared_as=form)
        return str(facts_of(replace(JOIN, evidence=evidence)).get("compared_as", ""))

    assert compared("countries") == "countries"
    assert compared("values through codes.csv") == ""


def test_the_text_of_a_tag_is_compact_and_in_one_order() -> None:
    counts = RowCounts(total=3, filled=2, matched=None)
    known = replace(EVIDENCE, right_counts=counts, compared_as="dates")
    assert tag_context(replace(JOIN, evidence=known)) == (
        '{"source_fan_out":1.0,"destination_fan_out":12.3457,"source_containment":1.0,'
        '"destination_containment":0.98,"destination_counts":{"total":3,"filled":2,"matched":null},'
        '"declared":false,"compared_as":"dates"}'
    )


COUNTS = st.none() | st.builds(
    RowCounts,
    total=st.integers(0),
    filled=st.integers(0),
    matched=st.none() | st.integers(0),
)
DIGITS = st.integers(0, 10_000).map(lambda number: number / 10_000)


@given(
    st.builds(
        Evidence,
        shared=st.just(-1),
        cardinality=st.sampled_from(Cardinality),
        left_counts=COUNTS,
        right_counts=COUNTS,
        left_fan_out=DIGITS,
        right_fan_out=DIGITS,
        left_containment=DIGITS,
        right_containment=DIGITS,
        compared_as=st.sampled_from(["", "countries"]),
    ),
    st.booleans(),
    st.booleans(),
)
def test_facts_are_read_as_they_were_written(
    evidence: Evidence,
    declared: bool,  # noqa: FBT001 - drawn
    in_two_steps: bool,  # noqa: FBT001 - drawn
) -> None:
    via = (CITIES, STATES) if in_two_steps else None
    catalog = CatalogEvidence(stated=declared)
    text = tag_context(replace(JOIN, evidence=evidence, catalog=catalog, via=via))
    assert read_tag_context(text, evidence.cardinality) == (evidence, declared, via)
    assert " " not in text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "0.93",
        "[]",
        "null",
        "asked Ann",
        "{}",
        TEXT[:-1],
        TEXT.replace("1.0", '"much"'),
        TEXT.replace("1.0", "null"),
        TEXT.replace("}", ',"via":["states.csv.id","states.csv.name"]}'),
        TEXT.replace("}", ',"via":[]}'),
        TEXT.replace("}", ',"source_counts":{"total":3}}'),
        TEXT.replace("}", ',"source_counts":[3,2,1]}'),
    ],
)
def test_other_texts_hold_no_facts(text: str) -> None:
    assert read(text) == (None, False, None)
