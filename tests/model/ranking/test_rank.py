from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from datahub_hyperjoin.catalog_facts import CatalogFacts
from datahub_hyperjoin.model.config import OURS, FeatureConfig, ModelConfig, RankingConfig, Scoring
from datahub_hyperjoin.model.hypergraph.lake_index import LakeIndex, build_lake_index
from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.ranking import rank as rank_module
from datahub_hyperjoin.model.ranking.candidates import find_candidates
from datahub_hyperjoin.model.ranking.nearest import NO_CANDIDATE
from datahub_hyperjoin.model.ranking.pair_scoring import CosineScorer, build_scorer
from datahub_hyperjoin.model.ranking.rank import number_duplicates, rank, steady
from datahub_hyperjoin.model.ranking.tree_scoring import correct_with_trees

Tables = Mapping[str, Mapping[str, Sequence[str]]]
MakeLake = Callable[[Tables], Lake]
NOTHING = CatalogFacts()


def connect(lake: Lake, knowledge: CatalogFacts = NOTHING) -> LakeIndex:
    return build_lake_index(lake, ModelConfig(), knowledge)


@pytest.fixture
def index(make_lake: MakeLake, airline_tables: Tables) -> LakeIndex:
    return connect(make_lake(airline_tables))


@pytest.fixture
def embeddings(index: LakeIndex) -> np.ndarray:
    vectors = np.random.default_rng(0).normal(size=(len(index.lake), 8)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def first(index: LakeIndex, embeddings: np.ndarray, config: ModelConfig) -> dict[str, str]:
    found = rank(index, embeddings, config)
    return {
        str(suggestion.query): str(suggestion.candidate)
        for suggestion in found
        if suggestion.rank == 1
    }


def test_values_and_names_find_joins_even_with_a_useless_network(
    index: LakeIndex, embeddings: np.ndarray
) -> None:
    best = first(index, embeddings, ModelConfig())
    assert best["flights.carrier"] == "airlines.carrier_code"
    assert best["flights.tailnum"] == "planes.tailnum"
    assert best["planes.tailnum"] == "flights.tailnum"
    assert best["herbarium.genus"] == "trees.genus"
    assert "airlines.name" not in best


def test_the_paper_s_affinity_is_the_cosine_alone(index: LakeIndex, embeddings: np.ndarray) -> None:
    config = ModelConfig(
        ranking=RankingConfig(scoring=Scoring.HIN, min_joinability=0.0, coherence=0.0)
    )
    lake = index.lake
    for suggestion in rank(index, embeddings, config):
        if suggestion.rank == 1:
            query = lake.ids.index(suggestion.query)
            cosines = embeddings @ embeddings[query]
            cosines[lake.table_of == lake.table_of[query]] = -2
            assert lake.ids[int(cosines.argmax())] == suggestion.candidate


def test_scores_are_shares_and_ranks_are_dense(index: LakeIndex, embeddings: np.ndarray) -> None:
    config = ModelConfig(ranking=RankingConfig(min_joinability=0.0, top_k=4))
    ranks: dict[str, list[int]] = {}
    for suggestion in rank(index, embeddings, config):
        assert 0 <= suggestion.joinability <= 1
        assert suggestion.query.table != suggestion.candidate.table
        ranks.setdefault(str(suggestion.query), []).append(suggestion.rank)
    assert set(map(tuple, ranks.values())) == {(1, 2, 3, 4)}
    assert len(ranks) == len(index.keys)


def test_keys_are_ranked_alike_and_in_order_in_chunks_of_any_size(
    index: LakeIndex, embeddings: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    def find_fewer(*given: Any) -> np.ndarray:  # noqa: ANN401 (what the function takes)
        candidates = find_candidates(*given)
        # Queries are ranked in the order of their numbers of candidates: in reverse here.
        for row, of_query in enumerate(candidates):
            of_query[len(candidates) - row :] = NO_CANDIDATE
        return candidates

    monkeypatch.setattr(rank_module, "find_candidates", find_fewer)
    at_once = [*rank(index, embeddings, ModelConfig())]
    monkeypatch.setattr(rank_module, "_CHUNK", 2)
    monkeypatch.setattr(rank_module, "_BLOCK", 5)
    in_chunks = [*rank(index, embeddings, ModelConfig())]
    keys = [index.lake.ids.index(each.query) for each in in_chunks]
    assert keys == sorted(keys)
    for one, other in zip(at_once, in_chunks, strict=True):
        assert replace(one, joinability=0.0) == replace(other, joinability=0.0)
        assert one.joinability == pytest.approx(other.joinability, abs=1e-5)


def test_candidates_are_of_other_tables_and_once_each(
    index: LakeIndex, embeddings: np.ndarray
) -> None:
    found = find_candidates(index, embeddings, ModelConfig(setting=replace(OURS, candidates=6)))
    for key, row in zip(index.keys, found, strict=True):
        candidates = row[row != NO_CANDIDATE]
        assert len(set(candidates)) == len(candidates)
        tables = index.lake.table_of
        assert (tables[candidates] != tables[key]).all()


def test_a_copy_of_a_table_does_not_fill_every_place(
    make_lake: MakeLake, airline_tables: Tables
) -> None:
    copies = {f"airlines_{n}": airline_tables["airlines"] for n in range(6)}
    partner = {"codes": {"carrier": airline_tables["airlines"]["carrier_code"]}}
    index = connect(make_lake({**airline_tables, **copies, **partner}))
    same = np.ones((len(index.lake), 1), dtype=np.float32)
    config = ModelConfig(ranking=RankingConfig(top_k=3, min_joinability=0.0))
    found = [
        str(suggestion.candidate)
        for suggestion in rank(index, same, config)
        if str(suggestion.query) == "flights.carrier"
    ]
    assert len([name for name in found if name.endswith(".carrier_code")]) == 1
    assert "codes.carrier" in found


def test_a_copy_of_the_column_s_own_table_comes_after_all_others(
    make_lake: MakeLake, airline_tables: Tables
) -> None:
    index = connect(make_lake({**airline_tables, "airlines_copy": airline_tables["airlines"]}))
    same = np.ones((len(index.lake), 1), dtype=np.float32)
    config = ModelConfig(ranking=RankingConfig(top_k=3, min_joinability=0.0))
    found = [
        str(suggestion.candidate)
        for suggestion in rank(index, same, config)
        if str(suggestion.query) == "airlines.carrier_code"
    ]
    assert found[0] == "flights.carrier"
    assert "airlines_copy.carrier_code" not in found


def test_scores_of_one_level_are_decided_by_the_columns_alone(
    make_lake: MakeLake, airline_tables: Tables
) -> None:
    index = connect(make_lake(airline_tables))
    names = [str(column) for column in index.lake.ids]
    query, *near = (
        names.index(name) for name in ("flights.carrier", "airlines.carrier_code", "airlines.name")
    )
    ends = np.array([[query]]), np.array([near])
    for scores in ([0.95, 0.951], [0.951, 0.95]):
        first, second = steady(index, np.array([scores]), *ends)[0]
        assert first > second
    low, high = steady(index, np.array([[0.5, 0.95]]), *ends)[0]
    assert low < high


def test_of_equal_candidates_the_one_in_the_same_folder_comes_first(make_lake: MakeLake) -> None:
    codes = [f"{a}{b}" for a in "ABDEFH" for b in "JKLMN"]
    elsewhere, here = {"code": codes}, {"codes": codes}
    lake = make_lake(
        {"far/airlines": elsewhere, "near/flights": {"carrier": codes}, "near/airlines": here}
    )
    same = np.ones((len(lake), 1), dtype=np.float32)
    assert first(connect(lake), same, ModelConfig())["near/flights.carrier"] == (
        "near/airlines.codes"
    )


def test_numbers_count_as_far_as_their_names_agree(make_lake: MakeLake) -> None:
    running = [str(number) for number in range(1, 60)]
    sparse = [str(number**3) for number in range(1, 60)]
    words = [f"w{number}" for number in running]
    lake = make_lake(
        {
            "orders": {"customer_id": running, "word": words, "sku": sparse},
            "customers": {"CustomerId": running[:50], "term": words[:50]},
            "leaves": {"page": running, "item": sparse, "word_": ["other", "things", "here"] * 20},
        }
    )
    index = connect(lake)
    scorer = build_scorer(index, np.ones((len(lake), 1), dtype=np.float32), Scoring.SIGNALS)
    names = [str(column) for column in lake.ids]

    def of(one: str, other: str) -> float:
        places = (np.array([[names.index(name)]]) for name in (one, other))
        return float(scorer.score(*places).item())

    assert of("orders.customer_id", "customers.CustomerId") > 0.8
    assert of("orders.customer_id", "leaves.page") < 0.5
    assert of("orders.customer_id", "leaves.page") < of("orders.sku", "leaves.item") - 0.2
    assert of("orders.word", "customers.term") > 0.8
    assert of("orders.word", "leaves.word_") < 0.5


def test_values_in_another_writing_are_found_without_the_network(make_lake: MakeLake) -> None:
    towns = ["Port Moresby", "San Marino", "Ulan Bator", "Vila Nova", "Den Haag", "Saint John"]
    other = [", ".join(reversed(town.upper().split())) for town in towns]
    fillers = {f"f{n}": {"x": [f"{n}{letter * 4}" for letter in "abcdef"]} for n in range(8)}
    lake = make_lake({"a": {"place": towns}, "b": {"label": other}, **fillers})
    index = connect(lake)
    same = np.ones((len(lake), 1), dtype=np.float32)
    config = ModelConfig(
        setting=replace(OURS, candidates=3),
        ranking=RankingConfig(scoring=Scoring.SIGNALS, min_joinability=0.0),
    )
    assert first(index, same, config)["a.place"] == "b.label"


COUNTRIES = {
    "codes": {
        "country": ["de", "fr", "it", "pl", "es", "pt"],
        "size": ["6", "5", "4", "3", "2", "1"],
    },
    "names": {"land": ["spanien", "polen", "italien", "deutschland", "portugal"]},
    "more": {"country": ["de", "at", "ch", "nl", "be", "lu"]},
    "others": {"state": ["no", "se", "fi", "dk", "is", "ee"]},
    "colours": {"colour": ["red", "green", "blue", "black", "white"]},
}


def test_codes_are_joined_with_names_of_the_same_entities(make_lake: MakeLake) -> None:
    index = connect(make_lake(COUNTRIES))
    config = ModelConfig(ranking=RankingConfig(scoring=Scoring.SIGNALS))
    scorer = build_scorer(index, index.names.vectors(), Scoring.SIGNALS)
    places = {str(column): place for place, column in enumerate(index.lake.ids)}
    asked = ("more.country", "names.land", "others.state", "colours.colour")
    columns = np.array([[places[name] for name in asked]])
    same, named, apart, other = scorer.score(np.array([[places["codes.country"]]]), columns)[0, 0]
    assert same > 0.8
    assert named > 0.5
    assert max(apart, other) < 0.2  # codes of other countries, and no codes
    found = {
        (str(suggestion.query), str(suggestion.candidate))
        for suggestion in rank(index, index.names.vectors(), config)
    }
    assert ("names.land", "codes.country") in found


def test_without_reference_tables_codes_are_letters(make_lake: MakeLake) -> None:
    config = ModelConfig(setting=replace(OURS, entity_kinds=False))
    index = build_lake_index(make_lake(COUNTRIES), config, NOTHING)
    assert (index.entities.form == -1).all()
    blind = ModelConfig(features=FeatureConfig(values=False))
    assert (build_lake_index(make_lake(COUNTRIES), blind, NOTHING).entities.form == -1).all()


def test_numbers_are_codes_of_nothing(make_lake: MakeLake) -> None:
    numbers = [str(number) for number in range(4, 200, 4)]
    codes = ["de", "fr", "it", "es", "pl", "se", "nl"]
    index = connect(make_lake({"a": {"n": numbers}, "b": {"country": codes}}))
    assert index.entities.form[0] == -1
    assert index.entities.form[1] >= 0


def test_only_columns_of_equal_tables_are_duplicates(make_lake: MakeLake) -> None:
    words = {"word": ["a", "b", "c"]}
    lake = make_lake({"one": words, "two": words, "three": {"word": ["a", "b", "d"]}})
    first_, second, third = number_duplicates(lake)
    assert first_ == second != third


def test_joinability_squares_the_odds_of_the_blend(index: LakeIndex) -> None:
    embeddings = index.names.vectors()
    for scoring, power in ((Scoring.SIGNALS, 2), (Scoring.HIN, 1)):
        config = ModelConfig(
            setting=replace(OURS, tree_correction=False),
            ranking=RankingConfig(scoring=scoring, min_joinability=0.0),
        )
        scorer = build_scorer(index, embeddings, scoring)
        for suggestion in rank(index, embeddings, config):
            places = [
                index.lake.ids.index(column) for column in (suggestion.query, suggestion.candidate)
            ]
            found = scorer.score(*np.array(places)[:, None, None]).item()
            expected = found**power / (found**power + (1 - found) ** power)
            assert suggestion.joinability == pytest.approx(expected, abs=1e-6)


def test_joinability_is_the_score_of_a_corrected_noisy_or(index: LakeIndex) -> None:
    embeddings = index.names.vectors()
    ranking = RankingConfig(scoring=Scoring.SIGNALS, min_joinability=0.0)
    signals = build_scorer(index, embeddings, Scoring.SIGNALS)
    candidates = find_candidates(index, embeddings, ModelConfig(ranking=ranking))
    scorer = correct_with_trees(signals, index, candidates, by_network=True)
    for suggestion in rank(index, embeddings, ModelConfig(ranking=ranking)):
        pair = [index.lake.ids.index(end) for end in (suggestion.query, suggestion.candidate)]
        expected = scorer.score(*np.array(pair)[:, None, None]).item()
        assert suggestion.joinability == pytest.approx(expected, abs=1e-6)


def test_the_extremes_stay_what_they_are(index: LakeIndex) -> None:
    scorer = build_scorer(index, index.names.vectors(), Scoring.SIGNALS)
    assert scorer.to_probability(np.array([0.0, 0.5, 1.0])).tolist() == [0, 0.5, 1]
    assert (np.diff(scorer.to_probability(np.linspace(0, 1, 101))) > 0).all()


def test_random_columns_score_nothing() -> None:
    vectors = np.random.default_rng(0).normal(size=(500, 16)) + 1.0
    vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    scorer = CosineScorer(vectors)
    places = np.arange(500)[None, :]
    off = ~np.eye(500, dtype=bool)
    found = scorer.score(places, places)[0]
    assert np.median(found[off]) < 0.1
    np.testing.assert_allclose(np.diagonal(found), 1, atol=1e-5)


def test_a_lake_in_which_nothing_overlaps_still_ranks(make_lake: MakeLake) -> None:
    lake = make_lake({"a": {"x": ["one", "two", "six"]}, "b": {"y": ["three", "four", "ten"]}})
    index = replace(connect(lake), keys=np.array([0]))
    vectors = np.ones((2, 1), dtype=np.float32)
    config = ModelConfig(ranking=RankingConfig(min_joinability=0.0))
    assert [str(suggestion.candidate) for suggestion in rank(index, vectors, config)] == ["b.y"]
