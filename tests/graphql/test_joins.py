"""Joins are parsed from GraphQL responses, complete ones and those of real catalogs."""

from typing import Any

import pytest

from datahub_hyperjoin.graphql.joins import best_first, read_join, read_joins
from datahub_hyperjoin.joins import Cardinality, Verdict
from datahub_hyperjoin.urns import ACCEPTED, REJECTED

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
    assert join.condition == "shop.orders.customer = shop.customers.id"
    assert (join.joinability, join.band, join.verdict) == (0.9312, "high", Verdict.ACCEPTED)
    assert (join.name, join.title, join.description) == ("bought by", "buyer", "asked Ann")
    assert (join.owners, join.removed) == (("urn:li:corpuser:ann",), True)
    assert join.cardinality is Cardinality.MANY_ONE


def test_a_persons_join_has_no_score_and_full_strength() -> None:
    join = read_join(entity(tags=None))
    assert join is not None
    assert (join.joinability, join.band, join.verdict, join.strength) == (None, "", None, 1.0)
    assert (join.description, join.title, join.owners) == ("", "", ())
    assert (join.removed, join.open) == (False, True)


def test_a_band_that_a_person_set_has_no_score() -> None:
    join = read_join(entity(("urn:li:tag:join:suggested-low", None)))
    assert join is not None
    assert (join.band, join.joinability) == ("low", None)


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


def test_the_best_come_first() -> None:
    low, high = (
        entity((f"urn:li:tag:join:suggested-{band}", score), urn=score)
        for band, score in (("low", "0.5"), ("high", "0.9"))
    )
    accepted = entity(("urn:li:tag:join:suggested-low", "0.4"), (ACCEPTED, None), urn="accepted")
    joins = best_first(read_joins([low, accepted, high]))
    assert [join.urn for join in joins] == ["accepted", "0.9", "0.5"]
