"""Test that joins are parsed from GraphQL responses, both complete and incomplete."""

from typing import Any

import pytest

from datahub_hyperjoin.graphql.read import read_join, read_joins
from datahub_hyperjoin.joins import Cardinality, Role, Verdict, best_first
from datahub_hyperjoin.metadata.urns import ACCEPTED, REJECTED, role_urn
from datahub_hyperjoin.tables import ColumnId, TableId
from lakes.chains import made

ORDERS, CUSTOMERS = (
    f"urn:li:dataset:(urn:li:dataPlatform:postgres,shop.{name},PROD)"
    for name in ("orders", "customers")
)


def entity(*tags: tuple[str, str | None], **rest: object) -> dict[str, Any]:
    mapping = {
        "sourceField": "[version=2.0].[type=int].customer",
        "destinationField": "id",
    }
    return {
        "urn": "urn:li:erModelRelationship:a",
        "properties": {
            "name": "bought by",
            "cardinality": "N_ONE",
            "source": {"urn": ORDERS},
            "destination": {"urn": CUSTOMERS},
            "relationshipFieldMappings": [mapping],
        },
        "editableProperties": None,
        "tags": {"tags": [{"tag": {"urn": tag}, "context": context} for tag, context in tags]},
        "ownership": None,
        "status": None,
        **rest,
    }


def test_a_suggestion_is_parsed_completely() -> None:
    join = read_join(
        entity(
            ("urn:li:tag:join:suggested-high", "0.9312"),
            ("urn:li:tag:pii", None),
            (ACCEPTED, None),
            editableProperties={"name": "buyer", "description": "asked Ann"},
            ownership={"owners": [{"owner": {"urn": "urn:li:corpuser:ann"}}]},
            status={"removed": True},
        )
    )
    assert join is not None
    assert join.published is not None
    assert join.condition == "shop.orders.customer = shop.customers.id"
    assert (join.joinability, join.band, join.verdict) == (0.9312, "high", Verdict.ACCEPTED)
    assert (join.name, join.published.title, join.description) == (
        "bought by",
        "buyer",
        "asked Ann",
    )
    assert (join.published.owners, join.is_hidden) == (("urn:li:corpuser:ann",), True)
    assert join.cardinality is Cardinality.MANY_ONE


def test_a_persons_join_has_no_score_and_full_strength() -> None:
    join = read_join(entity(tags=None))
    assert join is not None
    assert join.published is not None
    assert (join.score, join.band, join.verdict, join.strength) == (None, "", None, 1.0)
    assert (join.description, join.published.title, join.published.owners) == ("", "", ())
    assert (join.is_hidden, join.open) == (False, True)


def test_a_band_that_a_person_set_has_no_score() -> None:
    join = read_join(entity(("urn:li:tag:join:suggested-low", None)))
    assert join is not None
    assert (join.band, join.score) == ("low", None)


def test_a_rejection_overrides_an_acceptance() -> None:
    join = read_join(entity((ACCEPTED, None), (REJECTED, None)))
    assert join is not None
    assert (join.verdict, join.open) == (Verdict.REJECTED, False)


@pytest.mark.parametrize(
    "nothing",
    [
        {},
        {"urn": "urn:li:restricted:a"},
        entity(properties=None),
        entity(properties={**entity()["properties"], "relationshipFieldMappings": None}),
        entity(properties={**entity()["properties"], "source": {"urn": "urn:li:dataset:broken"}}),
    ],
)
def test_entities_without_columns_are_skipped(nothing: dict[str, Any]) -> None:
    assert list(read_joins([nothing, entity()])) == [read_join(entity())]


def test_an_unknown_urn_has_no_join() -> None:
    assert read_join(None) is None


FACTS = (
    '{"source_fan_out":0.84,"destination_fan_out":12.5,"source_containment":0.82,'
    '"destination_containment":1.0,"declared":true}'
)


def test_a_role_has_a_direction_and_fan_outs() -> None:
    join = read_join(entity(("urn:li:tag:join:reference", FACTS)))
    assert join is not None
    assert (join.role, join.referenced) == (Role.REFERENCE, join.right)
    assert join.arrows == "shop.orders.customer → shop.customers.id"
    assert (join.measured.left_fan_out, join.measured.right_fan_out) == (0.84, 12.5)
    assert (join.measured.left_containment, join.measured.right_containment) == (0.82, 1.0)
    assert join.catalog.is_declared
    other = join.reversed
    assert (other.role, other.referenced) == (Role.REFERENCE, other.left)
    assert other.arrows == "shop.customers.id ← shop.orders.customer"
    assert (other.measured.left_fan_out, other.measured.right_fan_out) == (12.5, 0.84)
    assert (other.measured.left_containment, other.measured.right_containment) == (1.0, 0.82)
    assert other.reversed == join


@pytest.mark.parametrize("role", [Role.SIBLING, Role.SAME_DOMAIN])
def test_a_role_may_have_no_direction(role: Role) -> None:
    join = read_join(entity((role_urn(role), FACTS)))
    assert join is not None
    assert (join.role, join.referenced) == (role, None)
    assert join.arrows == join.condition


def test_a_role_that_a_person_set_has_no_facts() -> None:
    join = read_join(entity(("urn:li:tag:join:one-to-one", "asked Ann")))
    assert join is not None
    assert (join.role, join.catalog.is_declared) == (Role.ONE_TO_ONE, False)
    assert join.evidence is None


def test_joins_are_sorted_by_use() -> None:
    def scored(urn: str, score: str, *tags: tuple[str, str]) -> dict[str, Any]:
        return entity(("urn:li:tag:join:suggested-high", score), *tags, urn=urn)

    undeclared = FACTS.replace("true", "false")
    roles = [(role_urn(role), undeclared) for role in Role]
    of_each_role = zip(("reference", "one-to-one", "sibling", "same-domain"), roles, strict=True)
    entities = [
        *(scored(name, f"0.9{len(name)}", role) for name, role in of_each_role),
        scored("weaker reference", "0.9", roles[0]),
        scored("accepted sibling", "0.5", roles[2], (ACCEPTED, "")),
        scored("declared reference", "0.6", (roles[0][0], FACTS)),
    ]
    assert [join.urn for join in best_first(read_joins(entities))] == [
        "declared reference",
        "accepted sibling",
        "reference",
        "weaker reference",
        "one-to-one",
        "sibling",
        "same-domain",
    ]


@pytest.mark.parametrize(
    ("cardinality", "role"),
    [
        ("N_ONE", Role.REFERENCE),
        ("ONE_N", Role.REFERENCE),
        ("ONE_ONE", Role.ONE_TO_ONE),
        ("N_N", Role.SAME_DOMAIN),
    ],
)
def test_a_join_without_a_role_takes_the_place_of_its_cardinality(
    cardinality: str, role: Role
) -> None:
    join = read_join(entity(properties={**entity()["properties"], "cardinality": cardinality}))
    assert join is not None
    assert (join.known_role, join.role, join.referenced) == (None, role, None)


def test_the_best_come_first() -> None:
    low, high = (
        entity((f"urn:li:tag:join:suggested-{band}", score), urn=score)
        for band, score in (("low", "0.5"), ("high", "0.9"))
    )
    accepted = entity(("urn:li:tag:join:suggested-low", "0.4"), (ACCEPTED, None), urn="accepted")
    joins = best_first(read_joins([low, accepted, high]))
    assert [join.urn for join in joins] == ["accepted", "0.9", "0.5"]


def test_a_condition_for_people_shows_what_names_hide() -> None:
    odd = ColumnId(TableId("file", "orders"), "id\n\x1b[2J")
    key = ColumnId(TableId("file", "customers"), "id")
    join = made(urn="", name="", pairs=((odd, key),), cardinality=Cardinality.MANY_ONE)
    assert join.arrows == r"orders.id\n\u001b[2J = customers.id"
    assert join.condition == "orders.id\n\x1b[2J = customers.id"
