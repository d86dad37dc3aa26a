"""Test that a join keeps its published score if the new score hardly differs."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from datahub_hyperjoin.catalog.catalog import Catalog
from datahub_hyperjoin.catalog.relationships import Relationship
from datahub_hyperjoin.emit.publication import (
    DEAD_BAND,
    Publication,
    keep_written_scores,
    scores_to_remember,
)
from datahub_hyperjoin.joins import CatalogEvidence, Join, KnownNamesakes, Role
from datahub_hyperjoin.metadata.relationships import from_aspect, join_urn, pairs_in, to_aspect
from lakes.lake import EVIDENCE, column

JOIN = Join(
    left=column("airlines.csv.carrier"),
    right=column("flights.csv.carrier"),
    joinability=0.9,
    evidence=EVIDENCE,
)
OTHER = replace(JOIN, left=column("airports.csv.faa"), right=column("flights.csv.origin"))


def published(*joins: Join, implied: tuple[Join, ...] = ()) -> Publication:
    return Publication(
        joins=joins,
        implied=frozenset(join.pairs for join in implied),
        titles={},
        model_version="2",
    )


def catalog(join: Join, *, removed: bool = False) -> Catalog:
    aspect = to_aspect(join, "1")
    shown = Relationship(
        urn=join_urn(join),
        aspect=aspect,
        pairs=pairs_in(aspect),
        ours=True,
        recorded=True,
        join=from_aspect(aspect),
        removed=removed,
    )
    return Catalog(tables=(), relationships={shown.urn: shown})


def settled(now: float, before: float, **rest: bool) -> float:
    shown = catalog(replace(JOIN, joinability=before), **rest)
    [join] = keep_written_scores(published(replace(JOIN, joinability=now)), shown, {}).joins
    return join.joinability


@pytest.mark.parametrize(
    ("now", "before", "written"),
    [
        (0.9149, 0.9, 0.9),
        (0.96, 0.9, 0.96),
        (0.8001, 0.7999, 0.7999),
        (0.7, 0.8, 0.7),
        (0.3, 0.31, 0.31),
    ],
)
def test_a_score_is_news_if_it_moves_far(now: float, before: float, written: float) -> None:
    assert settled(now, before) == written


NOTE = "people rejected 2 joins of such columns"


@pytest.mark.parametrize(
    ("now", "before", "noted", "written"),
    [
        (0.88, 0.9, False, False),
        (0.8, 0.9, False, True),
        (0.88, 0.9, True, True),
    ],
)
def test_decisions_about_relatives_are_told_with_the_score_that_they_moved(
    *, now: float, before: float, noted: bool, written: bool
) -> None:
    told = CatalogEvidence(told=(0, 2))
    known = KnownNamesakes(known=1, agreeing=1)
    reasons = replace(JOIN, role=Role.REFERENCE, referenced=JOIN.right, catalog=told)
    join = replace(reasons, namesakes=known, joinability=now)
    shown = catalog(replace(join if noted else JOIN, joinability=before))
    [found] = keep_written_scores(published(join), shown, {}).joins
    evidence = to_aspect(found, "2").customProperties["evidence"]
    assert (NOTE in evidence, "the only column named" in evidence) == (written, written)


def test_a_hidden_relationship_settles_nothing() -> None:
    assert settled(0.91, 0.9, removed=True) == 0.91


@given(st.floats(0, 1), st.floats(0, 1))
def test_what_is_written_is_near(now: float, before: float) -> None:
    before = round(before, 4)
    written = settled(now, before)
    assert written in {round(now, 4), before}
    assert abs(written - now) < DEAD_BAND + 1e-4


def test_joins_that_only_columns_list_are_remembered() -> None:
    implied = replace(OTHER, joinability=0.71234)
    publication = published(JOIN, implied, implied=(implied,))
    remembered = scores_to_remember(keep_written_scores(publication, Catalog(tables=()), {}))
    assert remembered == {join_urn(OTHER): 0.7123}
    moved = published(JOIN, replace(OTHER, joinability=0.73), implied=(implied,))
    assert [
        join.joinability
        for join in keep_written_scores(moved, Catalog(tables=()), remembered).joins
    ] == [
        0.9,
        0.7123,
    ]


def test_what_nobody_verified_does_not_settle_what_somebody_did() -> None:
    named = replace(JOIN, evidence=None, joinability=0.89)
    [join] = keep_written_scores(published(JOIN), catalog(named), {}).joins
    assert join.joinability == 0.9


def test_joins_stay_best_first() -> None:
    shown = catalog(replace(JOIN, joinability=0.88))
    higher, lower = replace(OTHER, joinability=0.895), replace(JOIN, joinability=0.9)
    assert [*keep_written_scores(published(lower, higher), shown, {}).joins] == [
        higher,
        replace(JOIN, joinability=0.88),
    ]
