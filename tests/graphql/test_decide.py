"""Test how people's decisions are stored on the server."""

import pytest
from datahub.metadata.schema_classes import (
    CorpUserInfoClass,
    EditableERModelRelationshipPropertiesClass,
    GlobalTagsClass,
    OwnershipClass,
    StatusClass,
    TagPropertiesClass,
)

from datahub_hyperjoin.graphql import accept, assign_owner, find_join, reject, undo
from datahub_hyperjoin.graphql.errors import DeniedError, UnknownNameError
from datahub_hyperjoin.joins import Role, Verdict
from datahub_hyperjoin.metadata.urns import ACCEPTED, REJECTED, band_urn, role_urn
from lakes.shop import Shop

OURS = {band_urn("high"), role_urn(Role.REFERENCE)}


@pytest.fixture
def urn(shop: Shop) -> str:
    return shop.suggest("orders.customer", "customers.id", 0.93)


def tags(shop: Shop, urn: str) -> set[str]:
    stored = shop.gms.get(urn, GlobalTagsClass)
    return {tag.tag for tag in stored.tags} if stored else set()


def removed(shop: Shop, urn: str) -> bool | None:
    stored = shop.gms.get(urn, StatusClass)
    return stored.removed if stored else None


def test_accepting_adds_a_tag_and_leaves_the_score(shop: Shop, urn: str) -> None:
    accept(shop.graph, urn)
    join = find_join(shop.graph, urn)
    assert (join.verdict, join.joinability, join.is_hidden) == (Verdict.ACCEPTED, 0.93, False)
    assert [(write.urn, write.aspect) for write in shop.gms.writes] == [
        (ACCEPTED, "tagProperties"),
        (urn, "globalTags"),
    ]


def test_rejecting_hides_the_join_and_adds_a_tag(shop: Shop, urn: str) -> None:
    reject(shop.graph, urn)
    assert tags(shop, urn) == {*OURS, REJECTED}
    assert removed(shop, urn) is True


def test_a_decision_can_be_changed(shop: Shop, urn: str) -> None:
    accept(shop.graph, urn)
    reject(shop.graph, urn)
    assert (tags(shop, urn), removed(shop, urn)) == ({*OURS, REJECTED}, True)
    accept(shop.graph, urn)
    assert (tags(shop, urn), removed(shop, urn)) == ({*OURS, ACCEPTED}, False)


def test_a_decision_removes_the_opposite_tag(shop: Shop, urn: str) -> None:
    accept(shop.graph, urn)
    shop.gms.put(REJECTED, TagPropertiesClass(name="join:rejected"))
    shop.gms.graphql(
        "mutation m($tag: String!, $join: String!) {"
        " addTag(input: { tagUrn: $tag, resourceUrn: $join }) }",
        tag=REJECTED,
        join=urn,
    )
    reject(shop.graph, urn)
    assert tags(shop, urn) == {*OURS, REJECTED}


def test_undoing_leaves_the_join_as_it_was_suggested(shop: Shop, urn: str) -> None:
    for decide in (accept, reject):
        decide(shop.graph, urn)
        undo(shop.graph, urn)
        assert tags(shop, urn) == OURS
        assert not removed(shop, urn)
        assert find_join(shop.graph, urn).verdict is None


def test_undoing_shows_no_join_that_a_run_withdrew(shop: Shop, urn: str) -> None:
    accept(shop.graph, urn)
    shop.gms.put(urn, StatusClass(removed=True))
    undo(shop.graph, urn)
    assert (tags(shop, urn), removed(shop, urn)) == (OURS, True)


def test_where_nobody_decided_nothing_is_undone(shop: Shop, urn: str) -> None:
    undo(shop.graph, urn)
    assert shop.gms.writes == []
    with pytest.raises(UnknownNameError, match="has no join"):
        undo(shop.graph, "urn:li:erModelRelationship:none")


def test_an_existing_tag_is_not_changed(shop: Shop, urn: str) -> None:
    shop.gms.put(ACCEPTED, TagPropertiesClass(name="Ours", description="By us"))
    accept(shop.graph, urn)
    kept = shop.gms.get(ACCEPTED, TagPropertiesClass)
    assert kept is not None
    assert (kept.name, kept.description) == ("Ours", "By us")


def test_a_reason_becomes_the_description_and_the_name_stays(shop: Shop, urn: str) -> None:
    named = EditableERModelRelationshipPropertiesClass(name="buyer", description="before")
    shop.gms.put(urn, named)
    reject(shop.graph, urn, why="regions only look alike")
    kept = shop.gms.get(urn, EditableERModelRelationshipPropertiesClass)
    assert kept is not None
    assert (kept.name, kept.description) == ("buyer", "regions only look alike")


def test_a_reason_is_stored_without_a_name(shop: Shop, urn: str) -> None:
    accept(shop.graph, urn, why="asked Ann")
    kept = shop.gms.get(urn, EditableERModelRelationshipPropertiesClass)
    assert kept is not None
    assert (kept.name, kept.description) == (None, "asked Ann")


def test_decisions_keep_the_evidence(shop: Shop, urn: str) -> None:
    accept(shop.graph, urn, why="yes")
    reject(shop.graph, urn, why="no")
    assert "erModelRelationshipProperties" not in {write.aspect for write in shop.gms.writes}


def test_an_unknown_join_cannot_be_accepted(shop: Shop) -> None:
    unknown = "urn:li:erModelRelationship:none"
    with pytest.raises(UnknownNameError, match=f"has no join '{unknown}'. Use the URN"):
        accept(shop.graph, unknown)
    assert shop.gms.writes == []


def test_a_join_gets_an_owner(shop: Shop, urn: str) -> None:
    ann = "urn:li:corpuser:ann"
    shop.gms.put(ann, CorpUserInfoClass(active=True))
    assign_owner(shop.graph, urn, owner=ann)
    stored = shop.gms.get(urn, OwnershipClass)
    assert stored is not None
    assert [owner.owner for owner in stored.owners] == [ann]
    found = find_join(shop.graph, urn).published
    assert found is not None
    assert found.owners == (ann,)


def test_an_unknown_owner_is_refused(shop: Shop, urn: str) -> None:
    expected = r"^DataHub refuses own_join: addOwner: .*ghost.*\. Check that the URNs exist"
    with pytest.raises(DeniedError, match=expected):
        assign_owner(shop.graph, urn, owner="urn:li:corpuser:ghost")
