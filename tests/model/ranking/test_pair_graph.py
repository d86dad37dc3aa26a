"""Test which candidates the pair network sees, and how it corrects their scores."""

from dataclasses import replace

import numpy as np
import pytest

from datahub_hyperjoin.catalog_facts import CatalogFacts
from datahub_hyperjoin.model.config import ModelConfig
from datahub_hyperjoin.model.config.method import OURS
from datahub_hyperjoin.model.hypergraph.lake_index import LakeIndex, build_lake_index
from datahub_hyperjoin.model.ranking import tree_scoring
from datahub_hyperjoin.model.ranking.candidates import find_candidates
from datahub_hyperjoin.model.ranking.nearest import NO_CANDIDATE
from datahub_hyperjoin.model.ranking.pair_features import PAIR_FEATURES
from datahub_hyperjoin.model.ranking.pair_scoring import STRENGTHS, NoisyOrScorer, score_pairs
from datahub_hyperjoin.model.ranking.rank import Ranker
from datahub_hyperjoin.model.ranking.tree_scoring import (
    SHIPPED_NETWORK,
    NetworkCorrection,
    build_graph_in_parts,
    build_pair_graph,
    correct_pairs,
    shipped_network,
    to_candidate_pairs,
)
from datahub_hyperjoin.model.signals.pairs import SparsePairs
from datahub_hyperjoin.tables import DataType
from lakes.handmade import draw, lake_of, numbers

CUSTOMERS = [f"customer {number}" for number in range(60)]
TABLES = {
    "crm/customers": {"id": numbers(1, 61), "name": CUSTOMERS},
    "crm/orders": {"id": numbers(1, 121), "customer_id": draw(numbers(1, 61), 120)},
    "crm/invoices": {"invoice": numbers(500, 560), "customer": draw(CUSTOMERS, 60)},
    "crm/calls": {"call": numbers(900, 960), "customer": draw(CUSTOMERS[:40], 60)},
}


@pytest.fixture(scope="module")
def index() -> LakeIndex:
    return build_lake_index(lake_of(TABLES), ModelConfig(), CatalogFacts())


@pytest.fixture(scope="module")
def noisy_or(index: LakeIndex) -> NoisyOrScorer:
    return NoisyOrScorer(index, None, STRENGTHS)


@pytest.fixture(scope="module")
def candidates(index: LakeIndex) -> np.ndarray:
    return find_candidates(index, index.names.vectors(), ModelConfig())


def test_all_candidates_of_a_small_lake_are_seen_in_order(
    index: LakeIndex, noisy_or: NoisyOrScorer, candidates: np.ndarray
) -> None:
    graph = build_pair_graph(index, noisy_or, candidates)
    row, position = np.nonzero(candidates != NO_CANDIDATE)
    expected = sorted(zip(index.keys[row], candidates[row, position], strict=True))
    assert list(zip(graph.left, graph.right, strict=True)) == expected
    assert graph.rows.shape == (len(expected), len(PAIR_FEATURES))
    score = score_pairs(noisy_or, graph.left, graph.right)
    assert np.allclose(1 - (1 - graph.by_evidence) * (1 - graph.known), score)


def test_the_strongest_candidates_of_each_key_are_seen(
    index: LakeIndex,
    noisy_or: NoisyOrScorer,
    candidates: np.ndarray,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tree_scoring, "_STRONGEST", 2)
    monkeypatch.setattr(tree_scoring, "_DESCRIBED", 3)
    graph = build_pair_graph(index, noisy_or, candidates)
    assert np.bincount(graph.left).max() == 2
    for key, row in zip(index.keys, candidates, strict=True):
        own = row[row != NO_CANDIDATE]
        scores = score_pairs(noisy_or, np.full(len(own), key), own)
        kept = graph.right[graph.left == key]
        assert np.isin(own[np.argsort(-scores)][:2], kept).all() or len(set(scores)) < len(scores)


def test_each_pair_knows_its_reverse_and_its_groups(
    index: LakeIndex, noisy_or: NoisyOrScorer, candidates: np.ndarray
) -> None:
    graph = build_pair_graph(index, noisy_or, candidates)
    batch = to_candidate_pairs(graph)
    pairs = list(zip(graph.left.tolist(), graph.right.tolist(), strict=True))
    table = graph.table_of.tolist()
    for one, (left, right) in enumerate(pairs):
        reverse = pairs.index((right, left)) if (right, left) in pairs else -1
        assert batch.reverse[one] == reverse
        for other, (first, second) in enumerate(pairs):
            same = {table[left], table[right]} == {table[first], table[second]}
            assert (batch.tables[one] == batch.tables[other]) == same
            same = (left, table[right]) == (first, table[second])
            assert (batch.towards[one] == batch.towards[other]) == same


def test_the_shipped_network_is_small_and_corrects_every_pair(
    index: LakeIndex, noisy_or: NoisyOrScorer, candidates: np.ndarray
) -> None:
    assert SHIPPED_NETWORK.stat().st_size < 2_000_000
    graph = build_pair_graph(index, noisy_or, candidates)
    left, right, corrections = correct_pairs([graph], shipped_network())
    assert np.array_equal(left, graph.left)
    assert np.array_equal(right, graph.right)
    assert np.isfinite(corrections).all()
    assert np.ptp(corrections) > 1


@pytest.mark.parametrize("size", [1, 5, 1 << 14])
def test_parts_of_any_size_are_corrected_alike(
    index: LakeIndex,
    noisy_or: NoisyOrScorer,
    candidates: np.ndarray,
    monkeypatch: pytest.MonkeyPatch,
    size: int,
) -> None:
    whole = correct_pairs([build_pair_graph(index, noisy_or, candidates)], shipped_network())
    monkeypatch.setattr(tree_scoring, "_PART", size)
    parts = [*build_graph_in_parts(index, noisy_or, candidates)]
    assert (len(parts) > 3) == (size < 10)
    table = index.lake.table_of
    between = [
        {*map(frozenset, zip(table[part.left].tolist(), table[part.right].tolist(), strict=True))}
        for part in parts
    ]
    assert sum(map(len, between)) == len(frozenset().union(*between))
    found = correct_pairs(parts, shipped_network())
    assert np.array_equal(found[0], whole[0])
    assert np.array_equal(found[1], whole[1])
    np.testing.assert_allclose(found[2], whole[2], rtol=1e-5, atol=1e-5)


def test_pairs_that_the_network_does_not_see_are_corrected_by_trees_alone() -> None:
    correction = NetworkCorrection(
        SparsePairs(4, left=np.array([0, 2]), right=np.array([2, 1])), np.array([2.0, 0.0])
    )
    blended = correction.blend(np.array([1.0, 1.0, 1.0]), np.array([0, 1, 2]), np.array([2, 2, 1]))
    assert blended.tolist() == [0.5 * 1 + 0.35 * 2, 1.0, 0.5]


def test_columns_of_prices_are_left_to_the_trees() -> None:
    prices = [f"{number}.25" for number in range(100, 160)]
    tables = TABLES | {
        name: {"code": [f"{name} {number}" for number in range(60)], "price": prices}
        for name in ("shop/list", "shop/offers")
    }
    lake = lake_of(tables)
    profiles = tuple(
        replace(each, type=DataType.DECIMAL) if each.id.path == "price" else each
        for each in lake.profiles
    )
    index = build_lake_index(replace(lake, profiles=profiles), ModelConfig(), CatalogFacts())
    index = replace(index, keys=np.arange(len(lake)))
    candidates = find_candidates(index, index.names.vectors(), ModelConfig())
    noisy_or = NoisyOrScorer(index, None, STRENGTHS)
    graph = build_pair_graph(index, noisy_or, candidates)
    is_price = np.array([each.type is DataType.DECIMAL for each in profiles])
    assert (is_price[graph.left] & is_price[graph.right]).any()
    seen = NetworkCorrection.of(index, noisy_or, candidates).pairs
    assert len(seen.left)
    assert not (is_price[seen.left] | is_price[seen.right]).any()


def test_the_method_decides_whether_the_network_corrects(index: LakeIndex) -> None:
    def scores(*, by_network: bool) -> np.ndarray:
        method = replace(OURS, network_correction=by_network)
        config = ModelConfig(setting=method)
        ranker = Ranker.of(index, index.names.vectors(), config)
        return ranker.scorer.score(index.keys[:, None], ranker.candidates)

    assert not np.allclose(scores(by_network=True), scores(by_network=False))
