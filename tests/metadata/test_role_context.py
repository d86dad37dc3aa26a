"""Test that the facts which are stored with a role's tag are read back."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from datahub_hyperjoin.joins import Cardinality, CatalogEvidence, Evidence, Join, Role, RowCounts
from datahub_hyperjoin.metadata.role_context import RoleContext
from datahub_hyperjoin.metadata.urns import column_urn
from lake import column

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
FACTS = RoleContext.of(JOIN)


def test_the_facts_follow_the_direction() -> None:
    assert (FACTS.source_fan_out, FACTS.destination_fan_out) == (1.0, 12.3457)
    other_way = RoleContext.of(replace(JOIN, referenced=CITIES))
    assert (other_way.source_fan_out, other_way.destination_fan_out) == (12.3457, 1.0)
    assert (other_way.source_containment, other_way.destination_containment) == (0.98, 1.0)


def test_rows_follow_the_direction() -> None:
    cities, states = (RowCounts(total=n, filled=n - 1, matched=n - 2) for n in (90, 50))
    counted = replace(JOIN, evidence=replace(EVIDENCE, left_counts=cities, right_counts=states))
    for join, source in ((counted, cities), (replace(counted, referenced=CITIES), states)):
        assert RoleContext.of(join).source_counts == source


def test_all_values_match_only_if_none_is_missing() -> None:
    nearly = replace(EVIDENCE, left_containment=0.99999, right_containment=0.123456)
    facts = RoleContext.of(replace(JOIN, evidence=nearly))
    assert (facts.source_containment, facts.destination_containment) == (0.9999, 0.1235)
    assert FACTS.source_containment == 1.0


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
    assert RoleContext.of(replace(JOIN, catalog=catalog)).declared is declared


def test_a_crosswalk_follows_the_direction() -> None:
    via = column("codes.csv.name"), column("codes.csv.iata")
    two_steps = replace(JOIN, via=via)
    assert RoleContext.of(two_steps).crosswalk == via
    assert RoleContext.of(replace(two_steps, referenced=CITIES)).crosswalk == via[::-1]
    assert FACTS.crosswalk is None
    assert "via" not in FACTS.text


def test_entities_are_named_and_the_values_of_a_crosswalk_are_not() -> None:
    def compared(form: str) -> str:
        return RoleContext.of(
            replace(JOIN, evidence=replace(EVIDENCE, compared_as=form))
        ).compared_as

    assert compared("countries") == "countries"
    assert compared("values through codes.csv") == ""


COUNTS = st.none() | st.builds(
    RowCounts,
    total=st.integers(0),
    filled=st.integers(0),
    matched=st.none() | st.integers(0),
)


@given(
    st.builds(
        RoleContext,
        source_counts=COUNTS,
        destination_counts=COUNTS,
        source_fan_out=st.floats(0, 1e9),
        destination_fan_out=st.floats(0, 1e9),
        source_containment=st.floats(0, 1),
        destination_containment=st.floats(0, 1),
        declared=st.booleans(),
        compared_as=st.sampled_from(["", "countries"]),
        via=st.sampled_from([None, (column_urn(CITIES), column_urn(STATES))]),
    )
)
def test_facts_are_read_as_they_were_written(facts: RoleContext) -> None:
    assert RoleContext.parse(facts.text) == facts
    assert " " not in facts.text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "0.93",
        "[]",
        "null",
        "asked Ann",
        "{}",
        FACTS.text[:-1],
        FACTS.text.replace("1.0", '"much"'),
        FACTS.text.replace("1.0", "null"),
        FACTS.text.replace("}", ',"via":["states.csv.id","states.csv.name"]}'),
        FACTS.text.replace("}", ',"via":[]}'),
        FACTS.text.replace("}", ',"source_counts":{"total":3}}'),
        FACTS.text.replace("}", ',"source_counts":[3,2,1]}'),
    ],
)
def test_other_texts_hold_no_facts(text: str) -> None:
    assert RoleContext.parse(text) is None
