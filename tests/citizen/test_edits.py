"""Test that runs never change a relationship that a person edited."""

import pytest
from datahub.metadata.schema_classes import (
    AuditStampClass,
    CorpUserInfoClass,
    ERModelRelationshipPropertiesClass,
    GlobalTagsClass,
    StatusClass,
)

from datahub_hyperjoin.graphql import accept, assign_owner, find_join
from datahub_hyperjoin.metadata.urns import ACCEPTED
from gms import Gms
from lakes.quick_runs import ALL, CARRIER, ORIGIN, PLANE, Runs, shown, urn_of

ADA = "urn:li:corpuser:ada"


def edit(gms: Gms, urn: str, **changes: object) -> None:
    aspect = gms.get(urn, ERModelRelationshipPropertiesClass)
    assert aspect is not None
    for name, value in changes.items():
        setattr(aspect, name, value)
    gms.put(urn, aspect)


@pytest.mark.parametrize(
    "change",
    [
        {"name": "The plane that flew"},
        {"lastModified": AuditStampClass(time=1, actor=ADA), "cardinality": "ONE_ONE"},
    ],
)
def test_an_edit_that_keeps_our_custom_properties_is_left_alone(
    gms: Gms, quick: Runs, change: dict[str, object]
) -> None:
    quick(ALL)
    edit(gms, urn_of(PLANE), **change)
    edited = gms.get(urn_of(PLANE), ERModelRelationshipPropertiesClass)
    quick(ALL)
    assert gms.get(urn_of(PLANE), ERModelRelationshipPropertiesClass) == edited
    for _ in range(2):
        quick([CARRIER, ORIGIN])
        assert gms.get(urn_of(PLANE), ERModelRelationshipPropertiesClass) == edited
        assert gms.get(urn_of(PLANE), StatusClass) in (None, StatusClass(removed=False))


def test_an_edit_is_left_alone_when_the_layer_is_switched_off(gms: Gms, quick: Runs) -> None:
    quick(ALL)
    edit(gms, urn_of(PLANE), name="The plane that flew")
    quick(ALL, emit={"relationships": False})
    assert shown(gms) == {PLANE}


def test_a_join_stays_assigned_and_accepted_by_whom_accepted_it(gms: Gms, quick: Runs) -> None:
    quick(ALL)
    gms.put(ADA, CorpUserInfoClass(active=True))
    graph = gms.graph()
    assign_owner(graph, urn_of(PLANE), owner=ADA)
    quick(ALL)
    accept(graph, urn_of(PLANE))
    quick(ALL)
    published = find_join(graph, urn_of(PLANE)).published
    assert published
    assert published.owners == (ADA,)
    tags = gms.get(urn_of(PLANE), GlobalTagsClass)
    assert tags
    signed = [tag.attribution for tag in tags.tags if tag.tag == ACCEPTED]
    assert [by.actor for by in signed if by] == ["urn:li:corpuser:datahub"]
