"""Test that trees correct name-based scores of candidates, but not what the catalog states."""

from dataclasses import replace

import numpy as np
import pytest

from datahub_hyperjoin.joins import CatalogEvidence
from datahub_hyperjoin.model.config import FeatureConfig, ModelConfig, RankingConfig, Scoring
from datahub_hyperjoin.model.hypergraph.lake_index import LakeIndex, build_lake_index
from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.ranking.candidates import candidate_sources
from datahub_hyperjoin.model.ranking.nearest import NO_CANDIDATE
from datahub_hyperjoin.model.ranking.pair_features import (
    NAME_FEATURES,
    RISING_NAME_FEATURES,
    NameFeatures,
)
from datahub_hyperjoin.model.ranking.pair_scoring import STRENGTHS, NameScorer, score_pairs
from datahub_hyperjoin.model.ranking.rank import rank
from datahub_hyperjoin.model.ranking.tree_scoring import NameTreeScorer
from datahub_hyperjoin.model.tree_ensemble import TreeEnsemble
from datahub_hyperjoin.tables import DataType, DescribedTable, TableId, describe_columns
from lakes.handmade import draw, facts_of, lake_of, numbers

BY_NAMES = ModelConfig(
    ranking=RankingConfig(scoring=Scoring.SIGNALS), features=FeatureConfig(values=False)
)
TABLES = {
    "crm/customers": {"id": numbers(1, 61), "name": [f"customer {n}" for n in range(60)]},
    "crm/orders": {"id": numbers(1, 121), "customer_id": draw(numbers(1, 61), 120)},
    "crm/invoices": {"invoice": numbers(500, 560), "customer_id": draw(numbers(1, 61), 60)},
    "geo/places": {"country": ["Germany", "France", "Italy", "Spain", "Peru", "Chile"]},
}
DECLARED = ("crm/customers.name", "geo/places.country")


@pytest.fixture(scope="module")
def index() -> LakeIndex:
    facts = facts_of({DECLARED: CatalogEvidence(declared="key")})
    return build_lake_index(lake_of(TABLES), BY_NAMES, facts)


@pytest.fixture(scope="module")
def headers() -> LakeIndex:
    """Index the lake of `TABLES` without values, from the names and types of its columns."""
    described = []
    for name, columns in TABLES.items():
        table = TableId("file", name)
        types = [(column, DataType.TEXT) for column in columns]
        columns_of = describe_columns(table, types)
        described.append(DescribedTable(id=table, title=name, columns=columns_of))
    lake = Lake.from_tables([]).with_described(described)
    return build_lake_index(lake, BY_NAMES, facts_of({}))


def constant(value: float) -> TreeEnsemble:
    """Return a tree with the same output for all rows."""
    return TreeEnsemble(
        feature=np.zeros((1, 1), dtype=np.int64),
        threshold=np.zeros((1, 1), dtype=np.float32),
        value=np.full((1, 2), value, dtype=np.float32),
    )


def number_of(index: LakeIndex, name: str) -> int:
    return [str(column).replace(".csv", "") for column in index.lake.ids].index(name)


def all_pairs(index: LakeIndex) -> tuple[np.ndarray, np.ndarray]:
    """Return all pairs of a column with a column of another table."""
    table = index.lake.table_of
    left, right = np.nonzero(table[:, None] != table[None, :])
    return left, right


def scores(index: LakeIndex, value: float, candidates: np.ndarray) -> np.ndarray:
    """Score all pairs, and correct the scores of the candidates by a constant."""
    by_names = NameScorer(index, None, STRENGTHS)
    scorer = NameTreeScorer(index, by_names, constant(value), candidates)
    return score_pairs(scorer, *all_pairs(index))


def features_of(index: LakeIndex) -> dict[str, np.ndarray]:
    """Map the name of each feature to its values for all pairs."""
    left, right = all_pairs(index)
    rows = NameFeatures(index).of(left, right, np.full(len(left), 0.5))
    return dict(zip(NAME_FEATURES, rows.T, strict=True))


def test_only_candidates_are_corrected_and_each_in_its_direction(index: LakeIndex) -> None:
    candidates = np.full((len(index.keys), 1), NO_CANDIDATE)
    key, candidate = int(index.keys[0]), int(all_pairs(index)[1][0])
    candidates[0, 0] = candidate
    before = score_pairs(NameScorer(index, None, STRENGTHS), *all_pairs(index))
    left, right = all_pairs(index)
    corrected = (left == key) & (right == candidate)
    assert corrected.sum() == 1
    for value in (-3.0, 0.0, 3.0):
        moved = scores(index, value, candidates) - before
        # Log-odds are bounded, so scores of 0 and 1 move by as little as the bound.
        assert np.abs(moved[~corrected]).max() < 2e-4
        assert moved[corrected].item() * value >= 0
        assert (abs(moved[corrected].item()) > 0.1) == (value != 0)


def test_what_the_catalog_states_stands_whatever_the_trees_say(index: LakeIndex) -> None:
    ends = [number_of(index, name) for name in DECLARED]
    candidates = np.tile(np.arange(len(index.lake)), (len(index.keys), 1))
    left, right = all_pairs(index)
    at = np.flatnonzero((left == ends[0]) & (right == ends[1])).item()
    stated = index.priors.join_probability.of(np.array(ends[:1]), np.array(ends[1:])).item()
    assert stated == 0.9
    assert scores(index, -20.0, candidates)[at] == pytest.approx(stated, abs=1e-3)


@pytest.mark.parametrize("lake", ["index", "headers"])
def test_features_have_distinct_names_and_finite_values(
    lake: str, request: pytest.FixtureRequest
) -> None:
    features = features_of(request.getfixturevalue(lake))
    assert len(features) == len(NAME_FEATURES)
    assert all(np.isfinite(values).all() for values in features.values())
    assert NAME_FEATURES[: len(RISING_NAME_FEATURES)] == RISING_NAME_FEATURES


def test_features_of_a_foreign_key(index: LakeIndex) -> None:
    left, right = all_pairs(index)
    order = number_of(index, "crm/orders.customer_id")
    customer = number_of(index, "crm/customers.id")
    invoice = number_of(index, "crm/invoices.customer_id")
    to_key = np.flatnonzero((left == order) & (right == customer)).item()
    sibling = np.flatnonzero((left == order) & (right == invoice)).item()
    features = features_of(index)
    row = {name: float(values[to_key]) for name, values in features.items()}
    assert row["probability that left refers to right"] > 0.3
    assert row["probability that right refers to left"] == 0
    assert row["left to right: names_table"] == 1
    assert row["right to left: names_table"] == 0
    assert row["same name"] == row["columns of the same name"] == 0
    assert row["left: words"] == 2
    assert row["left: marked as an identifier"] == row["right: marked as an identifier"] == 1
    # Both tables have a column called id, which is not the pair's own name.
    assert row["other names in common"] > 0
    same = {name: float(values[sibling]) for name, values in features.items()}
    assert same["same name"] == same["names without titles"] == 1
    assert same["columns of the same name"] == pytest.approx(np.log(3))
    assert same["other names in common"] == pytest.approx(0)
    assert same["probability that both refer to one key"] > 0


def test_the_reverse_pair_has_the_sides_exchanged(index: LakeIndex) -> None:
    left, right = all_pairs(index)
    features, count = features_of(index), len(index.lake)
    order = np.argsort(left * count + right)
    reverse = order[np.searchsorted((left * count + right)[order], right * count + left)]
    exchanged = {"left to right: ": "right to left: ", "left: ": "right: "}
    for here, there in exchanged.items():
        for name in (name for name in NAME_FEATURES if name.startswith(here)):
            other = features[name.replace(here, there)]
            assert np.array_equal(features[name], other[reverse])
    for name in ("names", "same name", "titles", "share of other names in common"):
        assert features[name] == pytest.approx(features[name][reverse], abs=1e-6)


def test_columns_with_similar_statistics_are_candidates() -> None:
    twin = {f"t{number}": {f"x{number}": numbers(number, number + 40)} for number in range(80)}
    texts = ["alpha", "beta", "alpha", "gamma"]
    tables = {**twin, "left": {"abc": texts}, "right": {"uvw": texts}}
    index = build_lake_index(lake_of(tables), BY_NAMES, facts_of({}))
    query, answer = (number_of(index, name) for name in ("left.abc", "right.uvw"))
    queried = replace(index, keys=np.array([query]))
    sources = dict(candidate_sources(queried, index.names.vectors(), BY_NAMES))
    by_description = {"statistics", "names and titles", "names, titles and statistics"}
    assert by_description | {"names"} <= {*sources}
    assert {"cells", "values"}.isdisjoint(sources)
    assert sources["statistics"][0, 0] == answer


def test_the_shipped_trees_put_a_reference_first(headers: LakeIndex) -> None:
    suggested = [
        suggestion
        for suggestion in rank(headers, headers.names.vectors(), BY_NAMES)
        if suggestion.query.path == "customer_id" and suggestion.query.table.name == "crm/orders"
    ]
    assert str(suggested[0].candidate) in {"crm/customers.id", "crm/invoices.customer_id"}
