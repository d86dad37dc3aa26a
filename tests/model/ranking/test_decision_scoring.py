"""Test that decisions change the scores of similar pairs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pytest

from datahub_hyperjoin.catalog_facts import CatalogFacts
from datahub_hyperjoin.joins import CatalogEvidence, Verdict
from datahub_hyperjoin.model.config import OURS, Method, ModelConfig, RankingConfig
from datahub_hyperjoin.model.hypergraph.lake_index import build_lake_index
from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.ranking import decision_scoring
from datahub_hyperjoin.model.ranking.pair_scoring import (
    Lefts,
    PairScorer,
    Rights,
    Scores,
    pairs_of_each,
)
from datahub_hyperjoin.model.ranking.rank import Ranker, rank
from datahub_hyperjoin.model.signals.priors import CatalogPriors

Tables = Mapping[str, Mapping[str, Sequence[str]]]
MakeLake = Callable[[Tables], Lake]
Know = Callable[[Mapping[tuple[str, str], CatalogEvidence]], CatalogFacts]

ACCEPTED = CatalogEvidence(verdict=Verdict.ACCEPTED)
REJECTED = CatalogEvidence(verdict=Verdict.REJECTED)
TOWNS = [f"{a}{b}ton" for a in ("wes", "nor", "eas", "sou", "mid") for b in "abcdefghij"]
SHIPS = [f"hms {a}{b}" for a in ("dar", "vic", "tem", "aga") for b in "klmnopqr"]
NORTH, SOUTH = ("north.town", "towns.town"), ("south.town", "towns.town")
SHIPS_JOIN = ("east.ship", "ships.ship")


@pytest.fixture
def lake(make_lake: MakeLake) -> Lake:
    """Make tables that overlap slightly with a list of towns or with a list of ships."""
    return make_lake(
        {
            "towns": {"town": TOWNS[:30]},
            "north": {"town": [*TOWNS[26:44], *(f"{t} north" for t in TOWNS[:6])]},
            "south": {"town": [*TOWNS[24:40], *(f"{t} south" for t in TOWNS[6:12])]},
            "ships": {"ship": SHIPS[:20]},
            "east": {"ship": [*SHIPS[17:30], *(f"{s} east" for s in SHIPS[:5])]},
        }
    )


def scores(
    lake: Lake, facts: CatalogFacts, *, taught: bool = True, setting: Method = OURS
) -> dict[tuple[str, str], float]:
    config = ModelConfig(
        setting=replace(setting, decision_effects=taught),
        ranking=RankingConfig(min_joinability=0.0),
    )
    index = build_lake_index(lake, config, facts)
    return {
        (str(one.query), str(one.candidate)): one.joinability
        for one in rank(index, index.names.vectors(), config)
    }


@pytest.mark.parametrize(("verdict", "sign"), [(ACCEPTED, 1), (REJECTED, -1)])
def test_a_decision_moves_the_same_columns_of_a_sibling_table_most(
    lake: Lake, know: Know, verdict: CatalogEvidence, sign: int
) -> None:
    decided = know({NORTH: verdict})
    taught = scores(lake, decided)
    untaught = scores(lake, decided, taught=False)
    moved, elsewhere = (sign * (taught[pair] - untaught[pair]) for pair in (SOUTH, SHIPS_JOIN))
    assert moved > 0.02
    assert elsewhere == 0


def test_a_relative_tells_how_many_decisions_are_about_its_like(lake: Lake, know: Know) -> None:
    facts = know({NORTH: ACCEPTED, ("east.ship", "towns.town"): REJECTED})
    config = ModelConfig(ranking=RankingConfig(min_joinability=0.0))
    index = build_lake_index(lake, config, facts)
    found = {
        (str(one.query), str(one.candidate)): one.told
        for one in rank(index, index.names.vectors(), config)
    }
    assert (found[SOUTH], found[SOUTH[1], SOUTH[0]]) == ((1, 0), (1, 0))
    assert found[SHIPS_JOIN] == (0, 0)
    assert found["ships.ship", "towns.town"] == (0, 1)


@dataclass(frozen=True)
class Lowered(PairScorer):
    """A scorer that gives nearly nothing to all pairs of one column."""

    scorer: PairScorer
    column: int

    def score(self, left: Lefts, right: Rights) -> Scores:
        scores = self.scorer.score(left, right)
        return np.where(pairs_of_each(left, right)[1] == self.column, 0.01 * scores, scores)

    def to_probability(self, scores: np.ndarray) -> np.ndarray:
        return self.scorer.to_probability(scores)


def test_a_lowered_relative_leaves_its_place_to_no_other(lake: Lake, know: Know) -> None:
    index = build_lake_index(lake, ModelConfig(), know({SHIPS_JOIN: REJECTED}))
    one_each = ModelConfig(ranking=RankingConfig(top_k=1))
    ranker = Ranker.of(index, index.names.vectors(), one_each)
    [before] = (each for each in ranker.select() if str(lake.ids[each.query]) == SOUTH[0])
    [best] = before.candidates.tolist()
    lowered = replace(ranker, scorer=Lowered(ranker.corrected, best), orders=ranker.corrected)
    [after] = (each for each in lowered.select() if each.query == before.query)
    assert after.candidates.tolist() == [best]
    assert after.scores < 0.1 * before.scores


def test_pairs_that_are_alike_in_their_signals_change_the_order_alone(
    lake: Lake, know: Know
) -> None:
    index = build_lake_index(lake, ModelConfig(), know({NORTH: REJECTED}))
    ranker = Ranker.of(index, index.names.vectors(), ModelConfig())
    ids = [str(column) for column in lake.ids]
    left, right = (np.array([[ids.index(end)]]) for end in SHIPS_JOIN)
    assert ranker.orders is not None
    assert ranker.scorer.score(left, right) == ranker.corrected.score(left, right)
    assert ranker.orders.score(left, right) < ranker.corrected.score(left, right)


def test_scores_without_features_are_taught_by_similar_columns_only(lake: Lake, know: Know) -> None:
    signals = replace(OURS, tree_correction=False, network_correction=False)
    taught, untaught = (
        scores(lake, know({NORTH: REJECTED}), taught=taught, setting=signals)
        for taught in (True, False)
    )
    assert taught[SOUTH] < untaught[SOUTH] - 0.02
    assert taught[SHIPS_JOIN] == pytest.approx(untaught[SHIPS_JOIN], abs=0.005)


def test_without_decisions_nothing_moves(lake: Lake, know: Know) -> None:
    assert scores(lake, know({})) == scores(lake, know({}), taught=False)


def test_the_decisions_that_surprise_most_are_kept(
    lake: Lake, know: Know, monkeypatch: pytest.MonkeyPatch
) -> None:
    rejected = know({NORTH: REJECTED, ("east.ship", "towns.town"): REJECTED})
    untaught = scores(lake, rejected, taught=False)
    every = scores(lake, rejected)
    monkeypatch.setattr(decision_scoring, "_MOST", 1)
    one = scores(lake, rejected)
    assert one[SOUTH] < untaught[SOUTH] - 0.02
    assert one[SOUTH] == pytest.approx(every[SOUTH], abs=0.01)


def test_an_index_with_other_decisions_shares_what_does_not_depend_on_them(
    lake: Lake, know: Know
) -> None:
    index = build_lake_index(lake, ModelConfig(), know({NORTH: ACCEPTED, SOUTH: REJECTED}))
    undecided = index.with_decisions(index.priors.without_decisions())
    assert undecided.names is index.names
    assert undecided.cells is index.cells
    assert not undecided.priors.accepted.left.size
    assert not undecided.priors.rejected.left.size
    assert not undecided.priors.connected.left.size
    declared = know({NORTH: CatalogEvidence(declared="fk", verdict=Verdict.ACCEPTED)})
    still = build_lake_index(lake, ModelConfig(), declared).priors.without_decisions()
    assert np.array_equal(still.connected.values, [1.0, 1.0])


def test_trees_and_network_do_not_read_decisions(lake: Lake, know: Know) -> None:
    index = build_lake_index(lake, ModelConfig(), know({}))
    # Rejected pairs are no candidates, so the network does not see them at all.
    facts = know({NORTH: ACCEPTED, SHIPS_JOIN: ACCEPTED})
    undecided, decided = (
        Ranker.of(one, one.names.vectors(), ModelConfig())
        for one in (index, index.with_decisions(CatalogPriors.from_facts(lake, facts)))
    )
    left = np.arange(len(lake))[:, None]
    right = np.tile(np.arange(len(lake)), (len(lake), 1))
    before, after = (ranker.corrected.score(left, right) for ranker in (undecided, decided))
    assert np.array_equal(before, after)
    assert (decided.scorer.score(left, right) != after).any()
