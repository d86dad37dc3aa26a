"""Test that the trees correct the noisy-or and no other part of the score."""

from dataclasses import replace

import numpy as np
import pytest

from datahub_hyperjoin.joins import CatalogEvidence
from datahub_hyperjoin.model.config import FeatureConfig, ModelConfig, Scoring
from datahub_hyperjoin.model.hypergraph.lake_index import LakeIndex, build_lake_index
from datahub_hyperjoin.model.ranking.candidates import find_candidates
from datahub_hyperjoin.model.ranking.pair_features import (
    PAIR_FEATURES,
    RISING_FEATURES,
    PairFeatures,
    log_odds,
)
from datahub_hyperjoin.model.ranking.pair_scoring import (
    STRENGTHS,
    CosineScorer,
    NoisyOrScorer,
    PairScorer,
    build_scorer,
    combine_background_knowledge,
)
from datahub_hyperjoin.model.ranking.tree_scoring import (
    NameTreeScorer,
    TreeScorer,
    correct_with_trees,
)
from datahub_hyperjoin.model.tree_ensemble import TreeEnsemble
from datahub_hyperjoin.tables import Pattern
from lakes.handmade import draw, facts_of, lake_of, numbers

CUSTOMERS = [f"customer {number}" for number in range(60)]
TABLES = {
    "crm/customers": {"id": numbers(1, 61), "name": CUSTOMERS},
    "crm/orders": {"id": numbers(1, 121), "customer_id": draw(numbers(1, 61), 120)},
    "crm/invoices": {"invoice": numbers(500, 560), "customer_id": draw(numbers(1, 61), 60)},
    "geo/places": {"country": ["Germany", "France", "Italy", "Spain", "Peru", "Chile"]},
}


DECLARED = {("crm/customers.name", "geo/places.country"): CatalogEvidence(declared="key")}


@pytest.fixture(scope="module")
def index() -> LakeIndex:
    return build_lake_index(lake_of(TABLES), ModelConfig(), facts_of(DECLARED))


def constant(value: float) -> TreeEnsemble:
    """Return a tree with the same output for all rows."""
    return TreeEnsemble(
        feature=np.zeros((1, 1), dtype=np.int64),
        threshold=np.zeros((1, 1), dtype=np.float32),
        value=np.full((1, 2), value, dtype=np.float32),
    )


def all_pairs(index: LakeIndex) -> tuple[np.ndarray, np.ndarray]:
    """Return all pairs of a column with a column of another table."""
    columns = np.arange(len(index.lake))
    table = index.lake.table_of
    left, right = np.nonzero(table[columns][:, None] != table[columns][None, :])
    return left[:, None], right[:, None]


def number_of(index: LakeIndex, name: str) -> int:
    return [str(column).replace(".csv", "") for column in index.lake.ids].index(name)


def test_a_correction_of_zero_leaves_the_noisy_or(index: LakeIndex) -> None:
    noisy_or = NoisyOrScorer(index, None, STRENGTHS)
    left, right = all_pairs(index)
    corrected = TreeScorer(index, noisy_or, constant(0)).score(left, right)
    # Log-odds are bounded, so scores of 0 and 1 move by as little as the bound.
    assert np.abs(corrected - noisy_or.score(left, right)).max() < 2e-4


@pytest.mark.parametrize("value", [-3.0, 3.0])
def test_a_correction_moves_scores_its_own_way(index: LakeIndex, value: float) -> None:
    noisy_or = NoisyOrScorer(index, None, STRENGTHS)
    left, right = all_pairs(index)
    before = TreeScorer(index, noisy_or, constant(0)).score(left, right)
    after = TreeScorer(index, noisy_or, constant(value)).score(left, right)
    assert ((after - before) * value >= 0).all()
    assert np.abs(after - before).max() > 0.1


def test_what_is_known_of_a_pair_stands_whatever_the_trees_say(index: LakeIndex) -> None:
    noisy_or = NoisyOrScorer(index, None, STRENGTHS)
    left = np.array([[number_of(index, "geo/places.country")]])
    right = np.array([[number_of(index, "crm/customers.name")]])
    known = combine_background_knowledge(noisy_or.measure(left, right), STRENGTHS)
    score = TreeScorer(index, noisy_or, constant(-20)).score(left, right)
    assert known.item() > 0.8
    assert score.item() == pytest.approx(known.item(), abs=1e-3)


def test_each_kind_of_scorer_has_its_own_correction(index: LakeIndex) -> None:
    vectors = index.names.vectors()
    candidates = find_candidates(index, vectors, ModelConfig())

    def corrected(scorer: PairScorer, lake: LakeIndex) -> PairScorer:
        return correct_with_trees(scorer, lake, candidates, by_network=False)

    assert isinstance(corrected(build_scorer(index, vectors, Scoring.SIGNALS), index), TreeScorer)
    assert isinstance(corrected(build_scorer(index, vectors, Scoring.BLEND), index), TreeScorer)
    cosine = CosineScorer(vectors)
    assert corrected(cosine, index) is cosine
    named = replace(index, features=FeatureConfig(values=False))
    by_names = build_scorer(named, vectors, Scoring.SIGNALS)
    assert isinstance(corrected(by_names, named), NameTreeScorer)


def features_of(index: LakeIndex) -> dict[str, np.ndarray]:
    """Map the name of each feature to its values for all pairs."""
    left, right = all_pairs(index)
    signals = NoisyOrScorer(index, None, STRENGTHS).measure(left, right).flatten()
    score = np.full(len(left), 0.5)
    rows = PairFeatures(index).of(left[:, 0], right[:, 0], signals, score)
    return dict(zip(PAIR_FEATURES, rows.T, strict=True))


def test_features_have_distinct_names_and_finite_values(index: LakeIndex) -> None:
    features = features_of(index)
    assert len(features) == len(PAIR_FEATURES)
    assert all(np.isfinite(values).all() for values in features.values())


def test_features_of_a_foreign_key(index: LakeIndex) -> None:
    left, right = all_pairs(index)
    order = number_of(index, "crm/orders.customer_id")
    customer = number_of(index, "crm/customers.id")
    (pair,) = np.flatnonzero((left[:, 0] == order) & (right[:, 0] == customer))
    row = {name: float(values[pair]) for name, values in features_of(index).items()}
    distinct = index.lake.profiles[order].distinct
    assert row["containment in the right column"] == 1
    assert row["containment in the left column"] == pytest.approx(distinct / 60)
    assert row["probability that left refers to right"] > 0.5
    assert row["probability that right refers to left"] < 0.5
    assert row["right: references to it"] > 0.5
    assert row["left: is integer"] == row["right: is integer"] == 1
    assert row["both are text"] == 0
    assert row["difference of rows"] == pytest.approx(np.log1p(120) - np.log1p(60), abs=1e-5)


def test_the_reverse_pair_has_the_sides_exchanged(index: LakeIndex) -> None:
    left, right = all_pairs(index)
    features = features_of(index)
    count = len(index.lake)
    here = (left * count + right)[:, 0]
    reverse = np.argsort(here)[np.searchsorted(np.sort(here), (right * count + left)[:, 0])]
    for name in PAIR_FEATURES:
        if name.startswith("left: "):
            other = features[name.replace("left", "right")]
            assert np.array_equal(features[name], other[reverse])
    for name in ("cosine of the sets of values", "patterns", "shared values", "cells"):
        assert features[name] == pytest.approx(features[name][reverse], abs=1e-6)
    assert len(RISING_FEATURES) == PAIR_FEATURES.index("both are text")


def test_patterns_are_compared_by_their_shares(index: LakeIndex) -> None:
    shares = ({"9": 1.0}, {"9": 0.64, "A": 0.36}, {"A+": 1.0})
    patterns = [
        tuple(Pattern(shape=shape, share=share) for shape, share in column.items())
        for column in (*shares, *[{}] * (len(index.lake) - len(shares)))
    ]
    profiles = tuple(
        replace(profile, patterns=shapes)
        for profile, shapes in zip(index.lake.profiles, patterns, strict=True)
    )
    patterned = replace(index, lake=replace(index.lake, profiles=profiles))
    left, right = np.array([[0], [0], [0]]), np.array([[0], [1], [2]])
    signals = NoisyOrScorer(patterned, None, STRENGTHS).measure(left, right).flatten()
    rows = PairFeatures(patterned).of(left[:, 0], right[:, 0], signals, np.full(3, 0.5))
    assert rows[:, PAIR_FEATURES.index("patterns")].tolist() == pytest.approx([1, 0.8, 0])


def test_log_odds_are_finite() -> None:
    assert log_odds(np.array([0.0, 0.5, 1.0])).round(1).tolist() == [-9.2, 0.0, 9.2]
