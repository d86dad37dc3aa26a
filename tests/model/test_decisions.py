"""Test the effect of catalog evidence and decisions on candidates, scores and suggestions."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest

from datahub_hyperjoin.catalog_facts import CatalogFacts
from datahub_hyperjoin.joins import CatalogEvidence, Suggestion, Verdict
from datahub_hyperjoin.model.config import OURS, Method, ModelConfig, RankingConfig, Scoring
from datahub_hyperjoin.model.hypergraph.lake_index import LakeIndex, build_lake_index
from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.ranking.candidates import find_candidates
from datahub_hyperjoin.model.ranking.pair_scoring import build_scorer
from datahub_hyperjoin.model.ranking.rank import rank

Tables = Mapping[str, Mapping[str, Sequence[str]]]
MakeLake = Callable[[Tables], Lake]
Said = Mapping[tuple[str, str], CatalogEvidence]
Know = Callable[[Said], CatalogFacts]
Connect = Callable[[Said], LakeIndex]
ACCEPTED = CatalogEvidence(verdict=Verdict.ACCEPTED)
REJECTED = CatalogEvidence(verdict=Verdict.REJECTED)
TAILNUM, CARRIER = (
    ("flights.tailnum", "planes.tailnum"),
    ("airlines.carrier_code", "flights.carrier"),
)
UNRELATED = ("airlines.name", "herbarium.sheet")
DEFAULT = RankingConfig()
EVERYTHING = RankingConfig(min_joinability=0.0, top_k=50)


@pytest.fixture
def connect(make_lake: MakeLake, airline_tables: Tables, know: Know) -> Connect:
    lake = make_lake(airline_tables)
    return lambda said: build_lake_index(lake, ModelConfig(), know(said))


def embed(index: LakeIndex) -> np.ndarray:
    """Return a random embedding for each column."""
    vectors = np.random.default_rng(0).normal(size=(len(index.lake), 8)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def suggest(
    index: LakeIndex, ranking: RankingConfig = DEFAULT, method: Method = OURS
) -> list[Suggestion]:
    config = ModelConfig(setting=method, ranking=ranking)
    return list(rank(index, embed(index), config))


def pairs(suggestions: Sequence[Suggestion]) -> list[tuple[str, str]]:
    return [(str(one.query), str(one.candidate)) for one in suggestions]


@pytest.mark.parametrize("scoring", list(Scoring))
def test_a_rejected_pair_with_equal_values_is_never_suggested(
    connect: Connect, scoring: Scoring
) -> None:
    said = {TAILNUM: CatalogEvidence(declared="fk", queries=9, verdict=Verdict.REJECTED)}
    everything = replace(EVERYTHING, scoring=scoring)
    before = pairs(suggest(connect({}), everything))
    after = pairs(suggest(connect(said), everything))
    assert {TAILNUM, TAILNUM[::-1]} <= set(before)
    assert {TAILNUM, TAILNUM[::-1]}.isdisjoint(after)


@pytest.mark.parametrize("scoring", list(Scoring))
def test_an_accepted_pair_is_always_suggested(connect: Connect, scoring: Scoring) -> None:
    strict = RankingConfig(scoring=scoring, min_joinability=0.9, top_k=1)
    one_each = replace(OURS, candidates=1)
    assert UNRELATED not in pairs(suggest(connect({}), strict, one_each))
    found = suggest(connect({UNRELATED: ACCEPTED}), strict, one_each)
    assert {UNRELATED, UNRELATED[::-1]} <= set(pairs(found))
    ranks: dict[str, list[int]] = {}
    for one in found:
        ranks.setdefault(str(one.query), []).append(one.rank)
    assert all(places == list(range(1, len(places) + 1)) for places in ranks.values())


def test_an_accepted_pair_within_a_table_is_suggested(connect: Connect) -> None:
    within = ("planes.seats", "planes.tailnum")
    assert {within, within[::-1]} <= set(pairs(suggest(connect({within: ACCEPTED}))))


def test_an_accepted_pair_that_is_found_anyway_keeps_its_place(connect: Connect) -> None:
    assert pairs(suggest(connect({TAILNUM: ACCEPTED}))) == pairs(suggest(connect({})))


def test_what_the_catalog_says_makes_a_pair_a_candidate(connect: Connect) -> None:
    said = {
        ("planes.tailnum", "trees.family"): CatalogEvidence(declared="fk"),
        ("planes.tailnum", "trees.genus"): CatalogEvidence(related="urn"),
        ("planes.tailnum", "herbarium.sheet"): CatalogEvidence(queries=1),
        ("planes.tailnum", "airlines.name"): ACCEPTED,
        ("planes.tailnum", "planes.seats"): CatalogEvidence(declared="fk"),
    }
    index = connect(said)
    names = [str(column) for column in index.lake.ids]
    key = index.keys.tolist().index(names.index("planes.tailnum"))
    config = ModelConfig(setting=replace(OURS, candidates=4))
    found = find_candidates(index, embed(index), config)[key]
    expected = {other for _, other in said} - {"planes.seats"}
    assert expected <= {names[place] for place in found if place >= 0}
    assert "planes.seats" not in {names[place] for place in found if place >= 0}


@pytest.mark.parametrize(
    ("said", "least"),
    [
        (CatalogEvidence(declared="fk"), 0.9),
        (CatalogEvidence(related="urn"), 0.9),
        (CatalogEvidence(queries=20), 0.79),
        (CatalogEvidence(queries=2), 0.38),
    ],
)
def test_what_the_catalog_says_weighs(
    connect: Connect, said: CatalogEvidence, least: float
) -> None:
    without, index = connect({}), connect({UNRELATED: said})
    names = [str(column) for column in index.lake.ids]
    one, other = (np.array([[names.index(end)]]) for end in UNRELATED)
    before = build_scorer(without, embed(without), Scoring.BLEND).score(one, other)
    after = build_scorer(index, embed(index), Scoring.BLEND).score(one, other)
    assert after.item() >= max(least, before.item())
    cosine = build_scorer(index, embed(index), Scoring.HIN).score(one, other)
    assert cosine.item() < 0.5


def test_decisions_shift_all_scores_and_keep_their_order(connect: Connect) -> None:
    # A rejected reference leaves its column to other keys, which the trees take into account.
    method = replace(OURS, tree_correction=False, decision_effects=False)
    before, after = (
        {pair: one for one in suggest(connect(said), EVERYTHING, method) for pair in pairs([one])}
        for said in ({}, {TAILNUM: REJECTED})
    )
    common = sorted(before.keys() & after.keys(), key=lambda pair: before[pair].joinability)
    scores = np.array([[before[p].joinability, after[p].joinability] for p in common])
    assert (np.diff(scores, axis=0) >= 0).all()
    high = scores[:, 0] > 0.5
    assert high.any()
    assert (scores[high, 1] < scores[high, 0]).all()


def test_the_least_joinability_is_of_the_calibrated_score(connect: Connect) -> None:
    before = suggest(connect({}), RankingConfig(min_joinability=0.0))
    score = next(one.joinability for one in before if pairs([one]) == [CARRIER])
    least = RankingConfig(min_joinability=score)
    assert CARRIER in pairs(suggest(connect({}), least))
    assert CARRIER not in pairs(suggest(connect({TAILNUM: REJECTED}), least))
    assert CARRIER in pairs(suggest(connect({TAILNUM: ACCEPTED}), least))


def test_knowing_nothing_of_these_columns_changes_nothing(connect: Connect) -> None:
    elsewhere = {("lost.x", "lost.y"): ACCEPTED, ("flights.carrier", "lost.y"): REJECTED}
    for scoring in Scoring:
        assert suggest(connect({}), RankingConfig(scoring=scoring)) == suggest(
            connect(elsewhere), RankingConfig(scoring=scoring)
        )
