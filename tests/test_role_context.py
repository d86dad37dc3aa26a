"""The facts stored with a role's tag are read as written, and other texts hold none."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from datahub_hyperjoin.joins import Cardinality, CatalogEvidence, Evidence, Join, Role
from datahub_hyperjoin.role_context import RoleContext
from lake import column

CITIES, STATES = column("cities.csv.state_id"), column("states.csv.id")
JOIN = Join(
    left=CITIES,
    right=STATES,
    joinability=0.9,
    evidence=Evidence(
        shared=50,
        left_containment=1.0,
        right_containment=0.98,
        cardinality=Cardinality.MANY_ONE,
        left_fan_out=1.0,
        right_fan_out=12.34567,
    ),
    role=Role.REFERENCE,
    referenced=STATES,
)
FACTS = RoleContext.of(JOIN)


def test_the_facts_follow_the_direction() -> None:
    assert (FACTS.source_fan_out, FACTS.destination_fan_out) == (1.0, 12.3457)
    other_way = RoleContext.of(replace(JOIN, referenced=CITIES))
    assert (other_way.source_fan_out, other_way.destination_fan_out) == (12.3457, 1.0)
    assert (other_way.source_containment, other_way.destination_containment) == (0.98, 1.0)


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


@given(
    st.builds(
        RoleContext,
        source_fan_out=st.floats(0, 1e9),
        destination_fan_out=st.floats(0, 1e9),
        source_containment=st.floats(0, 1),
        destination_containment=st.floats(0, 1),
        declared=st.booleans(),
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
    ],
)
def test_other_texts_hold_no_facts(text: str) -> None:
    assert RoleContext.parse(text) is None
