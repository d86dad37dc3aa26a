"""Test the similarity of pairs, computed from their features, against SciPy's distances."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from datahub_hyperjoin.catalog_facts import CatalogFacts
from datahub_hyperjoin.model.config import ModelConfig
from datahub_hyperjoin.model.hypergraph.lake_index import LakeIndex, build_lake_index
from datahub_hyperjoin.model.ranking.candidates import find_candidates
from datahub_hyperjoin.model.ranking.decision_scoring import PairKinds
from datahub_hyperjoin.model.ranking.nearest import NO_CANDIDATE
from datahub_hyperjoin.model.ranking.pair_features import COLUMN_FEATURES
from datahub_hyperjoin.model.ranking.pair_scoring import STRENGTHS, NoisyOrScorer
from datahub_hyperjoin.model.ranking.tree_scoring import SHIPPED, TreeScorer
from datahub_hyperjoin.model.tree_ensemble import shipped_trees
from lakes.handmade import draw, lake_of, numbers

TABLES = {
    "customers": {"id": numbers(1, 61), "name": [f"customer {number}" for number in range(60)]},
    "orders": {"id": numbers(1, 121), "customer_id": draw(numbers(1, 61), 120)},
    "invoices": {"number": numbers(500, 560), "customer_id": draw(numbers(1, 61), 60)},
    "places": {"country": ["Germany", "France", "Italy", "Spain", "Peru", "Chile"]},
}
DECIDED = np.array([[0, 3], [2, 4], [1, 6]])


@pytest.fixture(scope="module")
def index() -> LakeIndex:
    return build_lake_index(lake_of(TABLES), ModelConfig(), CatalogFacts())


@pytest.fixture(scope="module")
def scorer(index: LakeIndex) -> TreeScorer:
    return TreeScorer(index, NoisyOrScorer(index, None, STRENGTHS), shipped_trees(SHIPPED))


@pytest.fixture(scope="module")
def candidates(index: LakeIndex) -> np.ndarray:
    return find_candidates(index, index.names.vectors(), ModelConfig())


def test_similarity_falls_with_the_distance_of_standardised_features(
    index: LakeIndex, scorer: TreeScorer, candidates: np.ndarray
) -> None:
    kinds = PairKinds(scorer, DECIDED, index.keys, candidates)
    of_pairs = len(COLUMN_FEATURES) * -2  # the features of the two columns stand last
    sample = scorer.score_and_describe(index.keys[:, None], candidates)[1][:, 0][
        candidates != NO_CANDIDATE
    ]
    mean, deviation = (f(sample[:, :of_pairs], axis=0) for f in (np.mean, np.std))

    def standardised(left: np.ndarray, right: np.ndarray) -> np.ndarray:
        features = scorer.score_and_describe(left[:, None], right[:, None])[1][:, 0, 0, :of_pairs]
        return np.clip((features - mean) / np.maximum(deviation, 1e-6), -4, 4)

    orders = [(left, right) for left, right in DECIDED] + [(b, a) for a, b in DECIDED]
    scores = [scorer.score(np.array([[a]]), np.array([[b]]))[0, 0, 0] for a, b in orders]
    better = [orders[at if scores[at] >= scores[at + 3] else at + 3] for at in range(3)]
    distances = cdist(standardised(DECIDED[:, 0], DECIDED[:, 1]), standardised(*np.array(better).T))
    scored, similar = kinds.score_and_compare(DECIDED[:, :1], DECIDED[:, 1:])
    assert np.array_equal(scored, scorer.score(DECIDED[:, :1], DECIDED[:, 1:]))
    similarity = similar[:, 0, 0]
    np.testing.assert_allclose(similarity, np.exp(-(distances**2) / 18), atol=1e-4)


def test_decided_pairs_are_most_similar_to_themselves(
    index: LakeIndex, scorer: TreeScorer, candidates: np.ndarray
) -> None:
    among = PairKinds(scorer, DECIDED, index.keys, candidates).among()
    np.testing.assert_allclose(np.diag(among), 1.0, atol=1e-5)
    np.testing.assert_allclose(among, among.T, atol=1e-6)
    assert among[~np.eye(3, dtype=bool)].max() < 1
