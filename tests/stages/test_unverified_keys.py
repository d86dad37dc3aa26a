"""Test that declared foreign keys without values to compare are kept."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from datahub_hyperjoin.catalog_facts import CatalogFacts, DeclaredKeys, ForeignKey
from datahub_hyperjoin.joins import CatalogEvidence, Join, Role, Verdict
from datahub_hyperjoin.metadata.relationships import columns_urn
from datahub_hyperjoin.stages.named_joins import find_unverified_keys
from datahub_hyperjoin.tables import TableProfile
from lakes.handmade import column, facts_of, numbers, profile_lake

USERS = {"users": {"id": numbers(1, 40), "tenant": numbers(1, 40)}}
EMPTY = ["", "", ""]


def key(*pairs: tuple[str, str]) -> ForeignKey:
    ends = tuple((column(referring), column(referenced)) for referring, referenced in pairs)
    return ForeignKey(name="fk", pairs=ends)


BOSS = key(("team.boss", "users.id"))
TENANT = key(("team.boss", "users.id"), ("team.tenant", "users.tenant"))


def team(**columns: list[str]) -> list[TableProfile]:
    return profile_lake({**USERS, "team": columns})


def found(
    profiles: list[TableProfile], *keys: ForeignKey, facts: CatalogFacts | None = None
) -> tuple[Join, ...]:
    known = replace(facts or CatalogFacts(), keys=DeclaredKeys(foreign=keys))
    return find_unverified_keys(profiles, known, ())


def ends(joins: tuple[Join, ...]) -> Mapping[tuple[str, ...], tuple[str, ...]]:
    return {
        tuple(str(left) for left, _ in join.directed_pairs): tuple(
            str(right) for _, right in join.directed_pairs
        )
        for join in joins
    }


def test_a_key_of_an_empty_column_is_kept_without_evidence() -> None:
    [join] = found(team(boss=EMPTY, tenant=numbers(1, 9)), BOSS)
    assert (join.role, join.evidence, join.catalog.declared) == (Role.REFERENCE, None, "fk")
    assert (str(join.referring), str(join.referenced)) == ("team.boss", "users.id")


def test_a_key_with_values_is_left_to_the_values() -> None:
    assert found(team(boss=numbers(50, 60)), BOSS) == ()


@pytest.mark.parametrize("unread", ["users", "team"])
@pytest.mark.parametrize("declared", [BOSS, TENANT])
def test_keys_of_unread_tables_are_kept(unread: str, declared: ForeignKey) -> None:
    profiles = team(boss=numbers(1, 9), tenant=numbers(1, 9))
    at = [profile.table.title for profile in profiles].index(unread)
    profiles[at] = replace(profiles[at], fault="has no rows", columns=())
    left, right = zip(*declared.pairs, strict=True)
    assert ends(found(profiles, declared)) == {tuple(map(str, left)): tuple(map(str, right))}


def test_a_composite_key_without_values_in_one_column_is_kept_whole() -> None:
    profiles = team(boss=numbers(1, 9), tenant=EMPTY)
    assert ends(found(profiles, TENANT)) == {
        ("team.boss", "team.tenant"): ("users.id", "users.tenant")
    }


def test_two_keys_never_share_the_pair_that_names_them() -> None:
    joins = found(team(boss=EMPTY, tenant=EMPTY), TENANT, BOSS)
    assert ends(joins) == {
        ("team.boss",): ("users.id",),
        ("team.tenant", "team.boss"): ("users.tenant", "users.id"),
    }
    assert len({(join.left, join.right) for join in joins}) == 2


def test_a_column_that_the_catalog_lacks_is_left_out() -> None:
    assert found(team(tenant=EMPTY), BOSS) == ()


def test_a_rejected_key_is_left_out() -> None:
    rejected = CatalogEvidence(verdict=Verdict.REJECTED)
    profiles = team(boss=EMPTY, tenant=EMPTY)
    assert found(profiles, BOSS, facts=facts_of({("team.boss", "users.id"): rejected})) == ()
    whole = CatalogFacts(composites={columns_urn(TENANT.pairs): rejected})
    assert found(profiles, TENANT, facts=whole) == ()
